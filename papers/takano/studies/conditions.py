"""Studies of the paper's claims on the control under other conditions, each beside runs without control.

- `delays`: links of unequal delay. D_i = D / d_i (eq. 3), and r_i = D_i n_i+1 no longer holds exactly.
- `flows`: three and more flows, which join one after another at different nodes: the last link must be used
  up to `NEAR`. Efficiency stays high "even if background traffic changes" (4.2) if the target gets all of
  the line while it is alone, and half beside the background, from `RECOVERED_TRIPS` round trips after each
  change on.
- `tcps`: CUBIC and SACK, and UDP, with which the control "should work well" (section 3). Alone a protocol is
  worse, or less fair, if efficiency, or the slower flow's share of the faster's, is lower by above `NEAR`.

The rule: conditions make no difference if the paper's claims on the control hold in every run, each flow's
share being one of as many, while packets are lost without it.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from groupflow.study.claims import Claim, finding
from papers.takano.claims import NEAR, RECOVERED_TRIPS
from papers.takano.judge import Rule
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES, Case, Source
from papers.takano.plan import Run, repeated
from papers.takano.studies.study import compared, label, labels, study

LINKS = CASES["4S"].nodes - 1
COUNTS = (3, 4, 6)
"""numbers of flows; a port has queues for six"""
CHANGES = "changes"
"""name of the line where the background goes, and comes again"""
TCPS = {"cubic": "CUBIC", "sack": "SACK", "udp": "UDP"}
REPEATS = 2
"""runs of other TCPs alone"""


def delay_lines_us(seed: int) -> dict[str, tuple[int, ...]]:
    """Delays of all links in microseconds; all but `random` and `one long` have about the paper's sum."""
    rising = tuple(range(30, 30 + 10 * LINKS, 10))
    draw = random.Random(seed)
    return {
        "equal": (100,) * LINKS,
        "alternating": tuple(50 if place % 2 == 0 else 150 for place in range(LINKS)),
        "rising": rising,
        "falling": rising[::-1],
        "one long": tuple(1000 if place == LINKS // 2 else 100 for place in range(LINKS)),
        "random": tuple(round(math.exp(draw.uniform(math.log(20), math.log(500)))) for _ in range(LINKS)),
    }


def _delay_runs(quick: bool, seed: int) -> list[Run]:
    case = CASES["4S"].shortened(0.2 if quick else 0.3)
    return [
        run
        for name, delays_us in delay_lines_us(seed).items()
        if not quick or name in ("alternating", "one long")
        for chosen in [replace(case, name=name, delays_ns=tuple(1000 * delay for delay in delays_us))]
        for run in _alone_and_controlled("delays", name.replace(" ", "-"), chosen, seed)
    ]


def _alone_and_controlled(name: str, key: str | int, case: Case, seed: int) -> list[Run]:
    controls = ("tcp", "dfc")
    return [Run(label(name, key, control), case, control, seed=seed) for control in controls]


def case_with(count: int, apart_s: float) -> Case:
    """Scenario 4S with so many flows, which join one after another, each farther down the line. The last has
    three times the time between two joins for itself."""
    case = CASES["4S"]
    nodes = np.linspace(1, case.nodes - 2, count).round().astype(int).tolist()
    joining = [Source(f"flow{n}", nodes[n - 1], (n - 1) * apart_s) for n in range(3, count + 1)]
    return replace(
        case, name=f"{count} flows", background_at=nodes[1], background_start_s=apart_s,
        joining=tuple(joining), seconds=(count + 2) * apart_s,
    )  # fmt: skip


def changing_case(apart_s: float) -> Case:
    """Scenario 4S whose background sends for a while, and then again."""
    case = CASES["4S"]
    times = ((f"background{n}", n * apart_s, (n + 1) * apart_s) for n in (1, 3))
    joining = tuple(Source(name, case.background_at, start, stop) for name, start, stop in times)
    return replace(case, name=CHANGES, background_start_s=math.inf, joining=joining, seconds=5 * apart_s)


def _flow_runs(quick: bool, seed: int) -> list[Run]:
    counts, apart_s = ((3,), 0.04) if quick else (COUNTS, 0.06)
    changing = Run(label("flows", CHANGES, "dfc"), changing_case(apart_s), "dfc", seed=seed)
    many = (_alone_and_controlled("flows", count, case_with(count, apart_s), seed) for count in counts)
    return [changing, *(run for runs in many for run in runs)]


def _full(*outcomes: Outcome) -> Iterator[Claim]:
    least = min(outcome.link_use for outcome in outcomes)
    claim, note = "with DFC the last link is full with three and more flows", f"at least {1 - NEAR:g} in each"
    yield finding("flows", "dfc-full", claim, least, "of it used, at least", least >= 1 - NEAR, note)


def _changes(outcome: Outcome) -> Iterator[Claim]:
    case = outcome.case
    apart_s, trip_s = case.seconds / 5, 2 * sum(case.link_delays_ns) / 1e9
    phase, into_s = np.divmod(outcome.time_s, apart_s)
    settled = into_s >= RECOVERED_TRIPS * trip_s
    means = [float(outcome.efficiency[settled & (phase == n)].mean()) for n in range(1, 5)]
    worst = max(abs(mean - share) for mean, share in zip(means, (0.5, 1, 0.5, 1), strict=True))
    lost = outcome.dropped + outcome.early_drops
    yield finding(
        "flows", "dfc-changes", "with DFC efficiency stays high when the background changes", worst,
        "largest distance from half or all of the line", worst <= NEAR and lost == 0,
        f"within {NEAR}, and no loss ({lost}); means: {', '.join(f'{mean:.3f}' for mean in means)}",
    )  # fmt: skip


def _flow_rules(runs: Sequence[Run]) -> list[Rule]:
    many = [run for run in runs if run.case.name != CHANGES]
    return [
        *compared("flows", "with three and more flows", many),
        Rule(labels(many, "dfc"), _full),
        Rule((label("flows", CHANGES, "dfc"),), _changes),
    ]


def _tcp_runs(quick: bool, seed: int) -> list[Run]:
    case = CASES["2"].shortened(0.4) if quick else CASES["2"]
    runs: list[Run] = []
    for tcp, words in TCPS.items():
        chosen = replace(case, name=f"2 with {words}", tcp=tcp)
        alone, controlled = _alone_and_controlled("tcps", tcp, chosen, seed)
        runs += [*repeated(alone, 1 if quick else REPEATS), controlled]
    return runs


def _less_alone(tcp: str, alone: Outcome, dfc: Outcome) -> Iterator[Claim]:
    """Claims on efficiency, by which the paper compares TCPs, and on fairness."""
    gain = dfc.mean_efficiency - alone.mean_efficiency
    fairer = dfc.fairness - alone.fairness
    yield finding(
        "tcps", f"{tcp}-worse-alone", f"{TCPS[tcp]} alone: efficiency is lower than with DFC",
        gain, "difference of means", gain > NEAR, f"more than {NEAR}",
    )  # fmt: skip
    yield finding(
        "tcps", f"{tcp}-less-fair-alone", f"{TCPS[tcp]} alone is less fair than with DFC",
        fairer, "difference of slower over faster", fairer > NEAR, f"more than {NEAR}",
    )  # fmt: skip


def _tcp_rules(runs: Sequence[Run]) -> list[Rule]:
    both = ((tcp, tuple(label("tcps", tcp, control) for control in ("tcp", "dfc"))) for tcp in TCPS)
    return [
        *compared("tcps", "with CUBIC, SACK and UDP", runs),
        *(Rule(labels, partial(_less_alone, tcp)) for tcp, labels in both),
    ]


STUDIES = [
    study("delays", "links of unequal delay", _delay_runs,
          partial(compared, "delays", "whatever the links' delays")),
    study("flows", "three and more flows, and a background that changes", _flow_runs, _flow_rules),
    study("tcps", "CUBIC, SACK and UDP, with and without control", _tcp_runs, _tcp_rules),
]  # fmt: skip
