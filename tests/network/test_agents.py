"""A hub, a rim and a dispatcher with a controller that comes, bounds them, dies and comes again."""

import asyncio
import re
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from groupflow.files import variants
from tests.network.harness import MIB, MakeLab, eventually
from tests.support.api import command
from tests.support.bone import HERE, content, free_udp_port
from tests.support.programs import AGENTS_TOKEN, Controller, Program, running, until

SIZE = 60_000
BYTES = 100_000
"""bound of the rim: one file, not two"""
RATE = 250_000
"""bit/s; SIZE bytes take two seconds"""


class Agents:
    """The three programs, and what the controller says of them."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.control = Controller(folder)
        self.folder = folder
        self.stack = stack
        self.group = f"239.83.84.7:{free_udp_port()}"
        (folder / "outbox").mkdir()

    async def start(self, *words: str) -> Program:
        program = running(*words, GROUPFLOW_AGENT_TOKEN=AGENTS_TOKEN, GROUPFLOW_TOKEN="c0ffee")
        return await self.stack.enter_async_context(program)

    async def controller(self) -> Program:
        program = await self.start(*self.control.words)
        await until("controller ready", lambda: "ready" in program.said)
        return program

    async def serve(self, *words: str) -> Program:
        """Starts one of the three."""
        program = await self.start(*words, "--api", self.control.url, "--json")
        await until("ready", lambda: "ready" in program.events)
        return program

    async def rim(self) -> Program:
        return await self.serve(*self._bone("rim"))

    async def hub(self) -> Program:
        fast = ("--rate", "100mbit", "--join-time", "100ms", "--answer-time", "300ms", "--grace", "50ms")
        return await self.serve(*self._bone("hub"), *fast)

    async def dispatcher(self) -> Program:
        words = ("tree", "serve", "--listen", f"{HERE}:0", "--plain", "--name", "d1")
        return await self.serve(*words)

    def _bone(self, kind: str) -> tuple[str, ...]:
        where = ("--dir", str(self.folder / ("outbox" if kind == "hub" else "cache")), "--name", f"{kind}1")
        return "bone", kind, *where, "--group", self.group, "--iface", HERE, "--http", f"{HERE}:0"

    def put(self, name: str) -> None:
        """Puts a file into the hub's folder at once."""
        (self.folder / name).write_bytes(content(SIZE))
        (self.folder / name).rename(self.folder / "outbox" / name)

    def cached(self) -> set[str]:
        return {path.name for path in (self.folder / "cache").iterdir() if path.is_file()}

    async def listed(self) -> dict[str, dict[str, Any]]:
        found = await self.control.get("/agents")
        return {each["kind"]: each for each in found if each["kind"] in ("hub", "rim", "dispatcher")}

    async def until(
        self, what: str, true: Callable[[dict[str, dict[str, Any]]], bool]
    ) -> dict[str, dict[str, Any]]:
        """The agents, once that is true of them."""
        found: dict[str, dict[str, Any]] = {}
        try:
            async with asyncio.timeout(30):
                while not true(found := await self.listed()):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{what}: {found}") from None
        return found


def all_up(found: dict[str, dict[str, Any]]) -> bool:
    return found.keys() == {"hub", "rim", "dispatcher"} and {a["state"] for a in found.values()} == {"up"}


def all_obey(found: dict[str, dict[str, Any]]) -> bool:
    return all_up(found) and (
        found["rim"]["bounds"]["bytes"],
        found["hub"]["bounds"]["rate_bps"],
        found["dispatcher"]["bounds"]["hosts"],
    ) == (BYTES, RATE, 1)


def held(found: dict[str, dict[str, Any]]) -> tuple[int, int]:
    """Files and bytes of the rim, by its last report."""
    return found["rim"]["holds"]["files"], found["rim"]["holds"]["bytes"]


async def test_bounds_are_set_obeyed_and_kept_and_all_works_without_a_controller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with asyncio.timeout(150), AsyncExitStack() as stack:
        agents = Agents(tmp_path, stack)
        control = agents.control

        # No controller yet: files go from the hub to the rim.
        rim, hub, dispatcher = [await agents.rim(), await agents.hub(), await agents.dispatcher()]
        programs = (rim, hub, dispatcher)
        await until("it is told", lambda: all("no controller at" in each.said for each in programs))
        for name in ("a.bin", "b.bin"):
            agents.put(name)
            await until(f"{name} is there", lambda name=name: name in agents.cached())

        # A controller comes: all are listed with what they hold.
        killed = await agents.controller()
        found = await agents.until(
            "listed with two files",
            lambda found: (
                all_up(found) and held(found) == (2, 2 * SIZE) and found["hub"]["holds"]["files"] == 2
            ),
        )
        names = [found[kind]["name"] for kind in ("rim", "hub", "dispatcher")]
        assert names[:2] == ["rim1", "hub1"]
        assert re.fullmatch(rf"d1@.+:{dispatcher.events['ready']['port']}", names[2])
        assert found["hub"]["bounds"]["rate_bps"] == 100_000_000
        assert found["dispatcher"]["at"].endswith(f":{dispatcher.events['ready']['port']}")

        # Bounds are obeyed while the processes run.
        assert await command(control.url, "agent", "set", "rim", "rim1", "--bytes", str(BYTES)) == 0
        assert await command(control.url, "agent", "set", "hub", "hub1", "--rate", f"{RATE}bit") == 0
        assert await command(control.url, "agent", "set", "dispatcher", names[2], "--hosts", "1") == 0
        await agents.until("obeyed", lambda found: all_obey(found) and held(found) == (1, SIZE))
        assert agents.cached() == {"b.bin"}, "the least recently used went"
        assert rim.events["evicted"]["file"] == "a.bin"
        agents.put("c.bin")
        await until("c.bin is sent", lambda: hub.events["sent"]["file"] == "c.bin")
        assert hub.events["sent"]["seconds"] > 0.9 * 8 * SIZE / RATE
        await until("the rim keeps one file", lambda: agents.cached() == {"c.bin"})
        port = dispatcher.events["ready"]["port"]
        (first, one), (_, two) = [await asyncio.open_connection(HERE, port) for _ in range(2)]
        assert await asyncio.wait_for(first.read(), 5.0) == b"", "there is one place, and the silent give way"

        # The controller dies: the bounds hold on, and files go on.
        killed.process.send_signal(signal.SIGKILL)
        await killed.ended()
        await until("it is told", lambda: all(each.said.count("no controller at") >= 2 for each in programs))
        agents.put("d.bin")
        await until("d.bin is there, alone", lambda: agents.cached() == {"d.bin"})

        # A rim that is started again meanwhile has its own bound, until the controller is back.
        rim.process.terminate()
        assert await rim.ended() == 0
        rim = await agents.rim()
        again = await agents.controller()
        found = await agents.until(
            "all is there again", lambda found: all_obey(found) and held(found)[0] == 1
        )
        assert found["rim"]["ordered"]["bytes"] == BYTES
        capsys.readouterr()
        assert await command(control.url, "agent", "list") == 0
        page = capsys.readouterr().out
        assert "rim1" in page and f"{BYTES} bytes" in page and "250kbit" in page and "1 host" in page

        # Without a bound of the controller, each has its own.
        assert await command(control.url, "agent", "set", "rim", "rim1", "--bytes", "none") == 0
        await agents.until("its own", lambda found: found["rim"]["bounds"]["bytes"] == 1 << 30)
        rim.process.terminate()
        await rim.ended()
        found = await agents.until("the rim is forgotten", lambda found: "rim" not in found)
        assert found["hub"]["state"] == "up"
        for writer in (one, two):
            writer.close()
        assert AGENTS_TOKEN not in killed.said + again.said + hub.said + dispatcher.said


async def test_a_cache_agent_obeys_a_bound_while_a_stream_runs(make_lab: MakeLab) -> None:
    """Without a bound the whole file would stay in the cache, for repairs."""
    bound, size = 2 * MIB, 24 * MIB
    with make_lab(variants.with_rate(variants.named("star"), 40_000_000)) as lab:
        async with lab.caches() as caches:
            ((name, cache),) = caches.items()

            def stored() -> int:
                return cache.latest["stats"].integer("stored_bytes") if "stats" in cache.latest else 0

            session = lab.session(window=256)
            async with lab.transfer(session, lab.file(size), sender="h1") as transfer:
                await eventually(lambda: stored() > 2 * bound, 30, "more is stored than the bound")
                words = ("agent", "set", "cache", name, "--bytes", str(bound))
                assert await command(lab.controller.url, *words) == 0
                await eventually(lambda: 0 < stored() <= bound, 10, "obeyed")
                (await transfer.outcome(60)).assert_everyone_has_it()
