"""Links of unequal delay: D_i = D / d_i (eq. 3), and r_i = D_i n_i+1 no longer holds exactly.

Each set of delays is run with the paper's D, with one near the limit of 1/3 for equal links with bounded
rates (stability.py), and without control.

The rule: delays make no difference if on every line the paper's claims on the control hold, queues come to
rest with D near the limit (`stability.SWINGS`), and TCP alone loses packets.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from groupflow.study.claims import Claim, finding
from papers.takano.judge import Rule
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES
from papers.takano.plan import Run
from papers.takano.studies.stability import SWINGS, relative_swing
from papers.takano.studies.study import alone_finding, control_findings, label, labels, study

NAME = "delays"
LINKS = CASES["4S"].nodes - 1
D, NEAR_LIMIT = 0.1, 0.28
SECONDS, QUICK_SECONDS = 0.3, 0.2
WHERE = "whatever the links' delays"


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


def _runs(quick: bool, seed: int) -> list[Run]:
    case = CASES["4S"].shortened(QUICK_SECONDS if quick else SECONDS)
    runs: list[Run] = []
    for name, delays_us in delay_lines_us(seed).items():
        if quick and name not in ("alternating", "one long"):
            continue
        chosen = replace(case, name=name, delays_ns=tuple(1000 * delay for delay in delays_us))
        key = name.replace(" ", "-")
        runs += [
            Run(label(NAME, key, "tcp"), chosen, "tcp", seed=seed),
            Run(label(NAME, key, "d", D), replace(chosen, diffusion=D), "dfc", seed=seed),
        ]
        if not quick:
            near = replace(chosen, diffusion=NEAR_LIMIT)
            runs.append(Run(label(NAME, key, "d", NEAR_LIMIT), near, "dfc", seed=seed))
    return runs


def _near_the_limit(*outcomes: Outcome) -> list[Claim]:
    swings = {outcome.case.name: relative_swing(outcome) for outcome in outcomes}
    worst = max(swings.values())
    note = f"at most {SWINGS:g} of a link's packets in each; " + ", ".join(
        f"{name} {s:.2f}" for name, s in swings.items()
    )
    claim = f"with D = {NEAR_LIMIT:g}, stable for equal links, queues come to rest {WHERE}"
    return [finding(NAME, "limit-rest", claim, worst, "largest swing", worst <= SWINGS, note)]


def _rules(runs: Sequence[Run]) -> list[Rule]:
    usual = [run for run in runs if run.case.diffusion == D]
    near = labels([run for run in runs if run.case.diffusion == NEAR_LIMIT], "dfc")
    return [
        Rule(labels(usual, "dfc"), lambda *outcomes: control_findings(NAME, WHERE, outcomes)),
        Rule(labels(usual, "tcp"), lambda *outcomes: [alone_finding(NAME, WHERE, outcomes)]),
        *([Rule(near, _near_the_limit)] if near else []),
    ]


STUDY = study(NAME, "links of unequal delay", _runs, _rules)
