"""Table II's order, if connections are not added during the first slow start.

The paper finds CUBIC and Compound TCP above Vegas and Reno. Here all are alike, as connections are added in
the first half second, below every target, and kept when the target is met (step IV). The rule: the assumption
explains the order if CUBIC and Compound TCP get more than Vegas and Reno (the criterion of Table II), and all
clients have their targets, with one connection for each ("buffer").
"""

from groupflow.study.claims import Claim, restated
from papers.sakajiri.claims import table_2
from papers.sakajiri.outcome import SIMULATION, Outcomes, runs
from papers.sakajiri.paper import NAMES, TCPS, Case, Method

NAME = "start"
METHODS: tuple[Method, ...] = ("both", "buffer")


def _judge(outcomes: Outcomes) -> list[Claim]:
    """Table II's claims on its order and on targets, by method."""
    found: list[Claim] = []
    for method in METHODS:
        as_the_papers = {Case("both", tcp): outcomes[Case(method, tcp)] for tcp in TCPS}
        found += [
            restated(claim, NAME, method, said=NAMES[method])
            for claim in table_2(as_the_papers)
            if claim.kind == "claim"
        ]
    return found


STUDY = SIMULATION.beyond(
    NAME,
    "the TCPs with one connection for each client",
    runs(lambda _: [Case(method, tcp) for method in METHODS for tcp in TCPS]),
    _judge,
)
