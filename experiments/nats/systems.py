"""The two systems: a publisher that sends its stdin, and subscribers that record arrivals and their times."""

import asyncio
import os
import secrets
import shutil
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from experiments.nats.publisher import PLACE
from experiments.tree.service import address, dispatchers
from experiments.tree.stream import Arrival, Subscriber, stream
from groupflow.agents.agent_process import AgentProcess
from groupflow.lab.network import Network
from groupflow.lab.waiting import until
from groupflow.processes import program
from groupflow.study.experiment import RunError
from groupflow.tree.members import TreeRecvOptions, TreeSendOptions

PUBLISHER = "p"
_NATS_PORT = 4222
_PATIENCE_S = 30.0
_SYSTEM = ":/usr/sbin"
"""path of server programs on Debian"""


class Heard(Protocol):
    """A subscriber."""

    arrivals: list[Arrival]

    @property
    def received(self) -> int:
        """Bytes received, none counted twice."""
        ...

    async def read(self) -> None:
        """Reads to the end. Raises RunError for a byte that is not the stream's."""
        ...

    def signal(self, number: signal.Signals) -> None: ...


@dataclass(frozen=True)
class System:
    """A running publisher with its subscribers."""

    publish: asyncio.StreamWriter
    subscribers: dict[str, Heard]

    def serving(self) -> str | None:
        """The subscriber that serves most others; None: in this system none does."""
        trees = {name: heard for name, heard in self.subscribers.items() if isinstance(heard, Subscriber)}
        return max(trees, key=lambda name: len(trees[name].children)) if trees else None


@asynccontextmanager
async def tree(network: Network, names: Sequence[str]) -> AsyncGenerator[System]:
    """A clustered tree without encryption, as NATS is by default; a slow host is cut off in the end."""
    async with AsyncExitStack() as stack:
        token = secrets.token_hex(16)
        launcher = network.hosts[PUBLISHER].launcher()
        await stack.enter_async_context(dispatchers(launcher, token, plain=True))
        to = address(network, PUBLISHER)
        sending = TreeSendOptions(name=PUBLISHER, to=to, token=token, slow="isolate", members=len(names))
        source = AgentProcess(sending, launcher=launcher, piped_input=True)
        await stack.enter_async_context(source)
        subscribers: dict[str, Subscriber] = {}
        for name in names:
            options = TreeRecvOptions(name=name, to=to, token=token, slow="isolate", start="start")
            subscriber = Subscriber(options, network.hosts[name].launcher())
            subscribers[name] = await stack.enter_async_context(subscriber)
        async with asyncio.timeout(_PATIENCE_S):
            for subscriber in subscribers.values():
                await subscriber.wait_for("joined")
        try:
            yield System(source.data_in, dict(subscribers))
        finally:
            await AgentProcess.stop_all([source, *subscribers.values()])


class NatsSubscriber:
    """A subscriber in a host, through nats-py."""

    def __init__(self, name: str, process: Process) -> None:
        self.arrivals: list[Arrival] = []
        self._name = name
        self._process = process

    @property
    def received(self) -> int:
        return self.arrivals[-1].bytes if self.arrivals else 0

    async def ready(self) -> None:
        """Waits until it has subscribed. Raises RunError."""
        assert self._process.stdout
        async with asyncio.timeout(_PATIENCE_S):
            if await self._process.stdout.readline() != b"ready\n":
                raise RunError(f"{self._name} did not subscribe")

    async def read(self) -> None:
        pipe = self._process.stdout
        assert pipe
        while True:
            try:
                length = int.from_bytes(await pipe.readexactly(4))
                message = await pipe.readexactly(length)
            except asyncio.IncompleteReadError:
                return
            place, data = int.from_bytes(message[:PLACE]), message[PLACE:]
            if data != stream(place, place + len(data)):
                raise RunError(f"{self._name}: byte {place} or one after it is not the stream's")
            at = asyncio.get_running_loop().time()
            self.arrivals.append(Arrival(at, self.received + len(data)))

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)


@asynccontextmanager
async def nats(network: Network, names: Sequence[str]) -> AsyncGenerator[System]:
    """nats-server with its defaults, in the publisher's host. Raises RunError."""
    server = shutil.which("nats-server", path=os.environ.get("PATH", "") + _SYSTEM)
    if server is None:
        raise RunError("nats-server is not installed: apt-get install nats-server")
    ip = network.topology.hosts[PUBLISHER].ip
    url = f"nats://{ip}:{_NATS_PORT}"
    async with AsyncExitStack() as stack:
        launcher = network.hosts[PUBLISHER].launcher()
        command = [server, "--addr", str(ip), "--port", str(_NATS_PORT)]
        await stack.enter_async_context(program(launcher, command))
        show = ["ss", "-Hltn", f"sport = :{_NATS_PORT}"]
        if not await until(lambda: bool(network.hosts[PUBLISHER].run(show).stdout), _PATIENCE_S):
            raise RunError("nats-server did not start")
        subscribers: dict[str, Heard] = {}
        for name in names:
            command = [sys.executable, "-m", "experiments.nats.subscriber", url]
            process = await stack.enter_async_context(program(network.hosts[name].launcher(), command))
            subscribers[name] = subscriber = NatsSubscriber(name, process)
            await subscriber.ready()
        command = [sys.executable, "-m", "experiments.nats.publisher", url]
        publisher = await stack.enter_async_context(program(launcher, command, piped_input=True))
        assert publisher.stdin
        yield System(publisher.stdin, subscribers)
