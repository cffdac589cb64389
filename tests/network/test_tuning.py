"""A controller tunes a server on loopback: clients come and go, the policy changes, the controller dies."""

import asyncio
import json
import re
import signal
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import command
from tests.support.programs import AGENTS_TOKEN, Controller, Program, running, until

PAGE = Path(__file__).parents[2] / "docs/how-to/policy.md"
BUFFER = 4_000_000
"""windows are larger than a segment of loopback, 64 KiB"""


def command_lines() -> list[bytes]:
    """The command lines of all processes, which every user can read."""
    found: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes())
    return found


def is_in_a_file(text: str, folder: Path) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def example() -> str:
    """The policy of the how-to, `gentle`."""
    (text,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return text


class TuningController(Controller):
    """A controller with the policy of the how-to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "my_policy.py").write_text(example())
        self.words = (*self.words, "--policy-file", str(folder / "my_policy.py"))

    async def sending(self, *names: str) -> dict[str, dict[str, Any]]:
        """The clients, once these send and no others."""
        async with asyncio.timeout(30):
            while True:
                clients = {each["name"]: each for each in await self.get("/gather/clients")}
                if {name for name, each in clients.items() if each["sending"]} == set(names):
                    return clients
                await asyncio.sleep(0.05)

    async def add(self, name: str, target: str, capsys: pytest.CaptureFixture[str]) -> str:
        """Adds a client. Returns its token."""
        capsys.readouterr()
        assert await command(self.url, "client", "create", name, "--target", target, "--json") == 0
        return json.loads(capsys.readouterr().out)["token"]


async def test_all_goes_on_while_clients_policy_and_controller_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = TuningController(tmp_path)
    async with asyncio.timeout(150), AsyncExitStack() as stack:

        async def start(*words: str, **environment: str) -> Program:
            return await stack.enter_async_context(running(*words, **environment))

        async def send(name: str, token: str) -> Program:
            to = f"127.0.0.1:{server.events['ready']['port']}"
            line = ("gather", "send", "--to", to, "--client", name, "--plain", "--duration", "600s")
            return await start(*line, "--file", "/dev/zero", GROUPFLOW_TOKEN=token)

        killed = await start(*control.words)
        await until("controller ready", lambda: "ready" in killed.said)
        limits = ("--link", "1gbit", "--buffer", str(BUFFER), "--policy", "buffer")
        assert await command(control.url, "gather", "set", *limits) == 0
        tokens = {name: await control.add(name, "10mbit", capsys) for name in ("cam1", "cam2")}
        words = ("gather", "serve", "--api", control.url, "--listen", "127.0.0.1:0", "--discard")
        server = await start(*words, "--plain", "--json", GROUPFLOW_AGENT_TOKEN=AGENTS_TOKEN)
        await until("server ready", lambda: "ready" in server.events)
        first, second = [await send(name, token) for name, token in tokens.items()]
        await control.sending("cam1", "cam2")

        tokens["cam3"] = await control.add("cam3", "20mbit", capsys)
        await until("the server knows cam3", lambda: server.events["tuned"]["clients"] == 3)
        third = await send("cam3", tokens["cam3"])
        assert await command(control.url, "client", "delete", "cam2") == 0
        clients = await control.sending("cam1", "cam3")
        assert await second.ended() == 4
        assert "client cam2 has been taken off the server's list" in second.said
        assert second.said.count("\n") == 1
        assert clients["cam1"]["window"] and clients["cam3"]["window"]
        assert await command(control.url, "gather", "set", "--policy", "none") == 0
        assert (
            await command(control.url, "client", "set", "cam1", "--target", "30mbit", "--priority", "7") == 0
        )

        def windows() -> list[int | None]:
            return [each["window"] for each in server.events["round"]["clients"]]

        await until("the kernel tunes", lambda: windows() == [None, None])

        killed.process.send_signal(signal.SIGKILL)
        await killed.ended()
        await until("it is told", lambda: "no controller at" in server.said)
        before = server.events["round"]["clients"]
        await until(
            "streams go on",
            lambda: all(
                now["bytes"] > then["bytes"] + 10**6
                for then, now in zip(before, server.events["round"]["clients"], strict=True)
            ),
        )
        again = await start(*control.words)
        await until("controller again", lambda: "ready" in again.said)
        clients = await control.sending("cam1", "cam3")
        assert (clients["cam1"]["target_bps"], clients["cam1"]["priority"]) == (30_000_000, 7)
        shown = await control.get("/gather")
        assert (shown["policy"], shown["buffer"], shown["server"]) == ("none", BUFFER, "up")
        assert await command(control.url, "gather", "set", "--policy", "gentle") == 0
        await until("tuned again", lambda: 0 < sum(each or 0 for each in windows()) <= BUFFER)
        assert await command(control.url, "controller", "show") == 0
        page = capsys.readouterr().out
        assert "2 of 2 clients send" in page and "server up" in page

        lines = command_lines()
        said = killed.said + again.said + server.said + first.said + third.said + page
        said += json.dumps(await control.get("/gather/clients")) + json.dumps(server.events)
        for token in tokens.values():
            assert token not in said and not [line for line in lines if token.encode() in line]
            assert not is_in_a_file(token, tmp_path)
        assert server.said.count("no controller at") == server.said.count("gets settings again") == 1
