"""The recommended cell, and the bounds of options."""

from __future__ import annotations

import pytest

from groupflow.probe import Cell, Probe, ProbeError, ProbeOptions, recommend
from groupflow.probe.model import cheapest

KIB = 1024


def cells(table: dict[tuple[int, int], float]) -> list[Cell]:
    return [Cell(buffer * KIB, connections, bps) for (buffer, connections), bps in table.items()]


@pytest.mark.parametrize(
    ("table", "within", "expected"),
    [
        # one is enough: the smallest buffer that fills the path, however many connections would do it, too
        ({(16, 1): 1, (64, 1): 4, (256, 1): 9.5, (1024, 1): 10, (16, 8): 8, (64, 8): 10}, 0.1, (256, 1)),
        ({(16, 1): 1, (64, 1): 4, (256, 1): 9.5, (1024, 1): 10, (16, 8): 8, (64, 8): 10}, 0.01, (1024, 1)),
        # losses bound each connection: no buffer helps, connections do; of these the fewest
        ({(64, 1): 2, (256, 1): 2, (64, 4): 8, (256, 4): 8, (64, 8): 9.9, (256, 8): 10}, 0.1, (64, 8)),
        ({(64, 1): 2, (256, 1): 2, (64, 4): 8, (256, 4): 8, (64, 8): 9.9, (256, 8): 10}, 0.2, (64, 4)),
        # too large a buffer, or too many connections, is worse
        ({(64, 1): 7, (256, 1): 6, (1024, 1): 4, (64, 16): 3}, 0.1, (64, 1)),
        # buffers are bounded below what one connection needs
        ({(16, 1): 1, (16, 2): 2, (16, 4): 4, (16, 8): 7.5, (16, 16): 8}, 0.1, (16, 8)),
        # nothing gets through at all
        ({(64, 1): 0, (16, 2): 0, (16, 1): 0}, 0.1, (16, 1)),
        ({(64, 3): 5}, 0.0, (64, 3)),
    ],
)
def test_fewest_connections_then_smallest_buffer(
    table: dict[tuple[int, int], float], within: float, expected: tuple[int, int]
) -> None:
    best = recommend(cells(table), within)
    assert (best.buffer, best.connections) == (expected[0] * KIB, expected[1])
    assert best == recommend(reversed(cells(table)), within), "the order does not matter"


def test_what_the_kernel_chose_is_not_recommended() -> None:
    slow = Cell(16 * KIB, 1, 1.0)
    assert recommend([Cell(None, 1, 10.0), slow]) == slow
    with pytest.raises(ValueError, match="no cell"):
        recommend([Cell(None, 1, 10.0)])


@pytest.mark.parametrize(
    ("table", "within", "expected"),
    [
        ({1: 9.5, 2: 10, 4: 9}, 0.1, 1),
        ({1: 2, 2: 4, 4: 8, 8: 9}, 0.2, 4),
        ({1: 2, 2: 4, 4: 8, 8: 9}, 0.0, 8),
        ({1: 0, 2: 0}, 0.2, 1),
    ],
)
def test_fewest_connections_where_buffers_are_the_kernels(
    table: dict[int, float], within: float, expected: int
) -> None:
    assert (
        cheapest([Cell(None, number, bps) for number, bps in table.items()], within).connections == expected
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"buffers": (100,)}, "a buffer of 100 bytes; choose 4096 to 67108864"),
        ({"buffers": (1 << 30,)}, "a buffer of 1073741824 bytes"),
        ({"connections": (0,)}, "0 connections; choose 1 to 64"),
        ({"connections": (65,)}, "65 connections"),
        ({"buffers": ()}, "nothing to measure"),
        ({"within": 1.0}, "within 1 of the best"),
        ({"seconds": 30.0}, "30 s for 27 measurements are 1.1 s each; choose 54 to 810 s"),
        ({"timeout": 0.0}, "a timeout of 0 s; choose above 0 to 30 s"),
        ({"seconds": 1e4}, "choose 54 to 810 s"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(ProbeError, match=said) as error:
        ProbeOptions(**options)  # pyright: ignore[reportArgumentType]
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("seconds", "warm_up", "measured"), [(2, 1, 1), (2.9, 1, 1), (4.2, 1, 3), (10, 4, 6), (30, 12, 18)]
)
def test_a_cell_is_whole_seconds(seconds: float, warm_up: int, measured: int) -> None:
    options = ProbeOptions(connections=(1,), seconds=seconds, adapted=True)
    assert (options.warm_up_s, options.measured_s) == (warm_up, measured)


def test_in_flight_is_rate_times_round_trip() -> None:
    kernel = Cell(None, 1, 1.0)
    assert Probe(65536, 1, 16e6, 0.05, (), kernel).in_flight == 100_000
