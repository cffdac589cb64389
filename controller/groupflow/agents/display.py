"""Progress of one transfer: a bar in a terminal, plain lines elsewhere, or the JSON events."""

import sys
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

from groupflow import units
from groupflow.agents.events import Event


class Display:
    """Shows the events of a sender or a receiver. All but JSON goes to stderr: stdout may be the data."""

    def __init__(
        self, label: str, *, json_lines: bool, events_to_stderr: bool = False, quiet: bool = False
    ) -> None:
        self._label = label
        self._json = sys.stderr if events_to_stderr else sys.stdout
        self._json_lines = json_lines
        self._quiet = quiet
        self._console = Console(stderr=True, highlight=False)
        self._bar: Progress | None = None
        self._task = TaskID(0)
        if not json_lines and not quiet and self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                DownloadColumn(binary_units=True),
                TransferSpeedColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"),
                console=self._console,
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._task = self._bar.add_task(self._label, total=None, note="joining")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, event: Event) -> None:
        if self._json_lines:
            print(event.json(), file=self._json, flush=True)
        elif event.name != "progress":
            if (line := describe(event)) is not None:
                self.say(line)
        elif self._bar is not None:
            total = event.fields.get("total_bytes")
            known = total if isinstance(total, int) else None
            self._bar.update(self._task, completed=event.integer("bytes"), total=known, note="")

    def say(self, line: str) -> None:
        """Prints a line beside the bar, or without a bar a line of its own."""
        if self._bar is not None:
            self._bar.update(self._task, note=line)
        elif not self._quiet:
            self._console.print(f"{self._label}: {line}", markup=False)


def describe(event: Event) -> str | None:
    """One line for a person; None for events that are not worth a line."""
    match event.name:
        case "joined" if event.fields.get("rejoined"):
            return "joined again"
        case "joined" if event.fields.get("role") == "member":
            return f"joined as member {event.integer('member')}, {event.integer('receivers')} in all"
        case "joined" if "host" in event.fields:
            return f"in the tree as host {event.text('host')}"
        case "joined":
            return f"joined as member {event.integer('member')}, {event.text('mode')} {event.text('policy')}"
        case "started":
            return "started"
        case "notice":
            return f"{event.text('what').replace('_', ' ')}: {event.fields.get('text', '')}"
        case "skipped":
            return f"goes on at byte {event.integer('to')}: earlier bytes came too late"
        case "stalled":
            return f"nothing acknowledged for {event.number('seconds'):.1f} s, still trying"
        case "controller_silent":
            return f"controller silent for {event.number('seconds'):.1f} s"
        case "controller_back":
            return "controller answers again"
        case "complete":
            took, rate = event.measured("seconds"), event.measured("goodput_bps")
            speed = "" if took is None else f" in {units.show_seconds(took)}"
            speed += "" if rate is None else f" ({units.show_rate(rate)})"
            lost = event.texts("lost")
            note = f", lost: {', '.join(lost)}" if lost else ""
            return f"complete, {event.integer('bytes')} bytes{speed}{note}"
        case _:
            return None
