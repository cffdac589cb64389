"""The stability limit, derived and in a simulated line of nodes."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from groupflow.control.diffusion.stability import growth, warning


@pytest.mark.parametrize("d", [0.01, 0.1, 0.5, 0.9, 0.999])
def test_below_1_every_disturbance_dies_out(d: float) -> None:
    assert growth(d) <= 1 + 1e-9


@pytest.mark.parametrize("d", [1.01, 1.2, 1.9, 2.5])
def test_beyond_1_the_worst_grows(d: float) -> None:
    assert growth(d) == pytest.approx(d, rel=1e-3)


@pytest.mark.parametrize(("d", "dies_out"), [(0.1, True), (0.333, True), (0.34, False), (0.9, False)])
def test_where_bounds_cut_rates_off_the_limit_is_a_third(d: float, dies_out: bool) -> None:
    assert (growth(d, 0.0) <= 1 + 1e-9) == dies_out


def test_alpha_above_1_lowers_the_limit() -> None:
    assert growth(0.9) <= 1 + 1e-9 < growth(0.9, 1.1)


def simulated(d: float, steps: int = 400, nodes: int = 40) -> float:
    """Ratio of a disturbance after some steps in a ring of nodes to its beginning.

    n[i] packets, j[i] packets sent in a delay; r and n reach the neighbour a delay later, packets too.
    """
    chance = random.Random(1)
    start = [chance.uniform(-1, 1) for _ in range(nodes)]
    mean = sum(start) / nodes
    n: list[float] = [value - mean for value in start]
    first = max(map(abs, n))
    r, told = [d * value for value in n], list(n)
    sent: list[float] = [0.0] * nodes
    for _ in range(steps):
        j: list[float] = [r[(i + 1) % nodes] - d * (told[(i + 1) % nodes] - n[i]) for i in range(nodes)]
        r, told = j, list(n)
        n = [n[i] + sent[i - 1] - j[i] for i in range(nodes)]
        sent = j
    return max(map(abs, n)) / first


@pytest.mark.parametrize(
    ("d", "stable"), [(0.1, True), (0.5, True), (0.95, True), (1.1, False), (1.5, False)]
)
def test_a_ring_of_nodes_agrees(d: float, stable: bool) -> None:
    assert (simulated(d) < 2) == stable


@pytest.mark.parametrize(
    ("d", "alpha", "text"),
    [
        ("1/10", "1", None),
        ("1/3", "1", None),
        ("0.4", "1", "D 0.4 is beyond 1/3: oscillations that reach the limits of rates may not die out"),
        ("1", "1", "D 1 is beyond 1/3"),
        ("1.2", "1", "D 1.2 is beyond the stability limit of 1: oscillations grow"),
        ("0", "1", "D 0 is no diffusion"),
        ("0.1", "1.01", None),
        ("0.9", "1.5", "D 0.9 with alpha 1.5 is unstable: oscillations grow by a factor of 1.251"),
    ],
)
def test_warnings_name_the_cure(d: str, alpha: str, text: str | None) -> None:
    told = warning(Fraction(d), Fraction(alpha))
    assert told is None if text is None else told is not None and told.startswith(text)
