"""Section III.A: the buffer of each client."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupflow.control.gather.buffers import rate_of, share_buffers, window_for
from groupflow.control.gather.model import Client, Limits, Reading

MEGABIT = 10**6
HIGH, LOW = Client("high", MEGABIT, priority=1), Client("low", MEGABIT // 2)


def reading(rtt_ms: float | None) -> Reading:
    return Reading(0.0, None if rtt_ms is None else rtt_ms / 1000, None, 1)


def share(total: int, clients: list[Client], rtts_ms: list[float | None]) -> list[int]:
    readings = {client.name: reading(rtt) for client, rtt in zip(clients, rtts_ms, strict=True)}
    windows = share_buffers(clients, readings, Limits(total, segment=1000))
    return [windows[client.name] for client in clients]


def test_equation_1_and_equation_2_agree() -> None:
    assert window_for(MEGABIT, 0.1) == 12_500
    assert rate_of(window_for(MEGABIT, 0.1), 0.1) == MEGABIT


@pytest.mark.parametrize(
    ("total", "clients", "rtts_ms", "windows"),
    [
        pytest.param(28_125, [HIGH, LOW], [100, 100], [18_750, 9_375], id="the surplus, by target ratio"),
        pytest.param(25_000, [HIGH, LOW], [100, 200], [12_500, 12_500], id="what eq. 1 says, exactly"),
        pytest.param(25_000, [HIGH, LOW], [None, 200], [12_500, 12_500], id="RTT_std for who is not known"),
        pytest.param(
            15_000,
            [HIGH, LOW],
            [100, 100],
            [8_750, 6_250],
            id="the minimum for both, the rest to the high one",
        ),
        pytest.param(12_500, [HIGH, LOW], [100, 100], [6_250, 6_250], id="the minimum for both, exactly"),
        pytest.param(9_000, [HIGH, LOW], [100, 100], [6_000, 3_000], id="not even that: by target ratio"),
        pytest.param(
            16_000,
            [HIGH, Client("low", MEGABIT // 2, minimum=MEGABIT // 10)],
            [100, 100],
            [12_500, 3_500],
            id="a minimum of its own: the high one whole, the rest to the low one",
        ),
        pytest.param(
            20_000,
            [HIGH, Client("other", MEGABIT, priority=1), LOW],
            [100, 100, 50],
            [8_437, 8_437, 3_125],
            id="equals share what there is, the low one has its minimum",
        ),
        pytest.param(
            100_000, [HIGH, Client("tiny", 1_000)], [100, 100], [98_913, 1_086], id="a segment for everyone"
        ),
        pytest.param(600, [HIGH, LOW], [100, 100], [300, 300], id="less than a segment each"),
    ],
)
def test_shares(total: int, clients: list[Client], rtts_ms: list[float | None], windows: list[int]) -> None:
    found = share(total, clients, rtts_ms)
    assert sum(found) <= total
    assert found == pytest.approx(windows, abs=1.5)


def test_the_papers_buffer_gives_the_rates_of_table_2() -> None:
    """100 KB, three at 1.0 and three at 0.5 Mb/s: 1.67 and 0.83 Mb/s, at 106 ms."""
    clients = [Client(f"c{n}", MEGABIT // (1 if n < 3 else 2), priority=n < 3) for n in range(6)]
    windows = share(100_000, clients, [106.4] * 6)
    assert rate_of(windows[0], 0.1064) / MEGABIT == pytest.approx(1.67, abs=0.01)
    assert rate_of(windows[5], 0.1064) / MEGABIT == pytest.approx(0.83, abs=0.01)


@st.composite
def many(draw: st.DrawFn) -> list[tuple[Client, float]]:
    size = draw(st.integers(1, 12))
    found: list[tuple[Client, float]] = []
    for number in range(size):
        target = draw(st.integers(1_000, 10**8))
        client = Client(
            f"c{number}", target, draw(st.integers(0, 3)), draw(st.none() | st.integers(1, target))
        )
        found.append((client, draw(st.floats(0.1, 1_000))))
    return found


@pytest.mark.slow
@given(many(), st.integers(12_000, 10**7))
def test_never_more_than_there_is_and_a_segment_for_everyone(
    those: list[tuple[Client, float]], total: int
) -> None:
    windows = share(total, [client for client, _ in those], [rtt for _, rtt in those])
    assert sum(windows) <= total
    assert min(windows) >= 1000
    assert sum(windows) >= total - 2 * len(windows), "and all of it is used"


@pytest.mark.slow
@given(many(), st.integers(12_000, 10**7))
def test_a_high_priority_is_never_below_a_low_one_that_wants_the_same(
    those: list[tuple[Client, float]], total: int
) -> None:
    """In throughput that the buffers allow, at equal target, minimum and round trip."""
    first, rtt = those[0]
    twins = [
        Client("twin-high", first.target, first.priority + 1, first.minimum),
        Client("twin-low", first.target, first.priority, first.minimum),
    ]
    clients = [*twins, *(client for client, _ in those[1:])]
    windows = share(total, clients, [rtt, rtt, *(rtt for _, rtt in those[1:])])
    assert windows[0] >= windows[1] - 1


@pytest.mark.slow
@given(many())
def test_where_there_is_enough_everyone_can_have_the_target(those: list[tuple[Client, float]]) -> None:
    needed = sum(window_for(client.target, rtt / 1000) for client, rtt in those)
    windows = share(int(needed) + 2_000 * len(those), [c for c, _ in those], [rtt for _, rtt in those])
    for (client, rtt), window in zip(those, windows, strict=True):
        assert window >= window_for(client.target, rtt / 1000) * 0.999 - 1 or window == 1000
