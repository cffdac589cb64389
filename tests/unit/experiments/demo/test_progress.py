"""Receivers' events become tracks, samples and lines."""

import io

import pytest
from rich.console import Console

from experiments.demo import svg
from experiments.demo.progress import ProgressView, Track, print_tables, summary
from experiments.demo.results import Sample
from groupflow.endpoint.events import Event
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
    seconds, counts = zip(*((s.seconds, s.bytes) for s in track.series(10.0)), strict=True)
    assert seconds == pytest.approx((0.2, 0.5))
    assert counts == (50, 100)


def test_an_error_is_kept() -> None:
    track = Track("mb1")
    track.take(Event("error", 1.0, {"cause": "wrong token"}))
    assert track.error == "wrong token"


@pytest.mark.parametrize("events", [1, 299, 300, 301, 5000])
def test_long_series_are_thinned_and_keep_their_end(events: int) -> None:
    track = Track("mb1")
    for i in range(events):
        track.take(progress(float(i), i))
    series = track.series(0.0, most=300)
    assert len(series) <= 301
    assert series[-1] == Sample(float(events - 1), events - 1)
    assert list(series) == sorted(series, key=lambda sample: sample.seconds)


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


def test_the_tables_name_receivers_busy_links_and_agents() -> None:
    out = io.StringIO()
    print_tables(Console(file=out, width=120), canned.report(1))
    text = out.getvalue()
    assert "ma1 -> s1" in text and "1.05×" in text
    assert "s1 -> ma1" not in text  # acknowledgements: no copy of the file
    assert all(name in text for name in ("mb1", "mc1", "md1", "sa1", "sa2"))


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (2048, "2.0 KiB"), (67108864, "64.0 MiB"), (5 << 30, "5.00 GiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert svg.size(count) == text


@pytest.mark.parametrize(
    ("top", "values"),
    [
        (0, [0]),
        (1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (66, [0, 20, 40, 60]),
        (6.2, [0, 2, 4, 6]),
        (100, [0, 20, 40, 60, 80, 100]),
    ],
)
def test_axes_have_round_values(top: float, values: list[float]) -> None:
    assert svg.ticks(top) == pytest.approx(values)
