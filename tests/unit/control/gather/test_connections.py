"""Section III.B: steps (I) to (VI)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupflow.control.gather.connections import Search, is_due, tune_connections
from groupflow.control.gather.model import Reading

TARGET = 10**6
MOST = 16


def reading(rate: float, connections: int, *, rtt_ms: float = 100, window: int | None = 100_000) -> Reading:
    return Reading(rate * TARGET, rtt_ms / 1000, window, connections)


@pytest.mark.parametrize(
    ("measured", "due"),
    [
        pytest.param(reading(1.0, 1), False, id="at the target"),
        pytest.param(reading(0.9, 1), True, id="below the target and below what the buffer allows"),
        pytest.param(reading(0.9, 1, window=11_250), False, id="the buffer allows no more"),
        pytest.param(reading(0.85, 1, window=11_250), True, id="below 0.95 of what the buffer allows"),
        pytest.param(reading(0.9, 1, window=None), True, id="the kernel's buffer bounds nothing"),
    ],
)
def test_when_it_begins(measured: Reading, due: bool) -> None:
    assert is_due(TARGET, measured) is due
    assert (tune_connections(None, TARGET, measured, MOST).search is not None) is due


def test_it_begins_with_half_the_connections_and_adds_alpha() -> None:
    tuned = tune_connections(None, TARGET, reading(0.4, 8), MOST)
    # alpha = [1 / 0.4 * 100/100] = 2; N_b/N_n = 8/4 does not count, beta = 0.4.
    assert tuned.connections == 4 + 2
    assert tuned.search == Search(2, 0.4, 8, 400_000.0)


def test_a_long_round_trip_adds_more() -> None:
    tuned = tune_connections(None, TARGET, reading(0.5, 1, rtt_ms=300), MOST)
    assert tuned.search is not None
    assert (tuned.search.alpha, tuned.connections) == (6, 7)


def test_at_the_target_it_ends_and_keeps_them() -> None:
    under_way = Search(1, 0.5, 3, 0.5 * TARGET)
    tuned = tune_connections(under_way, TARGET, reading(1.0, 4), MOST)
    assert (tuned.connections, tuned.search) == (4, None)


def test_past_the_best_number_with_alpha_1_it_ends_with_the_one_before() -> None:
    under_way = Search(1, 0.5, 3, 0.8 * TARGET)
    tuned = tune_connections(under_way, TARGET, reading(0.7, 4), MOST)
    assert (tuned.connections, tuned.search) == (3, None)


def test_as_long_as_throughput_rises_connections_are_added() -> None:
    under_way = Search(3, 0.5, 2, 0.3 * TARGET)
    tuned = tune_connections(under_way, TARGET, reading(0.6, 5), MOST)
    # alpha = [1 / 0.6] = 1, beta = max(2/5, 0.6)
    assert tuned.connections == 5 + 1
    assert tuned.search == Search(1, 0.6, 5, 0.6 * TARGET)


def test_when_it_falls_they_are_multiplied_by_beta() -> None:
    under_way = Search(3, 0.5, 5, 0.3 * TARGET)
    tuned = tune_connections(under_way, TARGET, reading(0.25, 8), MOST)
    # (V) 8 * 0.5 = 4, (VI) alpha = [1 / 0.25] = 4; N_b/N_n = 5/4 does not count: beta = 0.25, (III) + 4
    assert tuned.connections == 4 + 4
    assert tuned.search == Search(4, 0.25, 8, 0.25 * TARGET, rising=False)


def test_after_a_fall_alpha_1_does_not_end_it() -> None:
    under_way = Search(1, 0.8, 5, 0.9 * TARGET, rising=False)
    assert tune_connections(under_way, TARGET, reading(0.8, 5), MOST).search is not None


@given(
    st.none() | st.builds(
        Search,
        st.integers(1, 100),
        st.floats(0.0, 0.999),
        st.integers(1, MOST),
        st.floats(0, 1e9),
        st.booleans(),
    ),
    st.floats(0, 1e7),
    st.none() | st.floats(0.0001, 10),
    st.integers(0, 100),
    st.integers(1, MOST),
)  # fmt: skip
def test_connections_are_bounded_and_beta_is_a_fraction(
    search: Search | None, rate: float, rtt: float | None, connections: int, most: int
) -> None:
    tuned = tune_connections(search, TARGET, Reading(rate, rtt, 10_000, connections), most)
    assert 1 <= tuned.connections <= most
    if tuned.search is not None:
        assert tuned.search.alpha >= 1
        assert 0 <= tuned.search.beta < 1


def test_a_link_that_needs_six_connections_gets_them() -> None:
    """Each connection gets 0.18 of the target; the buffer is no bound."""
    search, connections = None, 1
    for _ in range(20):
        tuned = tune_connections(search, TARGET, reading(min(1.2, 0.18 * connections), connections), MOST)
        search, connections = tuned.search, tuned.connections
    assert search is None
    assert 6 <= connections <= 8
