"""Studies beyond the paper, by rules in which less, more and faster mean by a twentieth (`claims.MORE`).

The rule of "size": an adapted size is near the best if its power is nine tenths of the best fixed size's on
that link; faster if it takes less than the fastest; and right for a link not known in advance if its worst
loss of power over the links is less than each fixed size's. Whether it is the fastest on every link is no
finding of its own, as the links decide it one by one.

The rule of "modes": selective repeat sends less again if Go-Back-N sends more.

The rule of "rims": selective repeat copes with many rims if all have the file in every run, fewer than half
answer in a round, and the time grows less than the number of rims does.

The rule of "forgetting": rims that forget packets when the hub goes back fit the paper's table better if the
mean factor between the figures and the paper's is less than with rims that remember.

The rule of "losses": that of the paper's claims on growth (`claims.growth`). With losses that do not depend
on the time, in bursts or not, every size sends the same share again. The second link begins each transfer
with half of its losses, as Table 1 seems to: by the formula of `infer.py` its scheduled figures need a loss
of 1.3 % of packets at the smallest file, and 2.8 % at the largest.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from statistics import fmean

from groupflow.sim.bone import Method
from groupflow.study.claims import Claim, finding, restated
from papers.amcb.claims import MORE, Figures, growth
from papers.amcb.outcome import SIMULATION, Outcome, Outcomes, again, latency, runs
from papers.amcb.paper import METHODS, QUICK_SIZES, REPAIRS, SIZES, TABLE, Case, Cell, Link

FILE, QUICK_FILE = 1_626_000, 194_557
"""bytes of the file of `size` and `modes`"""
FIXED = (125, 250, 500, 750, 1000, 1340)
LINKS: tuple[Link, ...] = ("inferred", "congested", "clean", "noisy")
NEAR = 0.9
"""ratio to the power of the best fixed size"""


def _sizes(found: Outcomes) -> Iterator[Claim]:
    size = next(iter(found)).size
    # By link and size, None for the adapted one; power is throughput times the share of useful bytes.
    time = {(case.link, case.fixed): latency(outcomes) for case, outcomes in found.items()}
    power = {
        (case.link, case.fixed): size / latency(outcomes) / (1 + again(outcomes) / 100)
        for case, outcomes in found.items()
    }
    for link in LINKS:
        best = max(FIXED, key=lambda fixed: power[link, fixed])
        quickest = min(FIXED, key=lambda fixed: time[link, fixed])
        ratio, adapted_s = power[link, None] / power[link, best], time[link, None]
        mean = fmean(outcome.packet for outcome in found[Case(size, link=link)])
        listed = ", ".join(f"{fixed}: {power[link, fixed] / power[link, best]:.2f}" for fixed in FIXED)
        times = ", ".join(f"{fixed}: {time[link, fixed]:.0f} s" for fixed in FIXED)
        yield from [
            finding("size", f"power-{link}",
                    f"{link} link: adapted, power is near that of the best fixed size",
                    ratio, f"of that of {best} bytes", ratio >= NEAR,
                    f"near: {NEAR:g}; mean size {mean:.0f}; fixed sizes: {listed}"),
            finding("size", f"time-{link}", f"{link} link: adapted, it is faster than every fixed size",
                    adapted_s / time[link, quickest], f"of the time of {quickest} bytes, the fastest",
                    adapted_s * MORE <= time[link, quickest], f"at most 1/{MORE:g}; {times}"),
        ]  # fmt: skip
    weakness = {which: 1 / value for which, value in power.items()}
    # The worst ratio over the links to the best fixed size on the same link.
    worst = {
        fixed: max(weakness[x, fixed] / min(weakness[x, other] for other in FIXED) for x in LINKS)
        for fixed in (None, *FIXED)
    }
    adapted, *others = worst.values()
    listed = ", ".join(f"{fixed}: {ratio:.2f}" for fixed, ratio in zip(FIXED, others, strict=True))
    claim = "the adapted size's worst loss of power over all links is smaller than that of any fixed one"
    yield finding("size", "power-everywhere", claim, adapted, "times", adapted * MORE <= min(others),
                  f"by {MORE:g} at least; fixed: {listed}")  # fmt: skip


def _size_cases(quick: bool) -> list[Case]:
    size = QUICK_FILE if quick else FILE
    return [Case(size, fixed=fixed, link=link) for link in LINKS for fixed in (None, *FIXED)]


def _modes(found: Outcomes) -> Iterator[Claim]:
    size = next(iter(found)).size
    for method in METHODS:
        back, other = found[Case(size, method)], found[Case(size, method, "selective")]
        ratio = again(back) / again(other)
        note = f"at least {MORE:g}; {latency(other):.0f} s instead of {latency(back):.0f}; " + (
            f"{again(other):.1f} % instead of {again(back):.1f} %"
        )
        yield finding("modes", f"{method}-selective", f"{method}: selective repeat sends less again",
                      ratio, "times less than Go-Back-N", ratio >= MORE, note)  # fmt: skip


def _mode_cases(quick: bool) -> list[Case]:
    return [Case(QUICK_FILE if quick else FILE, m, repair) for m in METHODS for repair in REPAIRS]


RIM_FILE = 194_557
RIMS, QUICK_RIMS = (3, 30, 300), (3, 60)
EVERYONE = 100_000
"""more rims than there are: all of them answer"""


def _rim_case(rims: int, crowd: int = Case.crowd) -> Case:
    return Case(RIM_FILE, "scheduled", "selective", rims=rims, crowd=crowd)


def _rim_cases(quick: bool) -> list[Case]:
    counts = QUICK_RIMS if quick else RIMS
    return [*map(_rim_case, counts), _rim_case(counts[-1], EVERYONE)]


def _results_a_round(outcomes: Sequence[Outcome]) -> float:
    return sum(outcome.answers for outcome in outcomes) / sum(outcome.rounds for outcome in outcomes)


def _rims(found: Outcomes) -> list[Claim]:
    least, *_, most = sorted(case.rims for case in found)
    many, everyone = found[_rim_case(most)], _results_a_round(found[_rim_case(most, EVERYONE)])
    missing, a_round = sum(most - outcome.complete for outcome in many), _results_a_round(many)
    slower = latency(many) / latency(found[_rim_case(least)])
    return [
        finding("rims", "complete-selective", f"selective repeat: all of {most} rims have the file",
                missing, "rims without it", missing == 0, "over all seeds"),
        finding("rims", "results-selective", "selective repeat: results a round are fewer than rims",
                a_round, "results a round", a_round < most / 2,
                f"at most half; when everyone answers {everyone:.0f} come through"),
        finding("rims", "cost-selective", "selective repeat: time grows less than rims do",
                slower, f"times, {most} rims over {least}", slower * MORE < most / least,
                f"by {MORE:g} at least; {latency(many):.0f} s; {again(many):.0f} % sent again"),
    ]  # fmt: skip


def _forget_cases(quick: bool) -> list[Case]:
    sizes = QUICK_SIZES if quick else SIZES
    return [Case(size, m, forgets=flag) for size in sizes for m in METHODS for flag in (False, True)]


Quantity = tuple[str, Callable[[Sequence[Outcome]], float], Callable[[Cell], float]]
QUANTITIES: tuple[Quantity, ...] = (
    ("latency", latency, attrgetter("latency_s")),
    ("again", again, attrgetter("again_percent")),
)


def _forgetting(found: Outcomes) -> Iterator[Claim]:
    sizes = sorted({case.size for case in found})

    def off(quantity: Quantity, method: Method, forgets: bool) -> float:
        """Factor, at least 1, between the figures and the paper's, as the geometric mean over the sizes."""
        _, measured, paper = quantity
        ratios = (
            measured(found[Case(size, method, forgets=forgets)]) / paper(TABLE[size][method])
            for size in sizes
        )
        return math.exp(fmean(abs(math.log(ratio)) for ratio in ratios))

    for quantity in QUANTITIES:
        for method in METHODS:
            remembers, forgets = (off(quantity, method, flag) for flag in (False, True))
            said = f"{method}: {quantity[0]} fits better with rims that forget"
            yield finding("forgetting", f"{quantity[0]}-{method}", said, forgets,
                          "mean factor off the paper's", forgets * MORE <= remembers,
                          f"{remembers:.2f} with rims that remember; {len(sizes)} sizes")  # fmt: skip


LOSSES: dict[Link, str] = {"bursts": "in bursts", "worse": "that become more"}


def _loss_cases(quick: bool) -> list[Case]:
    sizes = QUICK_SIZES if quick else SIZES
    return [Case(size, method, link=link) for link in LOSSES for size in sizes for method in METHODS]


def _losses(found: Outcomes) -> Iterator[Claim]:
    sizes = sorted({case.size for case in found})
    for link, said in LOSSES.items():
        more: Figures = {(s, m): again(found[Case(s, m, link=link)]) for s in sizes for m in METHODS}
        yield from (restated(claim, "losses", link, said=f"losses {said}") for claim in growth(sizes, more))


STUDIES = [
    SIMULATION.beyond("size", "packets of adapted size against fixed sizes, on four links", runs(_size_cases),
                      _sizes),
    SIMULATION.beyond("modes", "selective repeat beside Go-Back-N", runs(_mode_cases), _modes),
    SIMULATION.beyond("rims", "hundreds of rims: the cost of selective repeat", runs(_rim_cases), _rims),
    SIMULATION.beyond("forgetting", "rims that forget packets when the hub goes back", runs(_forget_cases),
                      _forgetting),
    SIMULATION.beyond("losses", "losses in bursts, and losses that become more", runs(_loss_cases), _losses),
]  # fmt: skip
