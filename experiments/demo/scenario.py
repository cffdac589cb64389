"""The demo from beginning to end: a network; for each loss caches, receivers and sender, then TCP."""

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from experiments.demo import baseline
from experiments.demo.options import SENDER, Options
from experiments.demo.progress import ProgressView
from experiments.demo.results import (
    AgentResult,
    Parameters,
    QueueSample,
    ReceiverResult,
    Report,
    Run,
    Transport,
)
from groupflow import units
from groupflow.files import variants
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck, link_bytes, queues, usage
from groupflow.lab.network import Network, running
from groupflow.lab.switches import GfSwitch
from groupflow.lab.transfer import Transfer, start_caches, statistics
from groupflow.p4rt.connection import ControlError
from groupflow.study import RunFailedError
from groupflow.units import format_size

_COUNTS = ("cache_peak_bytes", "repairs_unicast", "repairs_multicast", "requests")
"""in a cache agent's last statistics"""
_SAMPLE_SECONDS = 0.1
_MOST_SAMPLES = 300
Done = TypeVar("Done")


class Scenario:
    """`run` takes all down at its end."""

    def __init__(self, options: Options, console: Console) -> None:
        self.options = options
        self.console = console
        self.topology = options.topology()
        agents = variants.agents(self.topology)
        self.receivers = [name for name in self.topology.hosts if name != SENDER and name not in agents]
        self._files = options.out / "files"
        self._logs = options.out / "logs"

    def run(self) -> Generator[Report]:
        """Yields the report after each run. Raises RunFailedError and the errors of its parts."""
        self._prepare()
        file = self._file()
        parameters, runs, notes = self._parameters(file), list[Run](), _NOTES[self.options.switch]
        if parameters.file_bytes < baseline.SEGMENT:
            notes += (_TINY,)
        try:
            with running(self.topology, self._logs, self.options.switch) as network:
                switches, hosts = len(self.topology.switches), len(self.topology.hosts)
                self._say(f"{self.topology.name}: {switches} switches ({self.options.switch}), {hosts} hosts")
                controller = ControllerProcess(network, self._logs).start()
                for loss in self.options.losses:
                    runs.append(asyncio.run(self._run(network, controller, file, parameters, loss)))
                    network.check()
                    yield Report(parameters, tuple(runs), notes)
                    if runs[-1].cpu_bound:  # figures about the machine need no second run
                        break
        finally:
            shutil.rmtree(self._files, ignore_errors=True)

    def _prepare(self) -> None:
        shutil.rmtree(self._files, ignore_errors=True)
        shutil.rmtree(self._logs, ignore_errors=True)
        self._files.mkdir(parents=True)
        count = self.options.file.stat().st_size if self.options.file else self.options.size
        needed = count * (len(self.receivers) + 2)
        free = shutil.disk_usage(self.options.out).free
        if needed > free:
            raise RunFailedError(
                f"{self.options.out}: {needed >> 20} MiB needed, {free >> 20} MiB free; choose another --out"
            )

    def _file(self) -> Path:
        if self.options.file is not None:
            return self.options.file.resolve()
        file = self._files / "sent.bin"
        with file.open("wb") as out:
            for start in range(0, self.options.size, 1 << 20):
                out.write(os.urandom(min(1 << 20, self.options.size - start)))
        return file.resolve()

    def _parameters(self, file: Path) -> Parameters:
        count = file.stat().st_size
        paths = [baseline.path_links(self.topology, SENDER, name) for name in self.receivers]
        delay_ns = max(sum(link.delay_ns for link in links) for links in paths)
        rate = self.topology.link_between(SENDER, "s1").spec.rate or 0
        return Parameters(
            topology=self.topology.name,
            file=str(self.options.file) if self.options.file else "random bytes",
            file_bytes=count,
            sha256=sha256(file),
            members=self.options.members,
            mode=self.options.mode,
            policy=self.options.policy,
            switch=self.options.switch,
            rate_bps=rate,
            delay_ms=self.topology.link_between("s1", "s2").spec.delay_ns / 1e6,
            ideal_seconds=count * 8 / rate + delay_ns / 1e9,
            started=f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S %Z}",
        )

    async def _run(
        self, network: Network, controller: ControllerProcess, file: Path, parameters: Parameters, loss: int
    ) -> Run:
        count, digest = parameters.file_bytes, parameters.sha256
        topology = variants.with_loss(self.topology, loss)
        for link in topology.links if loss or len(self.options.losses) > 1 else ():
            network.links.change(link, f"loss={units.format_loss(link.spec.loss)}")
        self._say(f"with {units.format_loss(loss * 100)} % loss on every link:")
        outputs = {name: (self._files / f"{name}.bin").resolve() for name in self.receivers}
        for output in outputs.values():
            await asyncio.to_thread(prepare_part, output, count)
        async with AsyncExitStack() as stack:
            caches = await start_caches(network, stack)
            session = controller.create_session(self.options.mode, self.options.policy)
            transfer = Transfer(network, session, SENDER, file, outputs)
            with ProgressView(self.console, list(transfer.tracks.values()), count) as view:
                group = await _watched(network, transfer.run(view.refresh), count, lambda _: transfer.slowest)
            for cache in caches:
                await cache.stop()
        checked = [await asyncio.to_thread(_check, transfer, name, outputs[name], digest) for name in outputs]
        told, tcp, note = transfer.complete, None, ""
        if self.options.baseline:
            paced = self.options.switch == "bmv2"
            todo = baseline.plan(topology, SENDER, self.receivers, count, paced=paced)
            note = todo.note
            volume = format_size(todo.file_bytes)
            self._say(f"TCP to each of {len(outputs)}: {volume}, about {todo.seconds:.0f} s. {note}")
            sent = baseline.run(network, SENDER, self.receivers, file, self._files.resolve(), todo)
            tcp = await _watched(network, sent, todo.file_bytes, lambda seconds: seconds)
        return Run(
            loss=loss / units.PARTS,
            receivers=tuple(checked),
            agents=tuple(
                AgentResult(cache.options.name, *map(statistics(cache).integer, _COUNTS)) for cache in caches
            ),
            retransmitted=told.integer("retransmitted") if told else 0,
            nacks=told.integer("nacks") if told else 0,
            group=group,
            tcp=tcp,
            note=note,
        )

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


_TINY = "The file is smaller than a packet: copies on links are mostly headers and control messages."
_NOTES: dict[str, tuple[str, ...]] = {
    "bmv2": (
        "BMv2 does not emulate links: rate and delay of the topology do not apply, and the kernel loses "
        "frames where nftables are installed. The sender keeps to the rate; each TCP connection is paced to "
        "its share of it.",
    ),
    "gfswitch": ("gfswitch emulates rate, delay, loss and queues of all links, in both directions.",),
}


async def _watched(
    network: Network, work: Awaitable[Done], count: int, seconds: Callable[[Done], float | None]
) -> Transport:
    """Lets the work be done, and measures what it does to the network."""
    before, health, first = link_bytes(network), HealthCheck(network), queues(network)
    started, samples = time.monotonic(), list[QueueSample]()

    async def sample() -> None:
        with suppress(ControlError):  # the work finds out that a switch died, and how
            while any(isinstance(switch, GfSwitch) for switch in network.switches.values()):
                now = await asyncio.to_thread(queues, network)
                gone = now.full - first.full, now.lost - first.lost
                samples.append(QueueSample(time.monotonic() - started, now.waiting, *gone))
                await asyncio.sleep(_SAMPLE_SECONDS)

    sampling = asyncio.create_task(sample())
    try:
        done = await work
    finally:
        sampling.cancel()
        with suppress(asyncio.CancelledError):
            await sampling
    links = usage(network.topology, before, link_bytes(network), count)
    thinned = samples[:: -(len(samples) // _MOST_SAMPLES + 1)][::-1]
    return Transport(seconds(done), count, links, health.result(), tuple(thinned))


def _check(transfer: Transfer, name: str, file: Path, digest: str) -> ReceiverResult:
    """Reads a received file again, and compares it with the sent file."""
    track, found = transfer.tracks[name], sha256(file) if file.is_file() else ""
    error = track.error
    if not error and not found:
        error = "no file was received"
    elif not error and found != digest:
        error = f"SHA-256 differs: {found[:16]}... instead of {digest[:16]}..."
    series = [(when - (transfer.started or 0), count) for when, count in track.points]
    thinned = series[:: -(len(series) // _MOST_SAMPLES + 1)][::-1]
    return ReceiverResult(name, transfer.seconds(name), track.repaired, error, tuple(thinned))


def prepare_part(file: Path, count: int) -> None:
    """Fills the part file that a receiver is going to overwrite.

    In a virtual machine the first use of a page of memory costs about six times a later one, because the host
    has to find it. Without this the receivers would pay for a gigabyte of them in the middle of the transfer.
    """
    block = bytes(1 << 20)
    part = file.with_name(file.name + ".part")
    if file.exists():  # of the run before
        file.replace(part)
        return
    with part.open("wb") as out:
        for start in range(0, count, len(block)):
            out.write(block[: count - start])


def sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
