"""A high priority client whose round trip jumps from 20 to 300 ms half-way.

The rule: a method follows if every client has its target by its mean, before the jump and from 10 s after it.
"""

from groupflow.study.claims import Claim
from papers.sakajiri.outcome import Outcome, Outcomes, Span
from papers.sakajiri.paper import Case
from papers.sakajiri.simulation import SIMULATION, runs
from papers.sakajiri.situations import FAR_MS, NEAR_MS
from papers.sakajiri.studies.study import CLIENTS, METHODS, all_targets, bars

NAME = "jump"
SETTLE_S = 10.0
"""time after the jump that does not count"""


def _before(outcome: Outcome) -> Span:
    return (outcome.whole[0], outcome.run.seconds / 2)


def _after(outcome: Outcome) -> Span:
    return (outcome.run.seconds / 2 + SETTLE_S, outcome.run.seconds)


def _cases(quick: bool) -> list[Case]:
    return [Case(method, situation=NAME) for method in METHODS]


def _judge(outcomes: Outcomes) -> list[Claim]:
    return [
        claim
        for name, span in (("before", _before), ("after", _after))
        for claim in all_targets(
            NAME, outcomes, dict.fromkeys(CLIENTS, span), f"{name} Terminal 3's round trip jumps", name
        )
    ]


STUDY = SIMULATION.beyond(
    NAME,
    f"a round trip that jumps from {NEAR_MS} to {FAR_MS} ms",
    runs(_cases),
    _judge,
    bars(
        f"Terminal 3's round trip jumps from {NEAR_MS} to {FAR_MS} ms",
        {"before": (_before, CLIENTS), "after": (_after, CLIENTS)},
    ),
)
