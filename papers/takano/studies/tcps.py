"""CUBIC, SACK and UDP, which the paper does not run, on its line with and without control. The control
"should work well" with protocols without flow control, such as UDP (section 3).

The rule: with the control they do as the paper's TCPs do if its claims on the control hold in each run. Alone
a TCP is worse, or less fair, if the target's efficiency, or the slower flow's share of the faster's, is lower
by more than `NEAR` in every run; and it loses packets if it does in each run.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from groupflow.study.claims import Claim, finding
from papers.takano.claims import NEAR
from papers.takano.judge import Rule
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES
from papers.takano.plan import Run, repeated
from papers.takano.studies.study import alone_finding, control_findings, label, labels, study

NAME = "tcps"
TCPS = {"cubic": "CUBIC", "sack": "SACK", "udp": "UDP"}
SCENARIO = "2"
REPEATS = 2
"""runs of TCP alone"""
QUICK_SECONDS = 0.4
WHERE = "with CUBIC, SACK and UDP"


def _runs(quick: bool, seed: int) -> list[Run]:
    case = CASES[SCENARIO].shortened(QUICK_SECONDS) if quick else CASES[SCENARIO]
    runs: list[Run] = []
    for tcp in TCPS:
        chosen = replace(case, name=f"{SCENARIO} with {TCPS[tcp]}", tcp=tcp)
        alone = Run(label(NAME, tcp, "tcp"), chosen, "tcp", seed=seed)
        runs += repeated(alone, 1 if quick else REPEATS)
        runs.append(Run(label(NAME, tcp, "dfc"), chosen, "dfc", seed=seed))
    return runs


def _less_alone(tcp: str, alone: Outcome, dfc: Outcome) -> list[Claim]:
    """Claims on efficiency, by which the paper compares TCPs, and on fairness."""
    gain = dfc.mean_efficiency - alone.mean_efficiency
    fairer = dfc.fairness - alone.fairness
    return [
        finding(
            NAME, f"{tcp}-worse-alone", f"{TCPS[tcp]} alone: the target's efficiency is lower than with DFC",
            gain, "difference of means", gain > NEAR, f"more than {NEAR}",
        ),
        finding(
            NAME, f"{tcp}-less-fair-alone", f"{TCPS[tcp]} alone is less fair than with DFC",
            fairer, "difference of slower over faster", fairer > NEAR, f"more than {NEAR}",
        ),
    ]  # fmt: skip


def _rules(runs: Sequence[Run]) -> list[Rule]:
    return [
        Rule(labels(runs, "dfc"), lambda *outcomes: control_findings(NAME, WHERE, outcomes)),
        Rule(labels(runs, "tcp"), lambda *outcomes: [alone_finding(NAME, WHERE, outcomes)]),
        *(
            Rule((label(NAME, tcp, "tcp"), label(NAME, tcp, "dfc")), partial(_less_alone, tcp))
            for tcp in TCPS
        ),
    ]


STUDY = study(NAME, "CUBIC, SACK and UDP, with and without control", _runs, _rules)
