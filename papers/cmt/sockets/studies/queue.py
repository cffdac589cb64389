"""The largest queue of the narrowest link with which twenty connections interfere (figure 2).

The rule: a queue explains Fig. 2 if the paper's claims about the figure, on the best number and on twenty
connections, hold with it.
"""

from pathlib import Path

from groupflow.study.claims import Claim, restated
from groupflow.study.drawing import PALE, panel
from papers.cmt.sockets import claims, figures, paper
from papers.cmt.sockets.outcome import SIMULATION, Outcomes, runs

NAME = "queue"
QUEUES = (3, 5, 8, 10, 15, None)
QUICK = (5, None)
HIGHEST_S = 35


def _cases(quick: bool) -> list[paper.Case]:
    queues, most = (QUICK, paper.QUICK_UP_TO_MOST) if quick else (QUEUES, paper.UP_TO_MOST)
    return [paper.Case(paper.MIDDLE, n, queue) for queue in queues for n in most]


def _judge(outcomes: Outcomes) -> list[Claim]:
    return [
        restated(claim, NAME, str(packets), said=f"{packets} packets")
        for queue, found in outcomes.items()
        for packets in [queue or found.path.packets]
        for claim in claims.figure_2(found)
    ]


def _draw(path: Path, outcomes: Outcomes) -> None:
    with panel(path, (5.6, 3.6), title="queue") as axis:
        axis.axvspan(paper.BEST_FROM, paper.BEST_TO, color=PALE, alpha=0.4, label="the paper's shortest")
        for number, (queue, found) in enumerate(outcomes.items()):
            figures.times(axis, found.row(paper.MIDDLE), f"{queue or found.path.packets} packets", number)
        axis.set(xlabel="Connections, 32 KB each", ylabel="Time [s]", ylim=(0, HIGHEST_S))


STUDY = SIMULATION.beyond(
    NAME, "the largest queue at the narrowest link", runs(_cases, paper.QUICK_SEEDS), _judge, _draw
)
