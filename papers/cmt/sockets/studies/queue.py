"""The largest queue at the narrowest link with which twenty connections interfere (figure 2)."""

from pathlib import Path

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import PALE, save, subplots
from papers.cmt.sockets import claims, figures
from papers.cmt.sockets.outcome import Outcomes
from papers.cmt.sockets.paper import (
    BEST_FROM,
    BEST_TO,
    MIDDLE,
    QUICK_SEEDS,
    QUICK_UP_TO_MOST,
    UP_TO_MOST,
    Case,
    Open,
)
from papers.cmt.sockets.simulation import SIMULATION, runs

NAME = "queue"
QUEUES = (3, 5, 8, 10, 15, None)
QUICK = (5, None)
HIGHEST_S = 35


def _cases(quick: bool) -> list[Case]:
    queues, most = (QUICK, QUICK_UP_TO_MOST) if quick else (QUEUES, UP_TO_MOST)
    return [Case(MIDDLE, n, Open(queue=queue)) for queue in queues for n in most]


def _judge(outcomes: Outcomes) -> list[Claim]:
    return [
        finding(NAME, f"{claim.id}-{_packets(chosen, outcomes)}",
                f"{_packets(chosen, outcomes)} packets: {claim.claim}", claim.measured, claim.unit,
                claim.holds, claim.note)
        for chosen, found in outcomes.items()
        for claim in claims.figure_2(found)
    ]  # fmt: skip


def _packets(chosen: Open, outcomes: Outcomes) -> int:
    return chosen.queue or outcomes[chosen].path.packets


def _draw(path: Path, outcomes: Outcomes) -> None:
    drawing, axis = subplots(figsize=(5.6, 3.6))
    axis.axvspan(BEST_FROM, BEST_TO, color=PALE, alpha=0.4, label="the paper's shortest")
    for number, (chosen, found) in enumerate(outcomes.items()):
        figures.times(axis, found.row(MIDDLE), f"{_packets(chosen, outcomes)} packets", number)
    axis.set(xlabel="Connections, 32 KB each", ylabel="Time [s]", ylim=(0, HIGHEST_S))
    axis.legend(fontsize="small", title="queue")
    save(drawing, path)


STUDY = SIMULATION.beyond(
    NAME, "the largest queue at the narrowest link", runs(_cases, QUICK_SEEDS), _judge, _draw
)
