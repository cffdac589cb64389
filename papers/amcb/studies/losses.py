"""Losses in bursts, and losses that become more during a transfer: does retransmission grow as in Table 1?

The rule: that of the paper's claims on growth (`claims.growth`). With losses that do not depend on the time,
in bursts or not, every size sends the same share again. The second link begins each transfer with half of
its losses, as Table 1 seems to: by the formula of `infer.py` its scheduled figures need a loss of 1.3 % of
packets at the smallest file, and 2.8 % at the largest.
"""

from collections.abc import Iterator

from groupflow.study.claims import Claim, restated
from papers.amcb.claims import Figures, growth
from papers.amcb.outcome import SIMULATION, Outcomes, again, runs
from papers.amcb.paper import METHODS, QUICK_SIZES, SIZES, Case, Link

NAME = "losses"
LINKS: dict[Link, str] = {"bursts": "in bursts", "worse": "that become more"}


def _cases(quick: bool) -> list[Case]:
    sizes = QUICK_SIZES if quick else SIZES
    return [Case(size, method, link=link) for link in LINKS for size in sizes for method in METHODS]


def _judge(found: Outcomes) -> Iterator[Claim]:
    sizes = sorted({case.size for case in found})
    for link, said in LINKS.items():
        more: Figures = {(s, m): again(found[Case(s, m, link=link)]) for s in sizes for m in METHODS}
        yield from (restated(claim, NAME, link, said=f"losses {said}") for claim in growth(sizes, more))


STUDY = SIMULATION.beyond(NAME, "losses in bursts, and losses that become more", runs(_cases), _judge)
