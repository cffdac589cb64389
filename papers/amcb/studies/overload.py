"""A hub that sends a few per cent faster than its link, for the growth of Table 1's retransmission.

The rule: an overload explains the growth if all three of the paper's claims about it hold. The queue is
long, or holds two packets.
"""

from collections.abc import Iterator
from pathlib import Path

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import marked, save, subplots
from papers.amcb.claims import Figures, growth
from papers.amcb.outcome import SIMULATION, Outcomes, again
from papers.amcb.paper import METHODS, QUICK_SIZES, SIZES, TABLE, Case, Run

NAME = "overload"
ABOVE = (1.0, 1.02, 1.1)
QUEUES = (50, 2)
SEEDS = 3


def _runs(quick: bool, seed: int) -> list[Run]:
    sizes, seeds = (QUICK_SIZES, 1) if quick else ((SIZES[0], SIZES[3], SIZES[-1]), SEEDS)
    return [
        Run(Case(size, method, above=above, queue=queue), number)
        for above in ABOVE
        for queue in QUEUES
        for size in sizes
        for method in METHODS
        for number in range(seed, seed + seeds)
    ]


def _judge(found: Outcomes) -> Iterator[Claim]:
    sizes = sorted({case.size for case in found})
    for above in ABOVE:
        for queue in QUEUES:
            more: Figures = {
                (s, m): again(found[Case(s, m, above=above, queue=queue)]) for s in sizes for m in METHODS
            }
            judged = list(growth(sizes, more))
            held = sum(claim.holds for claim in judged)
            yield finding(NAME, f"{above:g}-{queue}",
                          f"{above - 1:.0%} above the link, a queue of {queue}: retransmission grows", held,
                          f"of {len(judged)} claims", held == len(judged),
                          "; ".join(f"{claim.id} {claim.measured:.2f}" for claim in judged))  # fmt: skip


def _draw(path: Path, found: Outcomes) -> None:
    sizes = sorted({case.size for case in found})
    drawing, axes = subplots(1, len(METHODS), figsize=(12, 3.6))
    for axis, method in zip(axes, METHODS, strict=True):
        for number, above in enumerate(ABOVE):
            for queue, style in zip(QUEUES, ("-", ":"), strict=True):
                values = [again(found[Case(s, method, above=above, queue=queue)]) for s in sizes]
                label = f"{above - 1:.0%}, queue {queue}"
                axis.plot(sizes, values, style, label=label, **marked(number))
        axis.plot(sizes, [TABLE[s][method].again_percent for s in sizes], "kx", label="the paper")
        axis.set(title=method, xscale="log", xlabel="Size of the file [bytes]", ylabel="Sent again [%]")
    axes[0].legend()
    save(drawing, path)


STUDY = SIMULATION.beyond(NAME, "a hub that sends faster than its link", _runs, _judge, _draw)
