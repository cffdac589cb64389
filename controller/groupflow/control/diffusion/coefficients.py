"""Coefficients of the control as the P4 wants them: three signed powers of two each. Pure functions.

The switch cannot multiply two variables (p4src/stages/scaling.p4), so D_i = D / d_i and alpha are each
written as a sum of at most three signed powers of two. The loss of accuracy is told with the result.
"""

from dataclasses import dataclass
from fractions import Fraction

from groupflow.errors import InvalidError

UNITS = 64
"""Units in a packet/s: rates are Q26.6 packets/s."""
RATE_MAX = 2**31 - 1
"""The largest rate in units, which also stands for `no limit`."""
NO_TERM = 0x40
"""The 8 bits of an unused term."""
TERMS = 3

DIFFUSION_EXPONENTS = range(-6, 23)
"""Exponents of the powers of two in D_i (1/s) for which scaling.p4 has actions."""
ALPHA_EXPONENTS = range(-14, 2)


@dataclass(frozen=True)
class Term:
    """A signed power of two."""

    exponent: int
    negative: bool = False

    @property
    def value(self) -> Fraction:
        power = Fraction(2) ** self.exponent
        return -power if self.negative else power

    @property
    def code(self) -> int:
        """The term's 8 bits in a table entry: bit 7 the sign, bits 6..0 the exponent in two's complement."""
        return (self.exponent & 0x7F) | (0x80 if self.negative else 0)


@dataclass(frozen=True)
class Coefficient:
    """A number as near to `wanted` as three terms come."""

    wanted: Fraction
    terms: tuple[Term, ...]

    @property
    def value(self) -> Fraction:
        """The number that the switch computes with."""
        return sum((term.value for term in self.terms), Fraction(0))

    @property
    def relative_error(self) -> Fraction:
        """(value - wanted) / wanted."""
        return (self.value - self.wanted) / self.wanted if self.wanted else Fraction(0)

    @property
    def codes(self) -> tuple[int, int, int]:
        """The three action parameters."""
        codes = [term.code for term in self.terms] + [NO_TERM] * (TERMS - len(self.terms))
        return (codes[0], codes[1], codes[2])


def diffusion_coefficient(d: Fraction, delay_ns: int) -> Coefficient:
    """D_i = D / d_i (eq. 3), in 1/s. Raises InvalidError."""
    if d < 0:
        raise InvalidError(f"D {_decimal(d)} is negative; give a number from 0 to 1")
    if d and delay_ns <= 0:
        raise InvalidError(
            "the link's delay is 0, so D / d has no value; measure it, or give the link a delay"
        )
    wanted = d * 10**9 / delay_ns if d else Fraction(0)
    if wanted >= Fraction(2) ** (DIFFUSION_EXPONENTS[-1] + 1):
        raise InvalidError(
            f"D / d is {_decimal(wanted)} per second, above the largest there is; give a smaller D"
        )
    if d and wanted < Fraction(1, UNITS):
        raise InvalidError(
            f"D / d is {_decimal(wanted)} per second, below the smallest there is, 1/64; give a larger D"
        )
    return Coefficient(wanted, _terms(wanted, DIFFUSION_EXPONENTS))


def alpha_coefficient(alpha: Fraction) -> Coefficient:
    """The flow intensity multiplier alpha (eq. 1). Raises InvalidError."""
    if not 1 <= alpha <= 2:
        raise InvalidError(f"alpha {_decimal(alpha)} is out of range; give a number from 1 to 2")
    return Coefficient(alpha, _terms(alpha, ALPHA_EXPONENTS))


def clamp_limit(d: Coefficient) -> int:
    """The largest |n_i+1 - n_i| that the P4 may multiply by D_i: no term or sum of terms leaves 31 bits."""
    sums = [Coefficient(d.wanted, d.terms[:count]).value for count in range(1, len(d.terms) + 1)]
    largest = max((abs(part) for part in (*sums, *(term.value for term in d.terms))), default=Fraction(0))
    return min(RATE_MAX, int(RATE_MAX / (largest * UNITS))) if largest else RATE_MAX


def line_rate(rate_bps: int | None, packet_bytes: int) -> int:
    """A link's rate in units, for packets of this size on the wire. RATE_MAX: not limited."""
    if rate_bps is None:
        return RATE_MAX
    return max(1, min(RATE_MAX, rate_bps * UNITS // (8 * packet_bytes)))


def _terms(wanted: Fraction, exponents: range) -> tuple[Term, ...]:
    """At most three terms: each is the power nearest to the rest, as long as it makes the rest smaller."""
    terms: list[Term] = []
    left = wanted
    while left and len(terms) < TERMS:
        term = Term(_nearest(abs(left), exponents), negative=left < 0)
        if abs(left - term.value) >= abs(left):
            break
        terms.append(term)
        left -= term.value
    return tuple(terms)


def _nearest(size: Fraction, exponents: range) -> int:
    return min(exponents, key=lambda exponent: abs(size - Fraction(2) ** exponent))


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"
