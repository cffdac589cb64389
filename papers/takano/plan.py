"""One simulation of the line as a value, and its repetitions.

After the first losses TCP alone is decided by ties between packets of the same instant. These ties come
from links that are alike to the nanosecond and hold a round number of packets (205 there and back at 12.3
Gb/s), so that moving a start does not undo them. A run is therefore repeated with the background's start
moved by less than a millisecond and each link longer by less than a microsecond, which no claim depends on.
"""

import random
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from papers.takano.paper import CASES, Case

Control: TypeAlias = Literal["tcp", "dfc", "drop-tail", "ecn"]
"""tcp: P4 switches with one queue a port; dfc: with diffusion-type flow control; others: routers.py"""

MOVED_NS = 10**6
"""bound of the change of the background's start"""
LONGER_NS = 10**3
"""bound of the addition to a link's delay: at most 1 % of it"""

REPEATS = 3
"""runs of TCP alone"""
OTHER_REPEATS = {"1": 5, "2": 5, "4L": 2, "5": 2, "6": 2}
"""by scenario: where runs cost least, and where TCP alone keeps the most packets moving"""
CONTROLLED_REPEATS = {"1": 5, "2": 5}
"""runs with control, where they are cheap; other scenarios have one"""
QUICK_REPEATS = 2


@dataclass(frozen=True)
class Run:
    """One simulation."""

    label: str
    """name of the simulation, which repetitions share"""
    case: Case
    control: Control
    number: int = 1
    """number of the repetition"""
    seed: int = 1
    paced: bool = False
    """a source's link has the line's rate, instead of no limit"""
    shaped: bool = True
    """with control: whether hosts shape to r_0 (eq. 9)"""
    taking: tuple[str, ...] = ()
    """flows whose hosts take part in the control: what the window allows waits in the host as n_0 (eq. 2)"""
    host_queue: int | None = None
    """bound of a host's own queue, packets; None: it has none, or one without a bound if it takes part"""
    bound: bool = False
    """whether L bounds a flow's rate (eq. 1), which may else take what others leave"""
    pool: bool = False
    """whether all flows of a node share its buffer, which is each flow's else"""
    ecn: int | None = None
    """at routers that mark: waiting packets that a marked packet finds; None: a ninth of the buffer"""
    sample_ns: int = 10**6

    @property
    def folder(self) -> str:
        """Folder of its data."""
        return f"{self.label}/run-{self.number}"

    @property
    def cost(self) -> float:
        """A number proportional to the packet hops of a full line."""
        return self.case.bandwidth_bps * self.case.nodes * self.case.seconds


def repeated(run: Run, times: int) -> list[Run]:
    """The run itself, and others that differ by seeded amounts: the same for all runs of these links."""
    numbers = range(2, times + 1)
    return [
        run,
        *(replace(run, number=number, case=_varied(run.case, run.seed, number)) for number in numbers),
    ]


def _varied(case: Case, seed: int, number: int) -> Case:
    draw = random.Random(f"{seed}/{number}")
    moved_s = draw.randrange(1, MOVED_NS) / 1e9
    delays_ns = tuple(delay_ns + draw.randrange(LONGER_NS) for delay_ns in case.link_delays_ns)
    return replace(case, background_start_s=case.background_start_s + moved_s, delays_ns=delays_ns)


def label(name: str, control: Control) -> str:
    """Label of a scenario of the paper."""
    return f"scenario-{name}-{control}"


def scenario_runs(name: str, *, seconds: float | None = None, seed: int = 1) -> list[Run]:
    """All runs of a scenario of the paper, in full or shortened to `seconds`."""
    case = CASES[name] if seconds is None else CASES[name].shortened(seconds)
    times: dict[Control, int] = {
        "tcp": OTHER_REPEATS.get(name, REPEATS) if seconds is None else QUICK_REPEATS,
        "dfc": CONTROLLED_REPEATS.get(name, 1) if seconds is None else 1,
    }
    return [
        run
        for control, count in times.items()
        for run in repeated(Run(label(name, control), case, control, seed=seed), count)
    ]
