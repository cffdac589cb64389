"""The transfer in the terminal: a bar for each receiver, or a line a second where there is no terminal."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Table

from experiments.demo import svg
from experiments.demo.results import Report, Sample
from groupflow.endpoint.events import Event

_LINE_SECONDS = 1.0


class Track:
    """One receiver's progress through the file, from its events."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.bytes = 0
        self.repaired = 0
        self.error = ""
        self.complete: Event | None = None
        self._points: list[tuple[float, int]] = []

    def take(self, event: Event) -> None:
        match event.name:
            case "progress":
                self.bytes = event.integer("bytes")
                self.repaired = event.integer("repaired_packets")
                self._points.append((event.time, self.bytes))
            case "complete":
                self.complete = event
                self.bytes = event.integer("bytes")
                self.repaired = event.integer("repaired_packets")
                self._points.append((event.time, self.bytes))
            case "error":
                self.error = event.text("cause")
            case _:
                pass

    def series(self, started: float, most: int = 300) -> tuple[Sample, ...]:
        """Bytes over seconds since `started` (Unix time); at most about `most` samples, the last included."""
        points = [Sample(when - started, count) for when, count in self._points if when >= started]
        step = len(points) // most + 1
        return tuple(points[::-step][::-1])


class ProgressView:
    """Shows all tracks until the transfer ends."""

    def __init__(self, console: Console, tracks: Sequence[Track], file_bytes: int) -> None:
        self._console = console
        self._tracks = tracks
        self._file_bytes = file_bytes
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._began = self._last_line = time.monotonic()
        if console.is_terminal:
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=40),
                DownloadColumn(binary_units=True),
                TransferSpeedColumn(),
                TextColumn("{task.fields[note]}"),
                console=console,
            )

    def __enter__(self) -> Self:
        if self._bars is not None:
            for track in self._tracks:
                self._tasks[track.name] = self._bars.add_task(track.name, total=self._file_bytes, note="")
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refresh(last=True)
        if self._bars is not None:
            self._bars.stop()

    def refresh(self, *, last: bool = False) -> None:
        if self._bars is not None:
            for track in self._tracks:
                self._bars.update(self._tasks[track.name], completed=track.bytes, note=_note(track))
            return
        now = time.monotonic()
        if last or now - self._last_line >= _LINE_SECONDS:
            self._last_line = now
            self._console.print(
                summary(self._tracks, self._file_bytes, now - self._began), markup=False, soft_wrap=True
            )


def summary(tracks: Sequence[Track], file_bytes: int, seconds: float) -> str:
    """The progress of all receivers in one line."""
    slowest = min(tracks, key=lambda track: track.bytes)
    complete = sum(track.complete is not None for track in tracks)
    repaired = sum(track.repaired for track in tracks)
    return (
        f"{seconds:5.1f} s  slowest {slowest.name} {100 * slowest.bytes / file_bytes:.0f} % "
        f"({svg.size(slowest.bytes)} of {svg.size(file_bytes)}), {complete} of {len(tracks)} complete, "
        f"{repaired} packets repaired"
    )


def print_tables(console: Console, report: Report) -> None:
    """Prints the result in the terminal."""
    receivers = Table("receiver", "SHA-256", title="Receivers", title_justify="left")
    for name in ("seconds", "goodput", "repaired packets"):
        receivers.add_column(name, justify="right")
    for receiver in report.receivers:
        receivers.add_row(
            receiver.name,
            "[green]equal[/]" if receiver.ok else "[bold red]FAILED[/]",
            "-" if receiver.seconds is None else f"{receiver.seconds:.2f}",
            svg.rate(receiver.goodput_bps),
            str(receiver.repaired_packets),
        )
    console.print(receivers)
    tcp = {(u.source, u.target): u for u in report.baseline.links} if report.baseline else {}
    links = Table("link", title="Links: copies of the file", title_justify="left")
    for name in ("groupflow", "TCP"):
        links.add_column(name, justify="right")
    for use in report.links:
        if use.copies >= 0.5:
            other = tcp.get((use.source, use.target))
            links.add_row(
                f"{use.source} -> {use.target}",
                svg.times(use.copies),
                svg.times(other.copies) if other else "-",
            )
    console.print(links)
    agents = Table("cache agent", title="Cache agents", title_justify="left")
    for name in ("cache peak", "repairs", "requests"):
        agents.add_column(name, justify="right")
    for agent in report.agents:
        agents.add_row(agent.name, svg.size(agent.cache_peak_bytes), str(agent.repairs), str(agent.requests))
    console.print(agents)


def _note(track: Track) -> str:
    if track.error:
        return f"[red]{track.error}[/]"
    if track.complete is not None:
        return f"[green]complete[/], {track.repaired} repaired"
    return f"{track.repaired} repaired" if track.repaired else ""
