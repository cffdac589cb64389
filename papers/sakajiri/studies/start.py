"""Table II's order, if connections that are added during the first slow start are not kept.

The paper finds CUBIC and Compound TCP above Vegas and Reno. Here all are alike, as connections are added in
the first half second, below every target, and kept when the target is met (step IV). The rule: the assumption
explains the order if CUBIC and Compound TCP get more than Vegas and Reno (the criterion of Table II), and all
clients have their targets; "patient" tunes connections after 10 s, "buffer" never does.
"""

from groupflow.study.claims import Claim, restated
from papers.sakajiri.claims import table_2
from papers.sakajiri.outcome import SIMULATION, Outcomes, runs
from papers.sakajiri.paper import NAMES, TCPS, Case, Method

NAME = "start"
METHODS: tuple[Method, ...] = ("both", "patient", "buffer")


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
    "connections that are first tuned after slow start",
    runs(lambda _: [Case(method, tcp) for method in METHODS for tcp in TCPS]),
    _judge,
)
