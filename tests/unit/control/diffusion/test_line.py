"""The closed loop in virtual time: P4, traffic manager and packet generators of switches in a line."""

from __future__ import annotations

from fractions import Fraction

from tests.unit.control.diffusion.line import DOWN, MS, SIDE, Line

D = Fraction(1, 10)
BOTTLENECK = [1000, 1000, 1000, 500, 1000]  # packets/s of each switch's downstream port


def surge(now: int) -> int:
    """Twice the bottleneck for a second, then somewhat less than it."""
    return 1000 if now < 1000 * MS else 400


def test_without_control_all_wait_at_the_bottleneck_and_some_are_lost() -> None:
    line = Line(BOTTLENECK)
    line.run(1000 * MS, line.send(1, surge))
    assert line.waiting(0) == [0, 0, 0, 400, 0]
    assert line.lost() > 80


def test_with_control_packets_wait_all_along_and_none_is_lost() -> None:
    line = Line(BOTTLENECK)
    line.control(1, d=D, queue=1)
    source = line.send(1, surge)
    line.run(1000 * MS, source)
    *before, behind = line.waiting(1)
    assert behind == 0 and sum(before) > 450
    assert max(before) - min(before) < 25  # evenly
    line.run(2000 * MS, source)
    *before, _ = line.waiting(1)
    assert max(before) - min(before) < 10
    assert line.lost() == 0
    assert line.arrived[1] >= 985  # the bottleneck was never idle


def test_a_source_that_shapes_keeps_queues_short() -> None:
    """Eq. 9: an external node that sends at r_0 needs no buffer in the network and fills the bottleneck."""
    line = Line(BOTTLENECK)
    line.control(1, d=D, queue=1, external=True)
    source = line.send(1, lambda _now: min(1000, line.told[-1].r // 64) if line.told else 1000)
    line.run(2000 * MS, source)
    told = [feedback.r / 64 for feedback in line.told[-50:]]
    assert all(450 < rate < 520 for rate in told)
    assert sum(line.waiting(1)) < 150
    assert line.lost() == 0
    line.run(3000 * MS, source)
    assert line.arrived[1] > 1450


def test_two_flows_share_the_link_in_proportion_to_what_they_ask_for() -> None:
    """Eq. 13: both ask alike, so each gets half, and the link is full."""
    line = Line([1000] * 4, buffer=400)
    line.control(1, d=D, queue=1)
    line.control(2, d=D, queue=2)
    sources = [line.send(1, lambda _now: 700), line.send(2, lambda _now: 700, port=SIDE)]
    line.run(500 * MS, *sources)
    before = dict(line.arrived)
    line.run(900 * MS, *sources)
    shares = [line.arrived[flow] - before[flow] for flow in (1, 2)]
    assert 395 <= sum(shares) <= 402
    assert abs(shares[0] - shares[1]) <= 4


def swings(d: Fraction) -> list[int]:
    """Variation of each node's rate when the source alternates, a link delay each way."""
    line = Line([4000] * 6 + [2000], buffer=4000)
    line.control(1, d=d, queue=1)
    source = line.send(1, lambda now: 4000 if now < 300 * MS else 3000 if now // (5 * MS) % 2 else 1000)
    line.run(300 * MS, source)
    lows, highs = [10**9] * 6, [0] * 6
    for end in range(305, 500, 5):
        line.run(end * MS, source)
        rates = [switch.register("queue_rate", DOWN * 8 + 1) // 64 for switch in line.switches[:6]]
        lows, highs = list(map(min, lows, rates)), list(map(max, highs, rates))
    return [high - low for low, high in zip(lows, highs, strict=True)]


def test_oscillations_grow_along_the_line_only_beyond_the_stability_limit() -> None:
    calm, wild = swings(Fraction(1, 2)), swings(Fraction(3, 2))
    assert calm == sorted(calm, reverse=True)
    assert wild[3] > wild[0] > 2 * calm[0]
