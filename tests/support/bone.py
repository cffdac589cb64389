"""A real hub and real rims on the loopback interface, and a stand-in for a hub that lies."""

import random
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.bone.options import HubOptions, RimOptions
from groupflow.agents.events import Event
from tests.support.waiting import until

HERE = "127.0.0.1"
FAST = 100_000_000
"""bit/s"""


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HERE, 0))
        return int(probe.getsockname()[1])


def content(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


@dataclass
class Node:
    """A running hub or rim."""

    agent: AgentProcess
    folder: Path
    events: list[Event]
    http: str

    def said(self, name: str) -> list[Event]:
        return [event for event in self.events if event.name == name]

    async def heard(self, name: str, count: int = 1) -> Event:
        await until(lambda: len(self.said(name)) >= count, f"{count} times {name}")
        return self.said(name)[count - 1]

    def order(self, line: str) -> None:
        """Gives an order; the program must take orders."""
        self.agent.data_in.write(line.encode() + b"\n")

    def url(self, path: str) -> str:
        return f"http://{self.http}/{path}"

    def peak_kb(self) -> int:
        """Its peak memory, KiB."""
        status = Path(f"/proc/{self.agent.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


@dataclass
class Bench:
    """Starts hubs and rims that hear one multicast group of their own."""

    folder: Path
    group: str = field(default_factory=lambda: f"239.83.84.7:{free_udp_port()}")
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def hub(self, **options: Any) -> Node:
        folder = self.folder / "outbox"
        folder.mkdir(exist_ok=True)
        form: dict[str, Any] = {
            "name": "hub", "folder": folder, "http": f"{HERE}:0", "iface": HERE, "group": self.group,
            "port": free_udp_port(), "rate": FAST, "poll_ms": 20, "join_ms": 100, "result_ms": 300,
            "grace_ms": 50, "repair": "selective",
        }  # fmt: skip
        return await self._start(HubOptions(**(form | options)))

    async def rim(self, name: str = "rim", **options: Any) -> Node:
        form: dict[str, Any] = {
            "name": name, "folder": self.folder / name, "http": f"{HERE}:0", "iface": HERE,
            "group": self.group, "miss_wait": 10,
        }  # fmt: skip
        return await self._start(RimOptions(**(form | options)))

    async def _start(self, options: HubOptions | RimOptions) -> Node:
        events: list[Event] = []
        process = AgentProcess(options, on_event=events.append, piped_input=options.orders)
        agent = await self.stack.enter_async_context(process)
        ready = await agent.wait_for("ready")
        return Node(agent, options.folder, events, ready.text("http"))


@asynccontextmanager
async def bench(folder: Path) -> AsyncGenerator[tuple[Bench, httpx.AsyncClient]]:
    built = Bench(folder)
    async with built.stack, httpx.AsyncClient(timeout=20, trust_env=False) as client:
        yield built, client


class FalseHub:
    """Multicasts messages of the test's choice (`dataplane/apps/bone/src/machine/message.rs`)."""

    def __init__(self, group: str) -> None:
        host, _, port = group.rpartition(":")
        self._to = (host, int(port))
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HERE, 0))
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(HERE))

    def __enter__(self) -> "FalseHub":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def control(self, transfer: int, name: bytes, size: int, digest: bytes) -> None:
        """Control parameters: unscheduled, selective repeat, packets of 1,000 bytes."""
        fixed = struct.pack(">BBQHHHI5H", 2, 2, size, 0o644, 1000, 64, 1000, 1000, 0, 2000, 2000, 60)
        self._send(3, transfer, fixed + digest + bytes([len(name)]) + name)

    def data(self, transfer: int, number: int, offset: int, data: bytes) -> None:
        self._send(5, transfer, struct.pack(">IHHQ", 1, number, 0, offset) + data)

    def end(self, transfer: int) -> None:
        self._send(10, transfer, b"\0")

    def _send(self, kind: int, transfer: int, body: bytes) -> None:
        self._socket.sendto(struct.pack(">BBI", 0xB2, kind, transfer) + body, self._to)
