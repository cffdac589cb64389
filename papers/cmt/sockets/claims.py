"""The paper's claims about socket buffers and connections, against the measurements."""

from itertools import pairwise
from statistics import median

import numpy as np

from groupflow.study.claims import Claim
from papers.cmt.sockets.outcome import Found, listed_s
from papers.cmt.sockets.paper import (
    BEST,
    BEST_FROM,
    BEST_TO,
    MIDDLE,
    MOST,
    SMALL,
    TABLE_1_S,
    TABLE_2_S,
    THREE,
    UNTUNED,
    Case,
)

NEAR = 0.2
"""relative error up to which a prediction is called near"""
NOTICED = 0.05
"""relative difference below which values count as equal: the paper's two times of one case are 10 % apart"""
LINEAR = 0.8
"""ratio of a gain to the number of connections, from which on it is called near-linear"""
USED = {(SMALL, 1), (BEST, 1), (MIDDLE, THREE)}
"""cases from which the path was inferred"""


def table_1(found: Found) -> list[Claim]:
    """Claims on one connection with several buffers."""
    seconds = found.column(1)
    best = least(seconds)
    product = found.path.in_flight
    listed = _listed(seconds)
    return [
        Claim("buffer-matters", "Table 1", "with too small a buffer most of the rate is lost",
              round(TABLE_1_S[SMALL] / TABLE_1_S[BEST], 2), seconds[SMALL] / seconds[best],
              "time over the shortest", seconds[SMALL] / seconds[best] > 2,
              f"both were used to infer the path; s: {listed}"),
        Claim("buffer-best", "Table 1", "the best buffer is near the bandwidth-delay product", BEST, best,
              "bytes", 0.5 <= best / product <= 2,
              f"the smallest within {NOTICED:.0%} of the shortest time; the product: {product:,} bytes"),
        *(
            Claim(f"buffer-beyond-{buffer}", "Table 1", f"{buffer:,} bytes are worse than {BEST:,}",
                  round(TABLE_1_S[buffer] / TABLE_1_S[BEST], 2), seconds[buffer] / seconds[BEST],
                  "time over it", seconds[buffer] / seconds[BEST] > 1 + NOTICED,
                  f"worse: more than {NOTICED:.0%}")
            for buffer in seconds
            if buffer > BEST
        ),
        *_predicted("table-1", "Table 1", found, 1),
    ]  # fmt: skip


def table_2(found: Found) -> list[Claim]:
    """Claims on the small buffer with several connections."""
    seconds = found.row(SMALL)
    most = max(seconds)
    gain, paper = seconds[1] / seconds[most], round(TABLE_2_S[1] / TABLE_2_S[most], 2)
    steps = [seconds[a] / seconds[b] for a, b in pairwise(sorted(seconds))]
    return [
        Claim("connections-rising", "Table 2", "each connection more is faster", "> 1", min(steps),
              "times, the least step", min(steps) > 1, f"s: {_listed(seconds)}"),
        Claim("connections-linear", "Table 2", "the gain is near-linear", round(paper / most, 2), gain / most,
              f"of {most} times", gain / most >= LINEAR,
              f"near-linear: at least {LINEAR:g}; the paper's own is not"),
        Claim("connections-gain", "Table 2", f"the gain of {most} connections", paper, gain, "times",
              abs(gain / paper - 1) <= NEAR, f"within {NEAR:.0%}; {_fixed()}"),
        *_predicted("table-2", "Table 2", found, *(n for n in seconds if n > 1), buffer=SMALL),
    ]  # fmt: skip


def figure_2(found: Found) -> list[Claim]:
    """Claims on the middle buffer with up to twenty connections."""
    seconds = found.row(MIDDLE)
    shortest = min(seconds.values())
    best = [n for n, value in seconds.items() if value <= shortest * (1 + NOTICED)]
    least_time = min(seconds, key=lambda n: seconds[n])
    inside = min(value for n, value in seconds.items() if BEST_FROM <= n <= BEST_TO)
    listed = _listed(seconds)
    return [
        Claim("interference-gain", "Fig. 2", f"{BEST_FROM} to {BEST_TO} connections are faster than one",
              "> 1", seconds[1] / inside, "times", seconds[1] / inside > 1 + NOTICED, f"s: {listed}"),
        Claim("interference-best", "Fig. 2", f"the best number is {BEST_FROM} to {BEST_TO}",
              f"{BEST_FROM} to {BEST_TO}", least_time, "connections", BEST_FROM <= least_time <= BEST_TO,
              f"within {NOTICED:.0%} of the shortest time: {', '.join(map(str, best))}"),
        Claim("interference-beyond", "Fig. 2", f"with {MOST} it is slower again", "> 1",
              seconds[MOST] / inside, "time over the best of them", seconds[MOST] / inside > 1 + NOTICED,
              f"slower: more than {NOTICED:.0%}"),
    ]  # fmt: skip


def grid(found: Found) -> list[Claim]:
    """Claims on buffers and connections together."""
    best = min(found.times.values())
    tuned = found.times[SMALL, 1] / found.times[MIDDLE, THREE]
    numbers = sorted({n for b, n in found.times if b == SMALL})
    level = [n for n in numbers if found.times[MIDDLE, n] <= min(found.column(n).values()) * (1 + NOTICED)]
    single = min(found.column(1).values())
    return [
        Claim("grid-tuned", "section 3.2", "32,768 bytes and three connections: 7 times as fast as untuned",
              UNTUNED, tuned, "times", abs(tuned / UNTUNED - 1) <= NEAR,
              f"within {NEAR:.0%}; both were used to infer the path"),
        Claim("grid-middle", "section 3.2", "32,768 bytes are best with every number of connections",
              len(numbers), len(level), f"of {len(numbers)} numbers", level == numbers,
              f"within {NOTICED:.0%} of the best: {', '.join(map(str, level)) or 'none'}; "
              "in Table 1 they are not, with one"),
        Claim("grid-both", "section 3.2", "connections add to what the best buffer gives", "> 1",
              single / best, "best of one connection over the best", single / best > 1 + NOTICED),
    ]  # fmt: skip


def least(seconds: dict[int, float]) -> int:
    """The smallest number whose time is not noticeably longer than the shortest time."""
    shortest = min(seconds.values())
    return min(key for key, value in seconds.items() if value <= shortest * (1 + NOTICED))


def _predicted(name: str, figure: str, found: Found, *numbers: int, buffer: int | None = None) -> list[Claim]:
    """Claims on times that were not used to infer the path."""
    off = {
        (b, n): seconds / listed - 1
        for (b, n), seconds in sorted(found.times.items())
        if n in numbers and buffer in (None, b) and (b, n) not in USED
        if (listed := listed_s(Case(b, n))) is not None
    }
    middle = median(abs(value) for value in off.values())
    place = 0 if buffer is None else 1
    each = ", ".join(f"{cell[place]:,}: {value:+.0%}" for cell, value in off.items())
    return [
        Claim(f"predicted-{name}", figure, "times from which nothing was inferred", "near", middle,
              "off, the median", all(abs(value) <= NEAR for value in off.values()),
              f"near: all within {NEAR:.0%}; {each}"),
    ]  # fmt: skip


def _fixed() -> str:
    """The paper's Table 2 as a fixed time and a time that connections share, by relative least squares."""
    numbers = np.array(list(TABLE_2_S))
    seconds = np.array(list(TABLE_2_S.values()))
    shared, fixed = np.polyfit(1 / numbers, seconds, 1, w=1 / seconds)
    off = np.abs((fixed + shared / numbers) / seconds - 1).max()
    return f"the paper's times are {fixed:.1f} s + {shared:.1f} s / n, within {off:.0%}"


def _listed(values: dict[int, float]) -> str:
    return ", ".join(f"{key}: {value:.1f}" for key, value in values.items())
