"""Selective repeat beside Go-Back-N.

The rule: selective repeat sends less again if Go-Back-N sends a twentieth more at least (`claims.MORE`).
"""

from collections.abc import Iterator

from groupflow.study.claims import Claim, finding
from papers.amcb.claims import MORE
from papers.amcb.outcome import SIMULATION, Outcomes, again, latency, runs
from papers.amcb.paper import METHODS, REPAIRS, Case

NAME = "modes"
SIZE, QUICK_SIZE = 1_626_000, 194_557


def _cases(quick: bool) -> list[Case]:
    size = QUICK_SIZE if quick else SIZE
    return [Case(size, method, repair) for method in METHODS for repair in REPAIRS]


def _judge(found: Outcomes) -> Iterator[Claim]:
    size = next(iter(found)).size
    for method in METHODS:
        back = found[Case(size, method)]
        other = found[Case(size, method, "selective")]
        ratio = again(back) / again(other)
        note = f"at least {MORE:g}; {latency(other):.0f} s instead of {latency(back):.0f}; " + (
            f"{again(other):.1f} % instead of {again(back):.1f} %"
        )
        yield finding(NAME, f"{method}-selective", f"{method}: selective repeat sends less again",
                      ratio, "times less than Go-Back-N", ratio >= MORE, note)  # fmt: skip


STUDY = SIMULATION.beyond(NAME, "selective repeat beside Go-Back-N", runs(_cases), _judge)
