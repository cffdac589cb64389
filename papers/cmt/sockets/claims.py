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
    BUFFERS,
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
STEP = 1.02
"""ratio from which on one connection more is faster: times over eleven seeds have standard errors of up to
1.8 %, and the paper's best times begin at eight, so that its last steps are small"""
RISING_TO = 10
"""connections up to which each one more "improves throughput" """
NINE_BEST = (8192, 32768, 524288)
"""buffers with which nine connections optimize throughput by the text"""
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
              f"both were used to infer the path; s: {listed}", "fitted"),
        Claim("buffer-best", "3.2, Table 1", f"{BEST:,} bytes give the best rate", BEST, best,
              "bytes", best == BEST,
              f"the smallest within {NOTICED:.0%} of the shortest time; bandwidth times delay: {product:,}"),
        *(
            Claim(f"buffer-beyond-{buffer}", "3.2, Table 1", f"{buffer:,} bytes are worse than {BEST:,}",
                  round(TABLE_1_S[buffer] / TABLE_1_S[BEST], 2), seconds[buffer] / seconds[BEST],
                  "time over it", seconds[buffer] / seconds[BEST] > 1 + NOTICED,
                  f"worse: more than {NOTICED:.0%}")
            for buffer in seconds
            if buffer > BEST
        ),
        *_predicted("table-1", "3.2, Table 1", found, 1),
    ]  # fmt: skip


def table_2(found: Found) -> list[Claim]:
    """Claims on the small buffer with several connections."""
    seconds = found.row(SMALL)
    steps = [seconds[a] / seconds[b] for a, b in pairwise(sorted(seconds))]
    return [
        Claim("connections-rising", "3.2, Table 2", "each connection more is faster", "> 1", min(steps),
              "times, the least step", min(steps) > 1 + NOTICED,
              f"faster: more than {NOTICED:.0%}; s: {_listed(seconds)}"),
        *_predicted("table-2", "3.2, Table 2", found, *(n for n in seconds if n > 1), buffer=SMALL,
                    more=f"; {_fixed()}"),
    ]  # fmt: skip


def figure_2(found: Found) -> list[Claim]:
    """Claims on the middle buffer with up to twenty connections."""
    seconds = found.row(MIDDLE)
    shortest = min(seconds.values())
    best = [n for n, value in seconds.items() if value <= shortest * (1 + NOTICED)]
    inside = min(value for n, value in seconds.items() if BEST_FROM <= n <= BEST_TO)
    listed = _listed(seconds)
    steps = {n: seconds[before] / seconds[n] for before, n in pairwise(sorted(seconds)) if n <= RISING_TO}
    worst = min(steps, key=lambda n: steps[n])
    return [
        Claim("connections-to-ten", "3.2", f"each connection more, up to {RISING_TO}, is faster", "> 1",
              steps[worst], "times, the least step", steps[worst] >= STEP,
              f"at least {STEP:g}; to {worst} connections; of those that were run"),
        Claim("interference-best", "3.2, Fig. 2", f"the best number is {BEST_FROM} to {BEST_TO}",
              f"{BEST_FROM} to {BEST_TO}", best[0], "connections", BEST_FROM <= best[0] <= BEST_TO,
              f"the least within {NOTICED:.0%} of the shortest time: {', '.join(map(str, best))};"
              f" s: {listed}"),
        Claim("interference-beyond", "3.2, Fig. 2", f"with {MOST} it is slower again", "> 1",
              seconds[MOST] / inside, "time over the best of them", seconds[MOST] / inside > 1 + NOTICED,
              f"slower: more than {NOTICED:.0%}"),
    ]  # fmt: skip


def grid(found: Found) -> list[Claim]:
    """Claims on buffers and connections together."""
    best = min(found.times.values())
    tuned = found.times[SMALL, 1] / found.times[MIDDLE, THREE]
    numbers = sorted({n for b, n in found.times if b == SMALL})
    several = [n for n in numbers if n > 1]
    level = [n for n in several if found.times[MIDDLE, n] <= min(found.column(n).values()) * (1 + NOTICED)]
    single = min(found.column(1).values())
    best_numbers = {buffer: _best_numbers(found.row(buffer)) for buffer in BUFFERS}
    everywhere = [n for n in numbers if all(n in good for good in best_numbers.values())]
    nine = [buffer for buffer in NINE_BEST if least(found.row(buffer)) == max(numbers)]
    listed = "; ".join(f"{buffer:,}: {', '.join(map(str, good))}" for buffer, good in best_numbers.items())
    return [
        Claim("grid-tuned", "3.2", "32,768 bytes and three connections: 7 times as fast as untuned",
              UNTUNED, tuned, "times", abs(tuned / UNTUNED - 1) <= NEAR,
              f"within {NEAR:.0%}; both were used to infer the path", "fitted"),
        Claim("grid-both", "3.2", "connections add to what the best buffer gives", "> 1",
              single / best, "best of one connection over the best", single / best > 1 + NOTICED,
              "times of both were used to infer the path", "fitted"),
        Claim("grid-middle", "3.2", "32,768 bytes are best with every number of connections",
              len(several), len(level), f"of {len(several)} numbers", level == several,
              f"within {NOTICED:.0%} of the best: {', '.join(map(str, level)) or 'none'}; "
              "from two on: in the paper's Table 1 they are not, with one"),
        Claim("grid-no-number", "3.2", "no number of connections is best for all buffers", 0,
              len(everywhere), "numbers", not everywhere, f"within {NOTICED:.0%} of the best, {listed}"),
        Claim("grid-nine", "3.2", f"{max(numbers)} connections are best with each of three buffers",
              len(NINE_BEST), len(nine), "buffers", len(nine) == len(NINE_BEST),
              f"none fewer is within {NOTICED:.0%} of the best of up to {max(numbers)}:"
              f" {', '.join(f'{buffer:,}' for buffer in nine) or 'none'}"),
    ]  # fmt: skip


def _best_numbers(seconds: dict[int, float]) -> list[int]:
    """The numbers of connections whose time is not noticeably longer than the shortest."""
    return [n for n, value in seconds.items() if value <= min(seconds.values()) * (1 + NOTICED)]


def least(seconds: dict[int, float]) -> int:
    """The smallest number whose time is not noticeably longer than the shortest time."""
    shortest = min(seconds.values())
    return min(key for key, value in seconds.items() if value <= shortest * (1 + NOTICED))


def _predicted(
    name: str, figure: str, found: Found, *numbers: int, buffer: int | None = None, more: str = ""
) -> list[Claim]:
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
              f"near: all within {NEAR:.0%}; {each}{more}"),
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
