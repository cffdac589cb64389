"""Receivers' events become tracks, samples and lines."""

import io
import re

from rich.console import Console

from experiments.demo.progress import ProgressView, result_table, summary
from groupflow.agents.events import Event
from groupflow.lab.transfer import Track
from tests.unit.experiments.demo import canned


def progress(time: float, count: int, repaired: int = 0) -> Event:
    return Event("progress", time, {"bytes": count, "repaired_packets": repaired})


def complete(time: float, count: int) -> Event:
    return Event("complete", time, {"bytes": count, "repaired_packets": 3})


def test_a_track_follows_its_events() -> None:
    track = Track("mb1")
    for event in (Event("joined", 9.0, {}), progress(10.2, 50, 1), complete(10.5, 100)):
        track.take(event)
    assert (track.bytes, track.repaired) == (100, 3)
    assert track.complete is not None
    assert track.points == [(10.2, 50), (10.5, 100)]


def test_an_error_is_kept() -> None:
    track = Track("mb1")
    track.take(Event("error", 1.0, {"cause": "wrong token"}))
    assert track.error == "wrong token"


def test_one_line_tells_the_slowest_and_how_many_are_complete() -> None:
    fast, slow = Track("mb1"), Track("mc1")
    fast.take(complete(2.0, 2 << 20))
    slow.take(progress(2.0, 1 << 20, 7))
    assert summary([fast, slow], 2 << 20, 3.25) == (
        "  3.2 s  slowest mc1 50 % (1.0 MiB of 2.0 MiB), 1 of 2 complete, 10 packets repaired"
    )


def test_without_a_terminal_plain_lines_are_printed() -> None:
    out = io.StringIO()
    track = Track("mb1")
    with ProgressView(Console(file=out, width=200), [track], 100):
        track.take(complete(1.0, 100))
    (line,) = out.getvalue().splitlines()
    assert "slowest mb1 100 %" in line and "1 of 1 complete" in line


def test_a_terminal_gets_a_bar_for_each_receiver() -> None:
    out = io.StringIO()
    tracks = [Track("mb1"), Track("mc1")]
    console = Console(file=out, width=120, force_terminal=True, color_system=None)
    with ProgressView(console, tracks, 100) as view:
        tracks[0].take(complete(1.0, 100))
        view.refresh()
    assert "mb1" in out.getvalue() and "mc1" in out.getvalue() and "complete" in out.getvalue()


def test_the_table_has_as_many_repairs_as_the_last_line() -> None:
    (*_, run) = canned.report().runs
    tracks = [Track(each.name) for each in run.receivers]
    for track, each in zip(tracks, run.receivers, strict=True):
        track.take(progress(1.0, 100, each.repaired_packets))
    assert f"{run.repaired} packets repaired" in summary(tracks, 100, 1.0) and run.repaired != run.repairs


def test_the_table_has_a_row_for_each_transport_and_loss() -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(result_table(canned.report(1)))
    rows = [re.split(r"\s{2,}", line.strip()) for line in out.getvalue().splitlines()]
    assert rows[1:] == [
        ["file", "seconds", "copies", "lost", "refused", "repaired"],
        ["groupflow, no loss", "64.0 MiB", "6.20", "1.05", "1.05", "0", "0", "0"],
        ["TCP, no loss", "64.0 MiB", "24.30", "3.16", "2.10", "9876", "543", "-"],
        ["groupflow, 1 % loss", "64.0 MiB", "6.20", "1.05", "1.05", "14321", "0", "1230"],
        ["TCP, 1 % loss", "64.0 MiB", "24.30", "3.16", "2.10", "9876", "543", "-"],
    ]
