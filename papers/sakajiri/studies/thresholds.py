"""gamma and xi, which the paper recommends by preliminary experiment (Table I), and the two thresholds of a
tuning (III.B), in Model 2.

The rules: a value is best if no other gives the worst-off high priority client more than a twentieth more
under interference; the two thresholds decrease the frequency of tunings if there are fewer by a twentieth at
least than with the target alone.
"""

import math
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from groupflow.study.claims import Claim
from papers.sakajiri.claims import during, over
from papers.sakajiri.outcome import SIMULATION, Outcome, Outcomes, runs
from papers.sakajiri.paper import HIGH, Case

NAME = "thresholds"
PAPERS = Case("both", interference=True)
GAMMAS = (0.25, 0.5, 0.75, 1.0)
XIS = (0.8, 0.9, 0.95, 1.0, math.inf)
BETTER = 1.05
VALUES = {
    "gamma": {gamma: replace(PAPERS, gamma=gamma) for gamma in GAMMAS},
    "xi": {xi: replace(PAPERS, xi=xi) for xi in XIS},
}


def _cases(quick: bool) -> list[Case]:
    return [case for values in VALUES.values() for case in values.values()]


def _worst(outcomes: Outcomes, case: Case) -> float:
    return min(over(outcomes[case], (name,), during) for name in HIGH)


def _tunings(outcomes: Outcomes, case: Case) -> float:
    """Changes of the number of a client's connections in a minute, the mean over clients and seeds."""
    return fmean(
        _changes(outcome) / len(outcome.series) / outcome.run.seconds * 60 for outcome in outcomes[case]
    )


def _changes(outcome: Outcome) -> int:
    return sum(a != b for series in outcome.series.values() for a, b in pairwise(series.connections))


def _judge(outcomes: Outcomes) -> list[Claim]:
    claims: list[Claim] = []
    for name, values in VALUES.items():
        rates = {value: _worst(outcomes, case) for value, case in values.items()}
        ratio = max(rates.values()) / _worst(outcomes, PAPERS)
        listed = ", ".join(f"{value:g}: {rate:.2f}" for value, rate in rates.items())
        claims.append(
            Claim(f"{name}-best", "IV.A, Table I", f"the recommended {name} is best", "recommended", ratio,
                  "the best value's least high priority rate, over the recommended one's", ratio <= BETTER,
                  f"at most {BETTER:g}; Mb/s: {listed}")
        )  # fmt: skip
    often = {xi: _tunings(outcomes, case) for xi, case in VALUES["xi"].items()}
    fewer = often[PAPERS.xi] / max(often[math.inf], 1e-9)
    listed = ", ".join(f"{xi:g}: {tunings:.1f}" for xi, tunings in often.items())
    return [
        *claims,
        Claim("fewer-tunings", "III.B", "two thresholds decrease the frequency of tunings", "decrease", fewer,
              "of those with the target alone", fewer * BETTER <= 1,
              f"at most 1/{BETTER:g}; a client's changes a minute by xi: {listed}"),
    ]  # fmt: skip


STUDY = SIMULATION.beyond(NAME, "gamma, xi and the frequency of tunings", runs(_cases), _judge)
