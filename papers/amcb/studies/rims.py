"""Hundreds of rims: the cost of selective repeat, and the number of reception results.

The rule: selective repeat copes with many rims if all have the file in every run, fewer than half answer in a
round, and the time grows less than the number of rims does, by a twentieth at least (`claims.MORE`).
"""

from collections.abc import Iterator

from groupflow.study.claims import Claim, finding
from papers.amcb.claims import MORE
from papers.amcb.outcome import SIMULATION, Outcomes, again, latency, runs
from papers.amcb.paper import Case

NAME = "rims"
SIZE = 194_557
COUNTS, QUICK_COUNTS = (3, 30, 300), (3, 60)
EVERYONE = 100_000
"""more rims than there are: all of them answer"""


def _cases(quick: bool) -> list[Case]:
    counts = QUICK_COUNTS if quick else COUNTS
    few = [Case(SIZE, "scheduled", "selective", rims=count) for count in counts]
    return [*few, Case(SIZE, "scheduled", "selective", rims=counts[-1], crowd=EVERYONE)]


def _judge(found: Outcomes) -> Iterator[Claim]:
    counts = sorted({case.rims for case in found})
    least, most = counts[0], counts[-1]
    all_of_them = found[Case(SIZE, "scheduled", "selective", rims=most, crowd=EVERYONE)]
    many = found[Case(SIZE, "scheduled", "selective", rims=most)]
    missing = sum(most - outcome.complete for outcome in many)
    a_round = sum(o.answers for o in many) / sum(o.rounds for o in many)
    everyone = sum(o.answers for o in all_of_them) / sum(o.rounds for o in all_of_them)
    growth = latency(many) / latency(found[Case(SIZE, "scheduled", "selective", rims=least)])
    yield from [
        finding(NAME, "complete-selective", f"selective repeat: all of {most} rims have the file",
                missing, "rims without it", missing == 0, "over all seeds"),
        finding(NAME, "results-selective", "selective repeat: results a round are fewer than rims",
                a_round, "results a round", a_round < most / 2,
                f"at most half; when everyone answers {everyone:.0f} come through"),
        finding(NAME, "cost-selective", "selective repeat: time grows less than rims do",
                growth, f"times, {most} rims over {least}", growth * MORE < most / least,
                f"by {MORE:g} at least; {latency(many):.0f} s; {again(many):.0f} % sent again"),
    ]  # fmt: skip


STUDY = SIMULATION.beyond(NAME, "hundreds of rims: the cost of selective repeat", runs(_cases), _judge)
