"""The transfer in the terminal: a bar for each receiver, or a line a second where there is no terminal."""

import time
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from experiments.demo.options import SENDER
from experiments.demo.results import Report
from groupflow.lab.transfer import Track
from groupflow.units import format_size

_LINE_SECONDS = 1.0


class ProgressView:
    """Shows all tracks until the transfer ends."""

    def __init__(self, console: Console, tracks: Sequence[Track], file_bytes: int) -> None:
        self._console = console
        self._tracks = tracks
        self._file_bytes = file_bytes
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=40),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks = [self._bars.add_task(track.name, total=file_bytes, note="") for track in tracks]
        self._began = self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.refresh(last=True)
        self._bars.stop()

    def refresh(self, *, last: bool = False) -> None:
        for task, track in zip(self._tasks, self._tracks, strict=True):
            self._bars.update(task, completed=track.bytes, note=_note(track))
        if self._console.is_terminal:
            return
        now = time.monotonic()
        if last or now - self._last_line >= _LINE_SECONDS:
            self._last_line = now
            line = summary(self._tracks, self._file_bytes, now - self._began)
            self._console.print(line, markup=False, soft_wrap=True)


def summary(tracks: Sequence[Track], file_bytes: int, seconds: float) -> str:
    """The progress of all receivers in one line."""
    slowest = min(tracks, key=lambda track: track.bytes)
    complete = sum(track.complete is not None for track in tracks)
    repaired = sum(track.repaired for track in tracks)
    return (
        f"{seconds:5.1f} s  slowest {slowest.name} {100 * slowest.bytes / file_bytes:.0f} % "
        f"({format_size(slowest.bytes)} of {format_size(file_bytes)}), {complete} of {len(tracks)} complete, "
        f"{repaired} packets repaired"
    )


def result_table(report: Report) -> Table:
    title = "copies of the file on two links; packets lost, refused by queues, repaired"
    # 80 columns have room for it, without lines.
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    for name in ("file", "seconds", "copies", "", "lost", "refused", "repaired"):
        table.add_column(name, justify="right", no_wrap=True)
    for run in report.runs:
        for name, each in run.measured:
            seconds = "-" if each.seconds is None else f"{each.seconds:.2f}"
            copies = (f"{each.copies(*pair):.2f}" for pair in ((SENDER, "s1"), ("s1", "s2")))
            repaired = str(run.repaired) if name == "groupflow" else "-"
            drops = map(str, each.drops or ("-", "-"))
            table.add_row(
                f"{name}, {run.name}", format_size(each.file_bytes), seconds, *copies, *drops, repaired
            )
    return table


def _note(track: Track) -> str:
    if track.error:
        return f"[red]{track.error}[/]"
    if track.complete is not None:
        return f"[green]complete[/], {track.repaired} repaired"
    return f"{track.repaired} repaired" if track.repaired else ""
