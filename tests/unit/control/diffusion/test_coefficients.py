"""Coefficients as three signed powers of two: errors, limits, and refusals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groupflow.control.diffusion.coefficients import (
    RATE_MAX,
    Coefficient,
    Term,
    alpha_coefficient,
    clamp_limit,
    diffusion_coefficient,
    line_rate,
)
from groupflow.errors import InvalidError
from groupflow.units import parse_number


def test_the_papers_link_is_exact() -> None:
    """D = 0.1 and 0.1 ms: 1000/s = 1024 - 16 - 8."""
    d = diffusion_coefficient(Fraction(1, 10), 100_000)
    assert d.terms == (Term(10), Term(4, negative=True), Term(3, negative=True))
    assert d.codes == (0x0A, 0x84, 0x83)
    assert d.relative_error == 0
    assert clamp_limit(d) == 32_767


@pytest.mark.slow
@given(st.fractions(Fraction(5, 16), 2**22, max_denominator=10**6))
@example(Fraction(5, 16))
def test_three_terms_come_within_a_fortieth(wanted: Fraction) -> None:
    """From 5/16 per second on: below, half of the smallest power, 1/64, is more than that."""
    assert abs(diffusion_coefficient(wanted, 10**9).relative_error) <= Fraction(1, 40)


@pytest.mark.slow
@given(st.fractions(1, 2, max_denominator=10**6))
def test_alpha_comes_within_a_fortieth(wanted: Fraction) -> None:
    assert abs(alpha_coefficient(wanted).relative_error) <= Fraction(1, 40)


@given(st.fractions(Fraction(1, 64), 2**22, max_denominator=10**6))
def test_within_the_limit_no_sum_overflows(wanted: Fraction) -> None:
    d = diffusion_coefficient(wanted, 10**9)
    limit = clamp_limit(d)
    sums = [Coefficient(wanted, d.terms[:count]).value for count in (1, 2, 3)]
    largest = max(abs(part) for part in sums) * 64
    assert limit * largest <= RATE_MAX < (limit + 1) * largest or limit == RATE_MAX


@pytest.mark.parametrize(
    ("exponent", "negative", "code"), [(0, False, 0), (3, True, 0x83), (-2, False, 0x7E)]
)
def test_a_terms_bits(exponent: int, negative: bool, code: int) -> None:
    assert Term(exponent, negative).code == code


def test_no_diffusion_is_no_term() -> None:
    d = diffusion_coefficient(Fraction(0), 0)
    assert (d.codes, d.relative_error, clamp_limit(d)) == ((0x40, 0x40, 0x40), 0, RATE_MAX)


@pytest.mark.parametrize(
    ("d", "delay", "message"),
    [
        ("-0.1", 1000, "D -0.1 is negative; give a number from 0 to 1"),
        ("0.1", 0, "the link's delay is 0, so D / d has no value; measure it, or give the link a delay"),
        ("1", 1, "D / d is 1e+09 per second, above the largest there is; give a smaller D"),
        ("0.001", 10**9, "D / d is 0.001 per second, below the smallest there is, 1/64; give a larger D"),
    ],
)
def test_what_cannot_be_had_is_told(d: str, delay: int, message: str) -> None:
    with pytest.raises(InvalidError, match="^" + message.replace("+", r"\+")):
        diffusion_coefficient(parse_number(d, "D"), delay)


@pytest.mark.parametrize("alpha", ["0.99", "2.01", "-1"])
def test_an_odd_alpha_is_refused(alpha: str) -> None:
    with pytest.raises(InvalidError, match="is out of range; give a number from 1 to 2"):
        alpha_coefficient(parse_number(alpha, "alpha"))


@pytest.mark.parametrize("text", ["", "x", "1/0", "nan", "inf", "1/x", "1e999999999999"])
def test_what_is_no_number_is_told(text: str) -> None:
    with pytest.raises(InvalidError, match=r"^D .* is no number; write one like 0.1 or 1/10$"):
        parse_number(text, "D")


def test_numbers_are_exact() -> None:
    assert parse_number("0.1", "D") == parse_number("1/10", "D") == Fraction(1, 10)


@pytest.mark.parametrize(
    ("rate", "size", "units"),
    [(None, 1514, RATE_MAX), (12_300_000_000, 1500, 65_600_000), (1, 1514, 1), (10**15, 64, RATE_MAX)],
)
def test_a_line_rate_in_units(rate: int | None, size: int, units: int) -> None:
    assert line_rate(rate, size) == units
