"""The paper's Table 1 against the measurements, and the quality of the predictions.

The paper has no words on its figures: the claims are orders and growth that its table shows, with margins
that its own figures keep.
"""

from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean, median

from groupflow.sim.bone import Method
from groupflow.study.claims import Claim
from papers.amcb.outcome import Outcomes, again, latency
from papers.amcb.paper import METHODS, NAMES, SIZES, TABLE, Case

TENTH = 0.1
NEAR = 0.2
"""relative error up to which a prediction is called near"""
SLOWER = 1.005
"""ratio from which on a latency is longer: the paper's least, of unicast over unscheduled, is 1.008"""
MORE = 1.05
"""ratio from which on more is sent again: the standard error of a mean over twenty seeds is up to 4 %"""
LEVEL = 0.9
"""ratio to the size before, from which on a value did not shrink: the paper's least is 0.94"""
GROWS = 1.5
"""ratio of the largest file's to the smallest file's retransmission: the paper has 2.4 to 3.2"""
FIGURE = "Table 1"


def evaluate(found: Outcomes) -> list[Claim]:
    """All claims, on the sizes that were run."""
    sizes = sorted({case.size for case in found})
    time: Figures = {(s, m): latency(found[Case(s, m)]) for s in sizes for m in METHODS}
    more: Figures = {(s, m): again(found[Case(s, m)]) for s in sizes for m in METHODS}
    return [
        *_order(sizes, time),
        *_ratios(sizes[-1], time),
        *growth(sizes, more),
        *_lowest(sizes, more),
        *(claim for method in METHODS for claim in _predicted(method, sizes, time, more)),
    ]


Figures = dict[tuple[int, Method], float]


def _order(sizes: list[int], time: Figures) -> Iterator[Claim]:
    pairs: tuple[tuple[Method, Method], ...] = (("unscheduled", "scheduled"), ("unicast", "unscheduled"))
    for slow, fast in pairs:
        ratios = {size: time[size, slow] / time[size, fast] for size in sizes}
        worst = min(ratios.values())
        good = [f"{size:,}" for size, ratio in ratios.items() if ratio >= SLOWER]
        yield Claim(f"order-{fast}", FIGURE, f"{fast} is faster than {slow} at every size", "> 1", worst,
                    f"{slow} over {fast}, the least", worst >= SLOWER,
                    f"at least {SLOWER:g} at {', '.join(good) or 'none'} bytes")  # fmt: skip


def _ratios(largest: int, time: Figures) -> Iterator[Claim]:
    for method in ("unscheduled", "unicast"):
        paper = TABLE[largest][method].latency_s / TABLE[largest]["scheduled"].latency_s
        ratio = time[largest, method] / time[largest, "scheduled"]
        yield Claim(f"ratio-{method}", FIGURE, f"latency of {method} over scheduled at {largest:,} bytes",
                    round(paper, 2), ratio, "times", abs(ratio / paper - 1) <= TENTH,
                    f"within a tenth; {method} at this size was used to infer the link",
                    "fitted")  # fmt: skip


def growth(sizes: list[int], more: Figures) -> Iterator[Claim]:
    for method in METHODS:
        series = [more[size, method] for size in sizes]
        least = min(later / earlier for earlier, later in pairwise(series))
        grows = series[-1] >= GROWS * series[0] and least >= LEVEL
        listed = ", ".join(f"{value:.0f}" for value in series)
        yield Claim(f"growth-{method}", FIGURE, f"{method}: retransmission grows with the size", "grows",
                    series[-1] / series[0], "the largest over the smallest", grows,
                    f"at least {GROWS:g}, no step below {LEVEL:g} of the one before;"
                    f" per cent: {listed}")  # fmt: skip


def _lowest(sizes: list[int], more: Figures) -> Iterator[Claim]:
    ratios = [
        min(more[size, "unscheduled"], more[size, "unicast"]) / more[size, "scheduled"] for size in sizes
    ]
    worst = min(ratios)
    yield Claim("lowest-scheduled", FIGURE, "retransmission is lowest when scheduled, at every size", "> 1",
                worst, "the next over scheduled, the least", worst >= MORE, f"at least {MORE:g}")  # fmt: skip


def _predicted(method: Method, sizes: list[int], time: Figures, more: Figures) -> Iterator[Claim]:
    """Claims on the figures that were not used to infer the link."""
    used = method != "scheduled"
    left = [size for size in sizes if not (used and size == SIZES[-1])]
    for name, what, values, paper in (
        ("latency", "latency", time, {s: TABLE[s][method].latency_s for s in sizes}),
        ("again", "retransmission", more, {s: TABLE[s][method].again_percent for s in sizes}),
    ):
        off = {size: values[size, method] / paper[size] - 1 for size in left}
        middle = median(abs(value) for value in off.values())
        listed = ", ".join(f"{value:+.0%}" for value in off.values())
        yield Claim(f"predicted-{name}-{method}", "prediction",
                    f"{NAMES[method]}: {what} as the paper has it", "near", middle,
                    "relative difference, the median", middle <= NEAR,
                    f"near: {NEAR:g}; smallest to largest: {listed};"
                    f" mean {fmean(off.values()):+.0%}")  # fmt: skip
