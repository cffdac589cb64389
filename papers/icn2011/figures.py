"""The paper's figures 6 to 12: an index against the load, mean and standard deviation over the seeds. Lines
beyond the paper are a group session on P4 switches, and TCP through members."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from groupflow.study.drawing import marked, panel
from papers.icn2011.outcome import Indices, Points
from papers.icn2011.paper import BEYOND, DELAYS_MS, MEMBERS, METHODS, NAMES, SPLIT, Case, D, Method

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


_MEMBERS = tuple(
    Line(f"{NAMES[m]} (member:{n})", Case(m, 0.0, members=n), dashed=n == 1) for m in LINES for n in MEMBERS
)
_DELAYS = tuple(
    Line(f"{NAMES[m]} (delay:{ms}ms)", Case(m, 0.0, delay_ms=ms), dashed=ms != DELAYS_MS[0])
    for m in LINES
    for ms in DELAYS_MS
)
_SHORT_DELAY = tuple(line for line in _DELAYS if line.case.delay_ms == DELAYS_MS[0])
_FOUR = tuple(Line(NAMES[m], Case(m, 0.0, senders=4, members=1)) for m in LINES)
_CACHES = tuple(
    line
    for m in (*SPLIT, "group")
    for line in (
        Line(f"{NAMES[m]} (sender:1)", Case(m, 0.0), dashed=True),
        Line(f"{NAMES[m]} (sender:4)", Case(m, 0.0, senders=4, members=1)),
    )
)
_CONSUMPTION = "Bandwidth consumption [Mb/s]"

FIGURES = (
    Figure(
        6, "Bandwidth consumption of the link between ma1 and SA1", _CONSUMPTION,
        lambda i: i.consumption_mbps, MBPS, _MEMBERS,
        # Below the link's capacity: unicast to 3 members of each network is 9 streams.
        lambda loads: [Case("unicast", loads[0], members=3)],
    ),
    Figure(
        7, "Reception throughput", "Reception throughput [Mb/s]",
        lambda i: i.reception_mbps, MBPS, _DELAYS,
    ),
    Figure(8, "Effective throughput", "Effective throughput", lambda i: i.effective, RATIO, _SHORT_DELAY),
    Figure(
        9, "Average bandwidth consumption, senders to SAs", _CONSUMPTION,
        lambda i: i.consumption_mbps, MBPS, _FOUR,
    ),
    Figure(
        10, "Average reception throughput", "Reception throughput [Mb/s]",
        lambda i: i.received_mbps, MBPS, _FOUR,
    ),
    Figure(11, "Average effective throughput", "Effective throughput", lambda i: i.effective, RATIO, _FOUR,
           lambda loads: [Case("group", loads[-1], senders=4, members=1, diffusion=D)]),
    Figure(12, "Cache ratio of SA1", "Cache ratio", lambda i: i.cache_ratio, RATIO, _CACHES),
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
