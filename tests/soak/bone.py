"""A cache bone on loopback under random faults, while clients read from its rims:

    python -m tests.soak.bone --seed 4 --seconds 60 --rims 4

Files are put into the hub's folder, changed where they are, replaced, removed, ordered; rims and hub are
killed, begin again and stand still for seconds; rims' files are damaged. A whole file from a rim must
be a version of the hub's file, folders stay within their bounds, no process may end by itself, and in the end
every rim gives out every file as it is. The seed decides what is done, not when the machine gets to it.
"""

import argparse
import asyncio
import logging
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, get_args

import httpx

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.bone.options import Method, Repair
from tests.soak.readers import Readers
from tests.soak.versions import Versions
from tests.support.bone import HERE, Bench, Node, free_udp_port

log = logging.getLogger("soak")

MOST_FILES = 12
STORE = 1_500_000
"""bytes of a rim's store: less than all files may have"""
READERS = 6
RATE = 20_000_000
"""bit/s"""
PAUSE_S = (0.2, 4.0)
BETWEEN_S = (0.05, 0.8)
SLOW_S = 2.0
WHOLE_S = 60.0
"""time from the last fault until every rim gives out every file"""
MEMORY_KB = 100_000
FAULTS = {
    "put": 6, "change": 3, "remove": 2, "order": 2, "kill_rim": 2, "pause_rim": 2, "damage": 2, "kill_hub": 1,
    "pause_hub": 1,
}  # fmt: skip
"""weight of each fault among the others"""


class Soak:
    """One run."""

    def __init__(self, bench: Bench, client: httpx.AsyncClient, options: argparse.Namespace) -> None:
        self.faults: list[str] = []
        self._bench = bench
        self._client = client
        self._options = options
        self._random = random.Random(options.seed)
        self._hub_options: dict[str, Any] = {
            "method": options.method,
            "repair": options.repair,
            "rate": 20_000_000,
        }
        self._rim_options: dict[str, dict[str, Any]] = {}
        self._rims: dict[str, Node] = {}
        self._hub: Node
        self._still: set[AgentProcess] = set()
        self._pauses: set[asyncio.Task[None]] = set()
        (bench.folder / "outbox").mkdir()
        self._versions = Versions(bench.folder / "outbox", self._random)
        self.readers = Readers(self._versions, self._random, self._awake, self._fault)

    async def run(self) -> None:
        """Runs the soak. Raises an error for any fault of the programs."""
        self._set_up()
        await self._start_hub()
        for name in self._rim_options:
            await self._start_rim(name)
        end = time.monotonic() + self._options.seconds
        async with asyncio.TaskGroup() as tasks:
            reading = [tasks.create_task(self.readers.read_on(self._client)) for _ in range(READERS)]
            while time.monotonic() < end:
                await asyncio.sleep(self._random.uniform(*BETWEEN_S))
                self._watch()
                (fault,) = self._random.choices(list(FAULTS), list(FAULTS.values()))
                await getattr(self, f"_{fault}")()
            for task in reading:
                task.cancel()
        await asyncio.gather(*self._pauses)
        self._watch()
        await self._settle()

    def _set_up(self) -> None:
        unicast = self._options.method == "unicast"
        ports = [free_udp_port() for _ in range(self._options.rims)]
        for number, port in enumerate(ports):
            # Packets of a unicast hub come to a rim's own port.
            group = {"group": f"239.83.84.7:{port}"} if unicast else {}
            self._rim_options[f"rim{number}"] = {"max_bytes": STORE, **group}
        self._hub_options["port"] = free_udp_port()
        if unicast:
            self._hub_options["rims"] = tuple(f"{HERE}:{port}" for port in ports)
            for form in self._rim_options.values():
                form["hub"] = f"{HERE}:{self._hub_options['port']}"

    async def _start_hub(self) -> None:
        self._hub = await self._bench.hub(**self._hub_options, everything=True)

    async def _start_rim(self, name: str) -> None:
        self._rims[name] = await self._bench.rim(name, **self._rim_options[name])

    def _awake(self) -> list[Node]:
        return [rim for rim in self._rims.values() if rim.agent not in self._still]

    def _fault(self, message: str) -> None:
        log.error("FAULT %s", message)
        self.faults.append(message)

    async def _put(self) -> None:
        number = self._random.randrange(MOST_FILES)
        log.info("put file%d", number)
        self._versions.put(f"file{number}")

    def _some_file(self) -> str | None:
        return self._random.choice(list(self._versions.now)) if self._versions.now else None

    async def _change(self) -> None:
        if name := self._some_file():
            log.info("change %s", name)
            self._versions.change(name)

    async def _remove(self) -> None:
        if name := self._some_file():
            log.info("remove %s", name)
            self._versions.remove(name)

    async def _order(self) -> None:
        if (name := self._some_file()) and self._hub.agent not in self._still:
            log.info("order %s", name)
            answer = await self._client.post(self._hub.url(name))
            if answer.status_code not in (202, 404, 503):
                self._fault(f"an order of {name} is answered with {answer.status_code}")

    async def _kill_rim(self) -> None:
        name = self._random.choice(list(self._rims))
        if (rim := self._rims[name]).agent not in self._still:
            log.info("kill %s", name)
            del self._rims[name]
            await self._kill(rim)
            await self._start_rim(name)

    async def _kill_hub(self) -> None:
        if self._hub.agent not in self._still:
            log.info("kill the hub")
            await self._kill(self._hub)
            await self._start_hub()

    @staticmethod
    async def _kill(node: Node) -> None:
        node.agent.signal(signal.SIGKILL)
        await node.agent.stop()

    async def _damage(self) -> None:
        """Damages a file, unless a client reads it: bytes already sent could not be judged then."""
        rim, name = self._random.choice(list(self._rims.values())), self._some_file()
        if name and not self.readers.busy[rim.http, name] and (path := rim.folder / name).exists():
            log.info("damage %s of %s", name, rim.folder.name)
            path.write_bytes(path.read_bytes()[:-1] + b"?")

    async def _pause_rim(self) -> None:
        self._pause(self._random.choice(list(self._rims.values())))

    async def _pause_hub(self) -> None:
        self._pause(self._hub)

    def _pause(self, node: Node) -> None:
        if node.agent in self._still:
            return
        seconds = self._random.uniform(*PAUSE_S)
        log.info("pause %s %.1f s", node.agent.options.name, seconds)
        self._still.add(node.agent)
        node.agent.signal(signal.SIGSTOP)

        async def go_on() -> None:
            await asyncio.sleep(seconds)
            node.agent.signal(signal.SIGCONT)
            self._still.discard(node.agent)

        task = asyncio.create_task(go_on())
        self._pauses.add(task)
        task.add_done_callback(self._pauses.discard)

    def _watch(self) -> None:
        for node in [self._hub, *self._rims.values()]:
            name = node.agent.options.name
            if node.agent.returncode is not None:
                raise RuntimeError(f"{name} ended with {node.agent.returncode}: {node.events[-3:]}")
            if node.peak_kb() > MEMORY_KB:
                self._fault(f"{name} took {node.peak_kb()} kB")
        for rim in self._rims.values():
            held = sum(path.stat().st_size for path in rim.folder.iterdir() if path.is_file())
            if held > STORE:
                self._fault(f"{rim.folder.name} holds {held} bytes")

    async def _settle(self) -> None:
        """Makes the hub send every file once more, and every rim give it out."""
        log.info("the end: %d files, answers %s", len(self._versions.now), dict(self.readers.answers))
        for name in self._versions.now:
            await self._client.post(self._hub.url(name))
        wanted = {(rim, name) for rim in self._rims for name in self._versions.now}
        deadline = time.monotonic() + WHOLE_S
        while wanted and time.monotonic() < deadline:
            for rim, name in sorted(wanted):
                if await self._gives(rim, name):
                    wanted.discard((rim, name))
        for rim, name in sorted(wanted):
            self._fault(f"{rim} does not give {name} as it is")

    async def _gives(self, rim: str, name: str) -> bool:
        begun = time.monotonic()
        try:
            answer = await self._client.get(self._rims[rim].url(name))
        except httpx.TransportError:  # it was changed just before, and is sent again
            return False
        if (took := time.monotonic() - begun) > SLOW_S:
            log.info("%s gives %s with %d after %.1f s", rim, name, answer.status_code, took)
        if answer.headers.get("etag", "").strip('"') != self._versions.now[name]:
            return False
        if fault := self._versions.fault(name, self._versions.now[name], answer.content):
            self._fault(f"{rim}: {fault}")
        return True


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rims", type=int, default=4)
    parser.add_argument("--method", choices=get_args(Method), default="scheduled")
    parser.add_argument("--repair", choices=get_args(Repair), default="selective")
    return parser.parse_args()


async def _run(options: argparse.Namespace) -> list[str]:
    limits = httpx.Limits(max_keepalive_connections=0)
    with tempfile.TemporaryDirectory(prefix="groupflow-soak-") as folder:
        bench = Bench(Path(folder))
        async with bench.stack, httpx.AsyncClient(timeout=60, trust_env=False, limits=limits) as client:
            soak = Soak(bench, client, options)
            await soak.run()
            return soak.faults


def main() -> int:
    """Exit code 0: no fault."""
    options = _options()
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)7d ms %(message)s", stream=sys.stdout)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    faults = asyncio.run(_run(options))
    log.info(
        "seed=%d method=%s repair=%s faults=%d", options.seed, options.method, options.repair, len(faults)
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
