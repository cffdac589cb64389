"""A host that speaks the dispatchers' lines, and conditions that tests wait for."""

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from groupflow.tree.options import DispatchOptions
from groupflow.tree.service import Dispatch

TOKEN = "c0ffee"
OPTIONS = DispatchOptions(token=TOKEN, listen=("127.0.0.1", 0), plain=True, patience_ms=20_000)
HASTY = replace(OPTIONS, patience_ms=300)
"""options of tests in which patience ends"""


class Host:
    """Obeys the dispatchers without data: it reports a parent as connected as soon as it is given one."""

    def __init__(self, number: int, *, source: bool = False, token: str = TOKEN, key: str = "") -> None:
        self.name = f"{number:x}"
        self.source = source
        self.key = key or f"key of {number}"
        self.parent: str | None = None
        self.order = 0
        self.cluster = ""
        self.joins = 0
        self.told: list[dict[str, Any]] = []
        self.delay_ms: object = None
        """its bound on the delay, if it is a source"""
        self.root: str | None = None
        """the tree that it claims to be in"""
        self.expected: set[str] = set()
        self.join: dict[str, Any] = {
            "peer": {"host": self.name, "address": f"127.0.0.1:{4000 + number}"},
            "router": None,
            "capacity": 2,
            "token": token,
        }

    async def connect(self, port: int, tls: ssl.SSLContext | None = None) -> dict[str, Any]:
        """Connects. Returns the first answer."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
        hello = {
            "join": self.join,
            "key": self.key,
            "source": self.source,
            "delay_ms": self.delay_ms,
            "root": self.root,
        }
        self.writer.write(json.dumps({"hello": hello}).encode() + b"\n")
        return await self.next()

    async def next(self) -> dict[str, Any]:
        # Not wait_for: in Python 3.11 that may lose a cancellation.
        async with asyncio.timeout(10):
            line = await self.reader.readline()
        return json.loads(line) if line else {"closed": True}

    def say(self, say: str, what: Any = None) -> None:
        self.joins += say == "join"
        line = {"cluster": self.cluster, "joins": self.joins, "say": say}
        self.writer.write(json.dumps(line if what is None else line | {"what": what}).encode() + b"\n")

    async def enter(self, port: int) -> "Host":
        answer = await self.connect(port)
        self.cluster = answer["welcome"]["root"]
        if not self.source:
            self.say("join", self.join)
        return self

    async def run(self) -> None:
        """Obeys until the connection is lost, and reports that it is alive."""
        async with asyncio.TaskGroup() as tasks:
            alive = tasks.create_task(self._say_alive())
            while "closed" not in (line := await self.next()):
                self.obey(line)
            alive.cancel()

    async def _say_alive(self) -> None:
        while True:
            self.say("alive")
            await asyncio.sleep(0.05)

    def obey(self, line: dict[str, Any]) -> None:
        self.told.append(line)
        if line.get("joins", self.joins) != self.joins:
            return
        match line.get("say"):
            case "probe":
                self.say("measured", [[peer["host"], 1_000_000] for peer in line["what"]])
            case "place":
                self.order, self.parent = line["what"]["order"], line["what"]["parent"]["host"]
                self.say("attached", {"order": self.order, "latency": 1_000_000})
            case "expect":
                self.expected.add(line["what"]["child"])
            case "redirect":
                self.cluster = line["what"]
                self.say("join", self.join)
            case _:
                pass


@asynccontextmanager
async def running(*hosts: Host):
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(host.run()) for host in hosts]
        try:
            yield
        finally:
            for task in started:
                task.cancel()


async def names(service: Dispatch) -> set[str]:
    """Names of the hosts in the tree."""
    return {host["host"] for host in service.forest.hosts()}


async def has(service: Dispatch, count: int) -> bool:
    return len(await names(service)) == count


async def settled(service: Dispatch, count: int) -> bool:
    found = service.forest.hosts()
    return len(found) == count and all(host["attached"] for host in found)


async def grove(service: Dispatch, count: int) -> list[Host]:
    source = await Host(1, source=True).enter(service.port)
    return [source, *[await Host(number).enter(service.port) for number in range(2, 2 + count)]]
