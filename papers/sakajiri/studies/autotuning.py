"""The kernel's own buffers with 1, 4 and 16 connections for every client, and a throughput climber, beside
the paper's policy: Model 2.

The rule: a method is enough if every client has its target by its mean under the interference.
"""

from groupflow.study.claims import Claim
from papers.sakajiri.claims import during
from papers.sakajiri.outcome import Outcomes
from papers.sakajiri.paper import Case
from papers.sakajiri.simulation import SIMULATION, runs
from papers.sakajiri.studies.study import CLIENTS, METHODS, all_targets, bars

NAME = "autotuning"


def _cases(quick: bool) -> list[Case]:
    return [Case(method, interference=True) for method in (*METHODS, "climber")]


def _judge(outcomes: Outcomes) -> list[Claim]:
    return all_targets(NAME, outcomes, dict.fromkeys(CLIENTS, during), "under interference")


STUDY = SIMULATION.beyond(
    NAME,
    "no tuning with 1, 4 and 16 connections for everyone",
    runs(_cases),
    _judge,
    bars("Model 2, under interference", {"": (during, CLIENTS)}),
)
