"""The largest stable D. Pure functions; docs/explanation/diffusion.md derives the formulas.

Linear, all links of one delay d: node i sends at J_i = alpha r_i(t - d) - D/d (n_i+1(t - d) - n_i(t)) from
one feedback to the next, and reports the same with alpha = 1. A disturbance that goes along the line as w^i,
|w| = 1, and in time as z^k, k counting delays d, obeys

    (z - 1) z^2 = D (z + (alpha - 1) w) (1/w - z)

and dies out when every root z is inside the unit circle. With alpha = 1 that is z^2 - (1 - D) z - D/w = 0,
inside for each w exactly while D < 1: beyond, an oscillation leaves a node larger than it entered, and
beyond 2 a node oscillates by itself.

Where a bound of eq. 1 cuts J off, a report of J tells nothing of n, as with alpha = 0 above: an oscillation
that is large enough to reach the bounds need not die out beyond D = 1/3.
"""

import cmath
import math
from fractions import Fraction

import numpy as np

STABLE_D = Fraction(1)
"""Bound of D with alpha = 1, for small disturbances."""
BOUNDED_D = Fraction(1, 3)
"""Bound of D with alpha = 1, also for disturbances that reach the bounds of eq. 1."""
ANGLES = 180


def growth(d: float, alpha: float = 1.0) -> float:
    """Growth factor of the worst disturbance of a long line, for each link delay; above 1 it grows."""
    return max(_largest_root(d, alpha, math.pi * step / ANGLES) for step in range(1, ANGLES + 1))


def warning(d: Fraction, alpha: Fraction = Fraction(1)) -> str | None:
    """A warning about this D and alpha in one line; None where the line of switches is stable."""
    if d == 0:
        return "D 0 is no diffusion: queues do not even out"
    if alpha == 1:
        if d <= BOUNDED_D:
            return None
        if d <= STABLE_D:
            return (
                f"D {float(d):g} is beyond 1/3: oscillations that reach the limits of rates may not die out; "
                f"choose D below 1/3"
            )
        return (
            f"D {float(d):g} is beyond the stability limit of 1: oscillations grow from node to node; "
            f"choose D below 1"
        )
    factor = growth(float(d), float(alpha))
    if factor <= 1 + 1e-9:
        return None
    return (
        f"D {float(d):g} with alpha {float(alpha):g} is unstable: oscillations grow by a factor of "
        f"{factor:.4g} each link delay; choose alpha 1 and D below 1"
    )


def _largest_root(d: float, alpha: float, angle: float) -> float:
    """Largest |z| with z^3 - (1 - D) z^2 + D ((alpha - 1) w - 1/w) z - D (alpha - 1) = 0."""
    w = cmath.exp(1j * angle)
    roots = np.roots([1, -(1 - d), d * ((alpha - 1) * w - 1 / w), -d * (alpha - 1)])
    return float(np.abs(roots).max())
