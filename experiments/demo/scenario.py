"""The demo from beginning to end: network, controller, caches, receivers, sender; baseline; report."""

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path

from rich.console import Console

from experiments.demo import baseline
from experiments.demo.options import SENDER, Options
from experiments.demo.progress import ProgressView, Track
from experiments.demo.results import AgentResult, Baseline, Parameters, ReceiverResult, Report, SenderResult
from groupflow.endpoint.agent_process import AgentProcess
from groupflow.endpoint.errors import AgentError, ClientError
from groupflow.endpoint.events import Event
from groupflow.endpoint.options import CacheOptions, RecvOptions, SendOptions
from groupflow.lab.controller_process import ControllerProcess, SessionAccess
from groupflow.lab.measure import HealthCheck, link_bytes, usage
from groupflow.lab.network import Network, running
from groupflow.network import variants

_POLL_SECONDS = 0.1
_STALL_SECONDS = 60.0
"""time without a byte at any receiver after which the demo gives up"""


class DemoError(Exception):
    """The demo cannot go on. One line."""


class Scenario:
    """One run. `run` blocks until all is measured and taken down."""

    def __init__(self, options: Options, console: Console) -> None:
        self.options = options
        self.console = console
        self.topology = options.topology()
        self.receivers = [
            name
            for name in self.topology.hosts
            if name != SENDER and name not in variants.agents(self.topology)
        ]
        self._files = options.out / "files"
        self._logs = options.out / "logs"

    def run(self) -> Report:
        """Runs everything. Raises DemoError and the errors of the parts that it starts."""
        self._prepare()
        file = self._file()
        try:
            with running(self.topology, self._logs, self.options.switch) as network:
                switches, hosts = len(self.topology.switches), len(self.topology.hosts)
                self._say(f"{self.topology.name}: {switches} switches ({self.options.switch}), {hosts} hosts")
                controller = ControllerProcess(network, self._logs).start()
                self._say(f"controller ready, REST API at {controller.url}")
                return asyncio.run(self._measure(network, controller, file, file.stat().st_size))
        finally:
            shutil.rmtree(self._files, ignore_errors=True)

    def _prepare(self) -> None:
        shutil.rmtree(self._files, ignore_errors=True)
        shutil.rmtree(self._logs, ignore_errors=True)
        try:
            self._files.mkdir(parents=True)
        except OSError as error:
            raise DemoError(
                f"{self.options.out}: cannot write there: {(error.strerror or '').lower()}"
            ) from None
        size = self.options.file.stat().st_size if self.options.file else self.options.size
        needed = size * (len(self.receivers) + 2)
        free = shutil.disk_usage(self.options.out).free
        if needed > free:
            raise DemoError(
                f"{self.options.out}: {needed >> 20} MiB needed, {free >> 20} MiB free; set OUT elsewhere"
            )
        for name in self.receivers:
            prepare_part(self.received(name), size)

    def received(self, name: str) -> Path:
        """The path of a receiver's file."""
        return (self._files / f"{name}.bin").resolve()

    def _file(self) -> Path:
        if self.options.file is not None:
            return self.options.file.resolve()
        file = self._files / "sent.bin"
        with file.open("wb") as out:
            for start in range(0, self.options.size, 1 << 20):
                out.write(os.urandom(min(1 << 20, self.options.size - start)))
        return file.resolve()

    async def _measure(
        self, network: Network, controller: ControllerProcess, file: Path, size: int
    ) -> Report:
        digest = await asyncio.to_thread(sha256, file)
        started = datetime.now().astimezone()
        async with AsyncExitStack() as stack:
            caches = await self._start_caches(network, stack)
            session = controller.create_session(self.options.mode, self.options.policy)
            self._say(f"session {session.id}: {self.options.mode}, {self.options.policy}")
            transfer = Transfer(self, network, session, file)
            before, health = link_bytes(network), HealthCheck(network)
            await transfer.run()
            links, verdicts = usage(self.topology, before, link_bytes(network), size), health.result()
            for cache in caches:
                await cache.stop()
        tcp = await self._baseline(network, file, size)
        network.check()
        receivers = await asyncio.to_thread(transfer.results, digest)
        return Report(
            parameters=Parameters(
                topology=self.topology.name,
                file=str(self.options.file) if self.options.file else "random bytes",
                file_bytes=size,
                sha256=digest,
                members=self.options.members,
                mode=self.options.mode,
                policy=self.options.policy,
                switch=self.options.switch,
                loss=self.options.loss / 1e9,
                rate_bps=self._rate(),
                delay_ms=self.topology.link_between("s1", "s2").spec.delay_ns / 1e6,
                started=f"{started:%Y-%m-%d %H:%M:%S %Z}",
            ),
            receivers=receivers,
            sender=transfer.sender_result(),
            links=links,
            agents=tuple(agent_result(cache) for cache in caches),
            health=verdicts,
            baseline=tcp,
            ideal_seconds=self._ideal_seconds(size),
            notes=self._notes(),
        )

    async def _start_caches(self, network: Network, stack: AsyncExitStack) -> list[AgentProcess]:
        caches = [
            await stack.enter_async_context(
                AgentProcess(CacheOptions(name=name), launcher=network.hosts[name].launcher())
            )
            for name in sorted(variants.agents(self.topology))
        ]
        for cache in caches:
            await cache.wait_for("joined")
        self._say(f"cache agents ready: {', '.join(cache.options.name for cache in caches)}")
        return caches

    async def _baseline(self, network: Network, file: Path, size: int) -> Baseline | None:
        if not self.options.baseline:
            return None
        paced = self.options.switch == "bmv2"
        todo = baseline.plan(self.topology, SENDER, self.receivers, size, paced=paced)
        self._say(
            f"baseline: one TCP connection to each of {len(self.receivers)} receivers, "
            f"{todo.file_bytes >> 20} MiB, about {todo.seconds:.0f} s"
        )
        if todo.note:
            self._say(f"  {todo.note}")
        return await baseline.run(network, SENDER, self.receivers, file, self._files.resolve(), todo)

    def _rate(self) -> int:
        return self.topology.link_between(SENDER, "s1").spec.rate or 0

    def _ideal_seconds(self, size: int) -> float:
        delays = [
            sum(link.delay_ns for link in baseline.path_links(self.topology, SENDER, name))
            for name in self.receivers
        ]
        return size * 8 / self._rate() + max(delays) / 1e9

    def _notes(self) -> tuple[str, ...]:
        if self.options.switch == "bmv2":
            return (
                "BMv2 does not emulate links: rate, delay and loss of the topology do not apply. The sender "
                "keeps to the rate; each TCP connection of the baseline is paced to its share of it.",
            )
        return ("gfswitch emulates rate, delay, loss and queues of all links, in both directions.",)

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


class Transfer:
    """The transfer of the file through the session, to every receiver."""

    def __init__(self, scenario: Scenario, network: Network, session: SessionAccess, file: Path) -> None:
        self._scenario = scenario
        self._network = network
        self._session = session
        self._file = file
        self._size = file.stat().st_size
        self._folder = scenario.options.out / "files"
        self._tracks = {name: Track(name) for name in scenario.receivers}
        self._sender: AgentProcess | None = None
        self._started: float | None = None

    async def run(self) -> None:
        """Returns when all its processes have ended. Raises DaemonError when a switch or controller died."""
        async with AsyncExitStack() as stack:
            receivers = [await stack.enter_async_context(self._receiver(name)) for name in self._tracks]
            for receiver in receivers:
                await receiver.wait_for("joined")
            self._sender = await stack.enter_async_context(self._new_sender())
            stack.push_async_callback(AgentProcess.stop_all, (self._sender, *receivers))
            with ProgressView(self._scenario.console, list(self._tracks.values()), self._size) as view:
                work = [asyncio.create_task(self._finish(agent)) for agent in (self._sender, *receivers)]
                try:
                    await self._watch(work, view)
                finally:
                    for task in work:
                        task.cancel()

    def results(self, digest: str) -> tuple[ReceiverResult, ...]:
        """Reads every received file again and compares it with the sent file."""
        return tuple(self._result(track, digest) for track in self._tracks.values())

    def sender_result(self) -> SenderResult | None:
        complete = self._sender.latest.get("complete") if self._sender else None
        if complete is None:
            return None
        return SenderResult(
            name=SENDER,
            seconds=complete.number("seconds"),
            packets=complete.integer("packets"),
            retransmitted=complete.integer("retransmitted"),
            nacks=complete.integer("nacks"),
        )

    def _receiver(self, name: str) -> AgentProcess:
        options = RecvOptions(
            session=self._session.id,
            token=self._session.token,
            name=name,
            output=self._scenario.received(name),
        )
        host = self._network.hosts[name]
        return AgentProcess(options, launcher=host.launcher(), on_event=self._tracks[name].take)

    def _new_sender(self) -> AgentProcess:
        options = SendOptions(
            session=self._session.id,
            token=self._session.token,
            name=SENDER,
            file=self._file,
            members=len(self._tracks),
        )
        host = self._network.hosts[SENDER]
        return AgentProcess(options, launcher=host.launcher(), on_event=self._sender_event)

    def _sender_event(self, event: Event) -> None:
        if event.name == "started":
            self._started = event.time

    async def _finish(self, agent: AgentProcess) -> None:
        """An agent that fails is reported at the end with its receiver; a failed sender ends the transfer."""
        try:
            await agent.finish()
        except AgentError as error:
            track = self._tracks.get(agent.options.name)
            if track is None:
                raise DemoError(f"sender {agent.options.name}: {error}") from None
            track.error = track.error or str(error)

    async def _watch(self, work: Sequence[asyncio.Task[None]], view: ProgressView) -> None:
        progress, since = -1, time.monotonic()
        pending = set(work)
        while pending:
            done, pending = await asyncio.wait(
                pending, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_EXCEPTION
            )
            for task in done:
                task.result()
            self._network.check()
            view.refresh()
            received = sum(track.bytes for track in self._tracks.values())
            if received != progress:
                progress, since = received, time.monotonic()
            elif time.monotonic() - since > _STALL_SECONDS:
                raise DemoError(
                    f"no receiver got a byte for {_STALL_SECONDS:.0f} s; see {self._folder.parent}/logs"
                )

    def _result(self, track: Track, digest: str) -> ReceiverResult:
        file = self._scenario.received(track.name)
        found = sha256(file) if file.is_file() else ""
        complete = track.complete
        seconds = (
            complete.time - self._started if complete is not None and self._started is not None else None
        )
        error = track.error
        if not error and not found:
            error = "no file was received"
        elif not error and found != digest:
            error = f"SHA-256 differs: {found[:16]}... instead of {digest[:16]}..."
        return ReceiverResult(
            name=track.name,
            ok=not error and seconds is not None,
            seconds=seconds,
            goodput_bps=int(self._size * 8 / seconds) if seconds else 0,
            repaired_packets=track.repaired,
            sha256=found,
            error=error,
            series=track.series(self._started or 0.0),
        )


def agent_result(cache: AgentProcess) -> AgentResult:
    """The figures in a cache agent's last statistics. Raises ClientError."""
    name = cache.options.name
    stats = cache.latest.get("stats")
    if stats is None:
        raise ClientError(f"cache agent {name} sent no statistics; see its events")
    unicast, multicast = stats.integer("repairs_unicast"), stats.integer("repairs_multicast")
    return AgentResult(
        name=name,
        cache_peak_bytes=stats.integer("cache_peak_bytes"),
        repairs=unicast + multicast,
        repairs_unicast=unicast,
        repairs_multicast=multicast,
        requests=stats.integer("requests"),
    )


def prepare_part(file: Path, size: int) -> None:
    """Fills the part file that a receiver is going to overwrite.

    In a virtual machine the first use of a page of memory costs about six times a later one, because the host
    has to find it. Without this the receivers would pay for a gigabyte of them in the middle of the transfer.
    """
    block = bytes(1 << 20)
    with file.with_name(file.name + ".part").open("wb") as out:
        for start in range(0, size, len(block)):
            out.write(block[: size - start])


def sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
