"""The paper's figures 6 to 12: an index against the load, mean and standard deviation over the seeds. Lines
beyond the paper are a group session on P4 switches, and TCP through members."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from groupflow.study.drawing import marked, panel
from papers.icn2011.outcome import Indices, Points
from papers.icn2011.paper import BEYOND, DELAYS_MS, MEMBERS, METHODS, NAMES, SPLIT, Case, Method

LOOKS: Mapping[Method, int] = {"e2e": 0, "n2n": 1, "group": 2, "members": 4, "unicast": 6}
"""of each method, the number of its colour and marker"""
LINES: tuple[Method, ...] = (*reversed(METHODS), *BEYOND)
MBPS = (0.0, 104.0)
RATIO = (0.0, 1.04)


@dataclass(frozen=True)
class Line:
    """Points that differ in the load only."""

    label: str
    case: Case
    """the case, whose load is replaced"""
    dashed: bool = False


@dataclass(frozen=True)
class Figure:
    """One figure of the paper."""

    number: int
    title: str
    ylabel: str
    index: Callable[[Indices], float]
    limits: tuple[float, float]
    lines: tuple[Line, ...]
    more: Callable[[tuple[float, ...]], Iterable[Case]] = lambda _: ()
    """further points that its claims need at these loads"""

    def cases(self, loads: tuple[float, ...]) -> Iterator[Case]:
        """The cases of its points."""
        yield from (replace(line.case, load=load) for line in self.lines for load in loads)
        yield from self.more(loads)


def _members() -> Iterable[Line]:
    for method in LINES:
        for members in MEMBERS:
            label = f"{NAMES[method]} (member:{members})"
            yield Line(label, Case(method, 0.0, members=members), dashed=members == 1)


def _demand(loads: tuple[float, ...]) -> Iterable[Case]:
    """Cases below the link's capacity: unicast to 3 members of each network is 9 streams."""
    yield Case("unicast", loads[0], members=3)


def _delays() -> Iterable[Line]:
    for method in LINES:
        for delay in DELAYS_MS:
            label = f"{NAMES[method]} (delay:{delay}ms)"
            yield Line(label, Case(method, 0.0, delay_ms=delay), dashed=delay != DELAYS_MS[0])


def _four() -> tuple[Line, ...]:
    return tuple(Line(NAMES[method], Case(method, 0.0, senders=4, members=1)) for method in LINES)


def _caches() -> Iterable[Line]:
    for method in (*SPLIT, "group"):
        yield Line(f"{NAMES[method]} (sender:1)", Case(method, 0.0), dashed=True)
        yield Line(f"{NAMES[method]} (sender:4)", Case(method, 0.0, senders=4, members=1))


_ONE_DELAY = tuple(Line(f"{NAMES[m]} (delay:10ms)", Case(m, 0.0)) for m in LINES)
_CONSUMPTION = "Bandwidth consumption [Mb/s]"

FIGURES = (
    Figure(
        6, "Bandwidth consumption of the link between ma1 and SA1", _CONSUMPTION,
        lambda i: i.consumption_mbps, MBPS, tuple(_members()), _demand,
    ),
    Figure(
        7, "Reception throughput", "Reception throughput [Mb/s]",
        lambda i: i.reception_mbps, MBPS, tuple(_delays()),
    ),
    Figure(8, "Effective throughput", "Effective throughput", lambda i: i.effective, RATIO, _ONE_DELAY),
    Figure(
        9, "Average bandwidth consumption, senders to SAs", _CONSUMPTION,
        lambda i: i.consumption_mbps, MBPS, _four(),
    ),
    Figure(
        10, "Average reception throughput", "Reception throughput [Mb/s]",
        lambda i: i.received_mbps, MBPS, _four(),
    ),
    Figure(11, "Average effective throughput", "Effective throughput", lambda i: i.effective, RATIO, _four()),
    Figure(12, "Cache ratio of SA1", "Cache ratio", lambda i: i.cache_ratio, RATIO, tuple(_caches())),
)  # fmt: skip


def draw(figure: Figure, path: Path, points: Points) -> None:
    """Draws one figure."""
    with panel(path, (5.6, 4.0)) as axis:
        for line in figure.lines:
            cases = (case for case in points if case == replace(line.case, load=case.load))
            found = [(case.load, points[case]) for case in sorted(cases, key=lambda case: case.load)]
            axis.errorbar(
                [load for load, _ in found],
                [figure.index(point.mean) for _, point in found],
                yerr=[figure.index(point.spread) for _, point in found],
                label=line.label,
                linestyle="--" if line.dashed else "-",
                markerfacecolor="white" if line.dashed else None,
                **marked(LOOKS[line.case.method]),
                linewidth=1.1,
                capsize=2,
            )
        axis.set(xlabel="Traffic load", ylabel=figure.ylabel, xlim=(0.05, 1.05), ylim=figure.limits)
        axis.set_title(f"Fig. {figure.number}: {figure.title}")
