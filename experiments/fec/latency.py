"""A run under Mininet: messages with their time of writing go through gfagent, and come out in order."""

import asyncio
import json
import os
import struct
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from experiments.fec.plan import CLIENT, CONNECTIONS, INTERVAL, MESSAGE, PERIOD, SERVER, STALL, Case, Result
from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.events import Event
from groupflow.agents.gather.options import ServeOptions
from groupflow.agents.gather.sender import GatherSender
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import Network, running
from groupflow.processes import Daemon

RELAY = Path(__file__).with_name("relay.py")
NAME, TOKEN = "cam1", "c0ffee"
_WRITTEN = struct.Struct(">Q")
"""ns of the monotonic clock, which is the same in all network namespaces"""


def run(case: Case, seconds: float, folder: Path) -> Result:
    """Runs a case. Needs root. Raises AgentError and the errors of `running` and `ControllerProcess`."""
    folder.mkdir(parents=True, exist_ok=True)
    with running(case.topology(), folder / "logs") as network:
        ControllerProcess(network, folder / "logs").start()
        return asyncio.run(_run(case, seconds, network, folder))


async def _run(case: Case, seconds: float, network: Network, folder: Path) -> Result:
    fifo = folder / "out" / NAME
    fifo.parent.mkdir(exist_ok=True)
    fifo.unlink(missing_ok=True)
    os.mkfifo(fifo)
    clients = folder / "clients.json"
    clients.write_text(json.dumps({"clients": [{"client": NAME, "token": TOKEN}]}))
    rounds = _Rounds()
    async with AsyncExitStack() as stack:
        options = ServeOptions(clients=clients, listen="0.0.0.0:26490", out=fifo.parent)
        server = AgentProcess(
            options, launcher=network.hosts[SERVER].launcher(), on_event=rounds.take, piped_input=True
        )
        await stack.enter_async_context(server)
        await server.wait_for("ready")
        tuning = {"tune": [{"client": NAME, "connections": CONNECTIONS}]}
        server.data_in.write(json.dumps(tuning).encode() + b"\n")
        await server.wait_for("tuned")
        to = f"{network.topology.hosts[SERVER].ip}:{_start_relay(network, case, folder)}"
        launcher = network.hosts[CLIENT].launcher()
        # Opened also for writing, so that it does not end while no other process has it open.
        reader = await _open(fifo)
        async with GatherSender(to, NAME, TOKEN, plain=True, fec=case.fec, launcher=launcher) as stream:
            await rounds.connected.wait()
            health = HealthCheck(network)
            count = int(seconds / INTERVAL)
            ages = asyncio.create_task(_read(reader, count))
            await _write(stream, count)
            found = sorted(await ages)
            lagging = health.lagging()
    network.check()
    return _result(case, found, rounds.made, lagging)


def _start_relay(network: Network, case: Case, folder: Path) -> int:
    """Starts a relay between client and server, in the server's host. Returns its port."""
    stall = STALL if case.stalls else 0.0
    words = ("0.0.0.0:26491", "127.0.0.1:26490", str(stall), str(PERIOD))
    command = [*network.hosts[SERVER].launcher(), sys.executable, str(RELAY), *words]
    relay = Daemon(f"{SERVER} (relay.py)", command, folder / "logs" / "relay.log")
    network.start_daemon(relay)
    relay.wait_ready(lambda: "ready" in relay.output())
    return 26491


@dataclass
class _Rounds:
    """Sums of the figures in the server's rounds."""

    made: int = 0

    def __post_init__(self) -> None:
        self.connected = asyncio.Event()

    def take(self, event: Event) -> None:
        if event.name != "round":
            return
        for client in event.fields["clients"]:  # type: ignore[union-attr]
            self.made = client["made"]
            if client["connections"] == CONNECTIONS:
                self.connected.set()


async def _open(fifo: Path) -> asyncio.StreamReader:
    descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb", 0))
    return reader


async def _write(stream: GatherSender, count: int) -> None:
    start = time.monotonic()
    for number in range(count):
        await asyncio.sleep(max(0.0, start + number * INTERVAL - time.monotonic()))
        await stream.write(_WRITTEN.pack(time.monotonic_ns()) + bytes(MESSAGE - _WRITTEN.size))


async def _read(reader: asyncio.StreamReader, count: int) -> list[float]:
    """Reads `count` messages. Returns the latency of each in seconds."""
    ages: list[float] = []
    for _ in range(count):
        message = await reader.readexactly(MESSAGE)
        (written,) = _WRITTEN.unpack_from(message)
        ages.append((time.monotonic_ns() - written) / 1e9)
    return ages


def _result(case: Case, ages: Sequence[float], made: int, lagging: tuple[str, ...]) -> Result:
    """The result; `ages` are sorted, the least first."""

    def quantile(share: float) -> float:
        return ages[min(len(ages) - 1, int(share * len(ages)))]

    return Result(
        case=case,
        messages=len(ages),
        median=quantile(0.5),
        p95=quantile(0.95),
        p99=quantile(0.99),
        longest=ages[-1],
        made=made,
        cpu_bound=lagging,
    )
