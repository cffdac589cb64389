"""The P4's integers against the equations of Takano et al. in exact rationals, and where they saturate.

One switch serves all examples: entries and registers are overwritten for each.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from groupflow.control.diffusion.coefficients import (
    Coefficient,
    Term,
    alpha_coefficient,
    clamp_limit,
    diffusion_coefficient,
)
from groupflow.switch import Switch
from tests.support.p4.diffusion import (
    DOWNSTREAM,
    NO_LIMIT,
    RATE_MAX,
    external_entry,
    feedback,
    rate,
    report,
    set_depth,
    set_share,
    source_entry,
    tick_entry,
)
from tests.support.p4.network import new_switch

HOST = 4
"""A port behind which is a host that shapes; here also the branch whose ticks report to it."""
RATE_MIN = -(2**31)
DEPTH_MAX = 2**30 - 1
UNIT = Fraction(1, 64)  # packets/s

ALPHA_1, ALPHA_2 = alpha_coefficient(Fraction(1)), alpha_coefficient(Fraction(2))
PAPER = diffusion_coefficient(Fraction(1, 10), 100_000)  # D = 0.1, d = 0.1 ms: 1000/s
STEEP = diffusion_coefficient(Fraction(4), 1000)

rates = st.integers(0, RATE_MAX) | st.integers(0, 2**20)
signed_rates = st.integers(RATE_MIN, RATE_MAX) | rates
depths = st.integers(0, 2**32 - 1) | st.integers(0, 2000)
shares = st.integers(0, NO_LIMIT) | st.integers(0, 2**20)
alphas = st.fractions(1, 2, max_denominator=2**14).map(alpha_coefficient)
d_values = st.fractions(Fraction(1, 1000), 4, max_denominator=10**6)
delays = st.integers(1000, 10**9)  # 1 us to 1 s


@st.composite
def diffusions(draw: st.DrawFn) -> Coefficient:
    """D_i of a link, from D and its delay."""
    d, delay = draw(d_values), draw(delays)
    assume(Fraction(1, 64) <= d * 10**9 / delay < 2**23)
    return diffusion_coefficient(d, delay)


@cache
def node() -> Switch:
    switch = new_switch()
    switch.write(
        [+source_entry(), +tick_entry(), +tick_entry(branch=HOST, to_port=HOST), +external_entry(port=HOST)]
    )
    return switch


def prepare(alpha: Coefficient, d: Coefficient, n: int, share: int = NO_LIMIT) -> Switch:
    """The node with these coefficients on the links on both sides, and n packets of the flow in it."""
    switch = node()
    limit = clamp_limit(d)
    switch.write(
        [
            ~source_entry(alpha=alpha.codes, d=d.codes, limit=limit),
            ~tick_entry(d=d.codes, limit=limit),
            ~tick_entry(branch=HOST, d=d.codes, limit=limit, to_port=HOST),
            ~external_entry(port=HOST, alpha=alpha.codes, d=d.codes, limit=limit),
        ]
    )
    set_depth(switch, n)
    set_share(switch, share)
    return switch


def rounding(alpha: Coefficient) -> tuple[int, int]:
    """Bounds of alpha r below and above the exact value, in units: less than 1 for each halving term."""
    halving = [term for term in alpha.terms if term.exponent < 0]
    return sum(not term.negative for term in halving), sum(term.negative for term in halving)


def near(got: int, exact: Fraction | int, alpha: Coefficient) -> bool:
    below, above = rounding(alpha)
    return -below <= got - exact <= above


def difference(ahead: int, here: int) -> int:
    return min(ahead, DEPTH_MAX) - min(here, DEPTH_MAX)


def clip(value: Fraction | int, low: int, high: Fraction | int) -> Fraction | int:
    return min(max(value, low), high)


# --- where nothing saturates: the equations, exactly ---


@pytest.mark.slow
@settings(max_examples=400)
@given(alphas, diffusions(), st.integers(0, RATE_MAX // 2), depths, depths)
@example(
    alpha_coefficient(Fraction(1)), diffusion_coefficient(Fraction(1, 10), 100_000), 656_000_000, 1800, 0
)
@example(
    alpha_coefficient(Fraction(1)), diffusion_coefficient(Fraction(1, 10), 100_000), 656_000_000, 0, 1800
)
def test_the_rate_is_equation_2(alpha: Coefficient, d: Coefficient, r: int, ahead: int, here: int) -> None:
    """J~ = alpha r - D_i (n_i+1 - n_i) and J = max(0, J~), for every difference within the limit."""
    delta = difference(ahead, here)
    assume(abs(delta) <= clamp_limit(d))
    exact = alpha.value * (r * UNIT) - d.value * delta
    switch = prepare(alpha, d, here)
    switch.run(DOWNSTREAM, feedback(r=r, n=ahead))
    got = rate(switch)
    assert near(got, clip(exact / UNIT, 0, RATE_MAX), alpha)
    if rounding(alpha) == (0, 0):
        assert got == clip(exact / UNIT, 0, RATE_MAX)


@pytest.mark.slow
@settings(max_examples=400)
@given(diffusions(), rates, depths, depths, shares)
def test_the_report_is_equations_1_4_and_5(d: Coefficient, r: int, ahead: int, here: int, share: int) -> None:
    """r_i-1 = J_i(1) = max(0, min(L, r - D_i (n_i+1 - n_i))), without any rounding; beside it n_i."""
    delta = difference(ahead, here)
    assume(abs(delta) <= clamp_limit(d))
    exact = r * UNIT - d.value * delta
    switch = prepare(alpha_coefficient(Fraction(2)), d, here, share)
    switch.run(DOWNSTREAM, feedback(r=r, n=ahead))
    told = report(switch)
    assert told.r == clip(exact / UNIT, 0, min(share, RATE_MAX))
    assert told.n == min(here, DEPTH_MAX)


@pytest.mark.slow
@settings(max_examples=400)
@given(alphas, diffusions(), st.integers(0, RATE_MAX // 2), depths, depths, shares)
def test_the_boundary_is_equation_9(
    alpha: Coefficient, d: Coefficient, r: int, ahead: int, here: int, share: int
) -> None:
    """r_0 = alpha J_1(1) - D_0 n_1."""
    n = min(here, DEPTH_MAX)
    delta = difference(ahead, here)
    assume(abs(delta) <= clamp_limit(d) and n <= clamp_limit(d))
    switch = prepare(alpha, d, here, min(share, RATE_MAX // 2))
    switch.run(DOWNSTREAM, feedback(r=r, n=ahead))
    j_1 = clip(r * UNIT - d.value * delta, 0, min(share, RATE_MAX // 2) * UNIT)
    exact = alpha.value * j_1 - d.value * n
    assert near(report(switch, branch=HOST, to_port=HOST).r, clip(exact / UNIT, RATE_MIN, RATE_MAX), alpha)


# --- everywhere: the same arithmetic, written as its comments say ---


def saturated(value: int) -> int:
    return min(max(value, RATE_MIN), RATE_MAX)


def alpha_times(alpha: tuple[Term, ...], r: int) -> int:
    total = 0
    for term in alpha:
        product = saturated(r << term.exponent) if term.exponent >= 0 else r >> -term.exponent
        total = saturated(total - product if term.negative else total + product)
    return total


def d_times(d: Coefficient, ahead: int) -> int:
    limit = clamp_limit(d)
    ahead, total = min(max(ahead, -limit), limit), 0
    for term in d.terms:
        product = ahead << (term.exponent + 6)
        total = total - product if term.negative else total + product
        assert max(abs(product), abs(total)) <= RATE_MAX  # what the limit is for
    return total


@pytest.mark.slow
@settings(max_examples=600)
@given(alphas, diffusions(), signed_rates, depths, depths, shares)
@example(ALPHA_2, STEEP, RATE_MIN, 0, 2**32 - 1, 0)
@example(ALPHA_2, STEEP, RATE_MAX, 2**32 - 1, 0, 0)
@example(ALPHA_2, STEEP, RATE_MIN, 2**32 - 1, 0, 0)
def test_the_whole_range_saturates_as_documented(
    alpha: Coefficient, d: Coefficient, r: int, ahead: int, here: int, share: int
) -> None:
    switch = prepare(alpha, d, here, share)
    switch.run(DOWNSTREAM, feedback(r=r, n=ahead))
    diffusion = d_times(d, difference(ahead, here))
    assert rate(switch) == max(0, saturated(alpha_times(alpha.terms, r) - diffusion))
    j_1 = max(0, min(share, RATE_MAX, saturated(r - diffusion)))
    assert report(switch).r == j_1
    n = min(here, DEPTH_MAX)
    boundary = saturated(alpha_times(alpha.terms, j_1) + d_times(d, -n))
    assert report(switch, branch=HOST, to_port=HOST).r == boundary


@pytest.mark.parametrize(
    ("alpha", "r", "ahead", "here", "expected"),
    [
        (ALPHA_1, RATE_MAX, 0, 1, RATE_MAX),  # a sum above 33.5 million packets/s stays there
        (ALPHA_1, RATE_MAX, 0, 0, RATE_MAX),
        (ALPHA_1, RATE_MAX - 64_000, 0, 1, RATE_MAX),  # the last that does not saturate
        (ALPHA_2, 2**30, 0, 0, RATE_MAX),
        (ALPHA_2, 2**30 - 1, 0, 0, 2**31 - 2),
        (ALPHA_1, 0, 1, 0, 0),  # below 0 is 0
        (ALPHA_1, 64_000, 1, 0, 0),
        (ALPHA_1, 64_001, 1, 0, 1),
        (ALPHA_1, 64_000 * 40_000 % 2**31, 2**32 - 1, 2**32 - 1, 64_000 * 40_000 % 2**31),  # n is clamped
        (ALPHA_1, 0, 0, 32_767, 64_000 * 32_767),  # the limit of a D of 1000/s
        (ALPHA_1, 0, 0, 32_768, 64_000 * 32_767),  # beyond it nothing more
        (ALPHA_1, 0, 0, 2**32 - 1, 64_000 * 32_767),
    ],
)
def test_where_it_saturates(alpha: Coefficient, r: int, ahead: int, here: int, expected: int) -> None:
    assert (PAPER.value, clamp_limit(PAPER)) == (1000, 32_767)
    switch = prepare(alpha, PAPER, here)
    switch.run(DOWNSTREAM, feedback(r=r, n=ahead))
    assert rate(switch) == expected
