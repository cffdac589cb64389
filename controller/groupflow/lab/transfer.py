"""A file from one host of a running network to others, over a session, measured at each receiver."""

import asyncio
import os
import time
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError, ClientError
from groupflow.agents.events import Event
from groupflow.agents.options import CacheOptions, RecvOptions, SendOptions
from groupflow.errors import Error
from groupflow.files import variants
from groupflow.lab.controller_process import SessionAccess
from groupflow.lab.network import Network

STALL_SECONDS = 60.0
"""time without a byte at any receiver after which a transfer is given up"""
_POLL_SECONDS = 0.1


class Track:
    """One receiver's progress through the file, from its events."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.bytes = 0
        self.repaired = 0
        self.error = ""
        self.complete: Event | None = None
        self.points: list[tuple[float, int]] = []
        """Unix time, and bytes then"""

    def take(self, event: Event) -> None:
        match event.name:
            case "progress" | "complete":
                self.bytes = event.integer("bytes")
                self.repaired = event.integer("repaired_packets")
                self.points.append((event.time, self.bytes))
                self.complete = event if event.name == "complete" else None
            case "error":
                self.error = event.text("cause")
            case _:
                pass


class Transfer:
    """`outputs`: the file of each receiver; None: it throws all away. `rate`: the sender's bound, bit/s."""

    def __init__(
        self,
        network: Network,
        session: SessionAccess,
        sender: str,
        file: Path,
        outputs: Mapping[str, Path | None],
        rate: int | None = None,
    ) -> None:
        self._network = network
        self._session = session
        self._outputs = outputs
        self._send = SendOptions(
            session=session.id, token=session.token, name=sender, file=file, members=len(outputs), rate=rate
        )
        self.tracks = {name: Track(name) for name in outputs}
        self.started: float | None = None
        """Unix time of the sender's first packet"""
        self.complete: Event | None = None
        """the sender's"""

    async def run(self, refresh: Callable[[], None] = lambda: None) -> None:
        """Returns when all its processes have ended; calls `refresh` some times a second. Raises
        Error, ClientError, and DaemonError when a switch or controller died."""
        async with AsyncExitStack() as stack:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            stack.callback(os.close, nowhere)
            receivers = [
                await stack.enter_async_context(self._receiver(name, nowhere)) for name in self.tracks
            ]
            for receiver in receivers:
                await receiver.wait_for("joined")
            launcher = self._network.hosts[self._send.name].launcher()
            sender = AgentProcess(self._send, launcher=launcher, on_event=self._hear)
            await stack.enter_async_context(sender)
            stack.push_async_callback(AgentProcess.stop_all, (sender, *receivers))
            work = [asyncio.create_task(self._finish(agent)) for agent in (sender, *receivers)]
            try:
                await self._watch(work, refresh)
            finally:
                for task in work:
                    task.cancel()

    def __repr__(self) -> str:
        ends = [
            f"{name} {track.bytes} bytes in {self.seconds(name)} s" for name, track in self.tracks.items()
        ]
        return f"<{'; '.join(ends)}>"

    @property
    def slowest(self) -> float | None:
        """Seconds until the last receiver was complete; None: some never were."""
        times = [self.seconds(name) for name in self.tracks]
        return None if None in times else max(time for time in times if time is not None)

    def seconds(self, name: str) -> float | None:
        """From the sender's first packet to the last byte at a receiver; None: it is not complete."""
        complete = self.tracks[name].complete
        return None if complete is None or self.started is None else complete.time - self.started

    def _receiver(self, name: str, nowhere: int) -> AgentProcess:
        session, output = self._session, self._outputs[name]
        options = RecvOptions(session=session.id, token=session.token, name=name, output=output)
        launcher, take = self._network.hosts[name].launcher(), self.tracks[name].take
        return AgentProcess(options, launcher=launcher, on_event=take, output_to=PIPE if output else nowhere)

    def _hear(self, event: Event) -> None:
        if event.name == "started":
            self.started = event.time
        if event.name == "complete":
            self.complete = event

    async def _finish(self, agent: AgentProcess) -> None:
        """An agent that fails is reported at the end with its receiver; a failed sender ends the transfer."""
        try:
            await agent.finish()
        except AgentError as error:
            track = self.tracks.get(agent.options.name)
            if track is None:
                raise Error(f"sender {agent.options.name}: {error}") from None
            track.error = track.error or str(error)

    async def _watch(self, work: Sequence[asyncio.Task[None]], refresh: Callable[[], None]) -> None:
        progress, since = -1, time.monotonic()
        pending = set(work)
        while pending:
            done, pending = await asyncio.wait(
                pending, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_EXCEPTION
            )
            for task in done:
                task.result()
            self._network.check()
            refresh()
            received = sum(track.bytes for track in self.tracks.values())
            if received != progress:
                progress, since = received, time.monotonic()
            elif time.monotonic() - since > STALL_SECONDS:
                raise Error(f"no receiver got a byte for {STALL_SECONDS:.0f} s; see the logs")


async def start_caches(network: Network, stack: AsyncExitStack) -> list[AgentProcess]:
    """A cache agent in each agent's host, until the stack's end; returns when all are members."""
    caches = [
        AgentProcess(CacheOptions(name=name), launcher=network.hosts[name].launcher())
        for name in sorted(variants.agents(network.topology))
    ]
    for cache in caches:
        await stack.enter_async_context(cache)
        await cache.wait_for("joined")
    return caches


def statistics(cache: AgentProcess) -> Event:
    """The last statistics of a cache agent. Raises ClientError."""
    if "stats" not in cache.latest:
        raise ClientError(f"cache agent {cache.options.name} sent no statistics; see its events")
    return cache.latest["stats"]
