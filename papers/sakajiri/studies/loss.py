"""5 % random loss on the links of all clients.

The rule: a method withstands it if every client has its target by its mean over the run.
"""

from groupflow.study.claims import Claim
from papers.sakajiri.claims import whole
from papers.sakajiri.outcome import Outcomes
from papers.sakajiri.paper import Case
from papers.sakajiri.simulation import SIMULATION, runs
from papers.sakajiri.situations import HEAVY_LOSS
from papers.sakajiri.studies.study import CLIENTS, METHODS, all_targets, bars

NAME = "loss"


def _cases(quick: bool) -> list[Case]:
    return [Case(method, situation=NAME) for method in METHODS]


def _judge(outcomes: Outcomes) -> list[Claim]:
    return all_targets(NAME, outcomes, dict.fromkeys(CLIENTS, whole), f"with {HEAVY_LOSS:.0%} loss")


STUDY = SIMULATION.beyond(
    NAME,
    "5 % random loss",
    runs(_cases),
    _judge,
    bars("5 % random loss for everyone", {"": (whole, CLIENTS)}),
)
