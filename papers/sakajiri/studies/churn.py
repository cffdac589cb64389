"""Clients that join and leave while the others send.

The rule: a method serves clients that come and go if each has its target, by its mean while it sends, from
5 s after it joined, beside the interference.
"""

from collections.abc import Callable

from groupflow.study.claims import Claim
from papers.sakajiri.outcome import Outcome, Outcomes, Span
from papers.sakajiri.paper import Case
from papers.sakajiri.simulation import SIMULATION, runs
from papers.sakajiri.situations import JOINS, LEAVES
from papers.sakajiri.studies.study import CLIENTS, METHODS, all_targets, bars

NAME = "churn"
SETTLE_S = 5.0
"""time after a client's join that does not count"""


def _there(client: str) -> Callable[[Outcome], Span]:
    """The span in which the client sends."""

    def span(outcome: Outcome) -> Span:
        seconds = outcome.run.seconds
        start = JOINS.get(client, 0.0) * seconds
        return (max(outcome.whole[0], start + SETTLE_S), LEAVES.get(client, 1.0) * seconds)

    return span


def _all(outcome: Outcome) -> Span:
    """The span in which all clients send."""
    seconds = outcome.run.seconds
    return (max(JOINS.values()) * seconds + SETTLE_S, min(LEAVES.values()) * seconds)


def _cases(quick: bool) -> list[Case]:
    return [Case(method, interference=True, situation=NAME) for method in METHODS]


def _judge(outcomes: Outcomes) -> list[Claim]:
    spans = {client: _there(client) for client in CLIENTS}
    return all_targets(NAME, outcomes, spans, "while it sends, under interference")


STUDY = SIMULATION.beyond(
    NAME,
    "clients that join and leave",
    runs(_cases),
    _judge,
    bars("Clients join and leave, with interference", {"while all send": (_all, CLIENTS)}),
)
