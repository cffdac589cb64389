"""Three and more flows that join the line at different nodes, and a background that comes and goes.

The rule: the control serves more than two flows if with every number of them the paper's claims on it hold,
each flow's share being one of as many, and the last link is used up to `NEAR`, while TCP alone loses packets.
Efficiency stays high "even if background traffic changes" (4.2) if the target gets all of the line while it
is alone, and half beside the background, from `RECOVERED_TRIPS` round trips after each change on.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from groupflow.study.claims import Claim, finding
from papers.takano.claims import NEAR, RECOVERED_TRIPS
from papers.takano.judge import Rule
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES, Case, Source
from papers.takano.plan import Run
from papers.takano.studies.study import alone_finding, control_findings, label, labels, study

NAME = "flows"
COUNTS = (3, 4, 6)
"""numbers of flows; a port has queues for six"""
QUICK_COUNTS = (3,)
APART_S, QUICK_APART_S = 0.06, 0.04
"""time between two joins; the last flow has three times that for itself"""
CHANGES = "changes"
"""name of the line where the background goes, and comes again"""
WHERE = "with three and more flows"


def case_with(count: int, apart_s: float) -> Case:
    """Scenario 4S with so many flows, which join one after another, each farther down the line."""
    case = CASES["4S"]
    nodes = np.linspace(1, case.nodes - 2, count).round().astype(int).tolist()
    joining = [Source(f"flow{n}", nodes[n - 1], (n - 1) * apart_s) for n in range(3, count + 1)]
    return replace(
        case,
        name=f"{count} flows",
        background_at=nodes[1],
        background_start_s=apart_s,
        joining=tuple(joining),
        seconds=(count + 2) * apart_s,
    )


def changing_case(apart_s: float) -> Case:
    """Scenario 4S whose background sends for a while, and then again."""
    case = CASES["4S"]
    first, again = (
        Source(f"background{n}", case.background_at, n * apart_s, (n + 1) * apart_s) for n in (1, 3)
    )
    return replace(
        case, name=CHANGES, background_start_s=math.inf, joining=(first, again), seconds=5 * apart_s
    )


def _runs(quick: bool, seed: int) -> list[Run]:
    counts, apart_s = (QUICK_COUNTS, QUICK_APART_S) if quick else (COUNTS, APART_S)
    changing = changing_case(apart_s)
    return [Run(label(NAME, CHANGES, "dfc"), changing, "dfc", seed=seed)] + [
        Run(label(NAME, count, control), case_with(count, apart_s), control, seed=seed)
        for count in counts
        for control in ("tcp", "dfc")
    ]


def _full(*outcomes: Outcome) -> list[Claim]:
    least = min(outcome.link_use for outcome in outcomes)
    note = f"at least {1 - NEAR:g} in each"
    return [
        finding(
            NAME, "dfc-full", f"with DFC the last link is full {WHERE}", least, "of it used, at least",
            least >= 1 - NEAR, note,
        )
    ]  # fmt: skip


def _changes(outcome: Outcome) -> list[Claim]:
    case = outcome.case
    apart_s, trip_s = case.seconds / 5, 2 * sum(case.link_delays_ns) / 1e9
    phase, into_s = np.divmod(outcome.time_s, apart_s)
    settled = into_s >= RECOVERED_TRIPS * trip_s
    means = [float(outcome.efficiency[settled & (phase == n)].mean()) for n in range(1, 5)]
    worst = max(abs(mean - share) for mean, share in zip(means, (0.5, 1, 0.5, 1), strict=True))
    lost = outcome.dropped + outcome.early_drops
    return [
        finding(
            NAME, "dfc-changes", "with DFC efficiency stays high when the background changes", worst,
            "largest distance from half or all of the line", worst <= NEAR and lost == 0,
            f"within {NEAR}, and no loss ({lost}); means: {', '.join(f'{mean:.3f}' for mean in means)}",
        )
    ]  # fmt: skip


def _rules(runs: Sequence[Run]) -> list[Rule]:
    controlled = labels([run for run in runs if run.case.name != CHANGES], "dfc")
    return [
        Rule((label(NAME, CHANGES, "dfc"),), _changes),
        Rule(controlled, lambda *outcomes: control_findings(NAME, WHERE, outcomes)),
        Rule(controlled, _full),
        Rule(labels(runs, "tcp"), lambda *outcomes: [alone_finding(NAME, WHERE, outcomes)]),
    ]


STUDY = study(NAME, "three and more flows that join at different nodes", _runs, _rules)
