"""Joins a second in a clustered tree.

`groupflow bench dispatchers` runs it alone. Hosts are connections of this process, which send a host's
messages and carry no data; the dispatchers are a process of their own.
"""

import asyncio
import json
import secrets
import statistics
import time
from contextlib import suppress
from typing import Any

from experiments.bench.figure import Figure
from experiments.tree.service import PORT, served

HOSTS = 500
AT_ONCE = 32
"""hosts that join at the same time"""
_TURNS = 3
_ONE_WAY = 1_000_000
"""ns, latency that a host reports to any other: all are in the root's cluster until it is full, then below"""


class Joiner:
    """A host that joins, and then only reports that it is alive."""

    def __init__(self, number: int, token: str, *, source: bool = False) -> None:
        self._name, self._token, self._source = f"{number:x}", token, source
        self._cluster, self._joins = "", 0
        self.attached = asyncio.Event()

    async def run(self) -> None:
        """Joins and stays, until cancelled."""
        while True:
            with suppress(OSError):
                await self._stay()

    async def _stay(self) -> None:
        """Stays until the connection is lost."""
        reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
        peer = {"host": self._name, "address": f"127.0.0.1:{1 + int(self._name, 16)}"}
        join = {"peer": peer, "router": None, "capacity": 4, "token": self._token}
        hello: dict[str, Any] = {"join": join, "key": self._name, "source": self._source}

        def say(line: dict[str, Any]) -> None:
            writer.write(json.dumps(line).encode() + b"\n")

        def tell(what: str, fields: Any) -> None:
            say({"cluster": self._cluster, "joins": self._joins, "say": what, "what": fields})

        def begin(cluster: str) -> None:
            self._cluster, self._joins = cluster, self._joins + 1
            tell("join", join)

        say({"hello": hello})
        try:
            while line := await reader.readline():
                told: dict[str, Any] = json.loads(line)
                if told.get("joins", self._joins) != self._joins:
                    continue
                what: Any = told.get("what")
                match told:
                    case {"welcome": _} if self._source:
                        self._cluster = told["welcome"]["root"]
                        self.attached.set()
                    case {"welcome": _}:
                        begin(self._cluster or told["welcome"]["root"])
                    case {"alive": True} if self._cluster:
                        say({"cluster": self._cluster, "joins": self._joins, "say": "alive"})
                    case {"say": "probe"}:
                        tell("measured", [[peer["host"], _ONE_WAY] for peer in what])
                    case {"say": "redirect"}:
                        begin(what)
                    case {"say": "place"}:
                        tell("attached", {"order": what["order"], "latency": _ONE_WAY})
                        self.attached.set()
                    case {"say": "refused"}:
                        await asyncio.sleep(0.05)
                        begin(self._cluster)
                    case _:
                        pass
            raise ConnectionResetError
        finally:
            writer.transport.abort()


async def joins_a_second() -> float:
    token = secrets.token_hex(16)
    gate = asyncio.Semaphore(AT_ONCE)
    async with served([], token, plain=True), asyncio.TaskGroup() as tasks:
        running: list[asyncio.Task[None]] = []

        async def join(number: int) -> None:
            async with gate:
                joiner = Joiner(number, token, source=number == 1)
                running.append(tasks.create_task(joiner.run()))
                await joiner.attached.wait()

        await join(1)
        began = time.perf_counter()
        async with asyncio.TaskGroup() as joining:
            for number in range(2, 2 + HOSTS):
                joining.create_task(join(number))
        seconds = time.perf_counter() - began
        for task in running:
            task.cancel()
    return HOSTS / seconds


def figures() -> list[Figure]:
    """The median of the turns."""

    async def measure() -> list[Figure]:
        rates = [await joins_a_second() for _ in range(_TURNS)]
        note = f"{HOSTS} hosts, {AT_ONCE} at a time; {min(rates):.0f} to {max(rates):.0f}"
        return [
            Figure("tree, joins with dispatchers in 1 process", round(statistics.median(rates)), "/s", note)
        ]

    return asyncio.run(measure())
