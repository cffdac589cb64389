"""The narrowest link's losses: the largest queue with which twenty connections interfere (figure 2); and
losses by a policer, for the largest buffer of Table 1.

The rule of "queue": a queue explains Fig. 2 if the paper's claims about the figure, on the best number and on
twenty connections, hold with it. The rule of "policer": it explains Table 1 if all of the paper's claims on
that hold on the path that is inferred anew with it. Losses in bursts of packets do not: a window of 8,192
bytes meets one retry after the other, and timeouts double.
"""

from pathlib import Path

from groupflow.study.claims import Claim, restated
from groupflow.study.drawing import PALE, save, subplots
from papers.cmt.sockets import claims, figures, paper
from papers.cmt.sockets.outcome import SIMULATION, Outcomes, runs

NAME = "queue"
QUEUES = (3, 5, 8, 10, 15, None)
QUICK = (5, None)
HIGHEST_S = 35


def _cases(quick: bool) -> list[paper.Case]:
    queues, most = (QUICK, paper.QUICK_UP_TO_MOST) if quick else (QUEUES, paper.UP_TO_MOST)
    return [paper.Case(paper.MIDDLE, n, paper.Open(queue=queue)) for queue in queues for n in most]


def _judge(outcomes: Outcomes) -> list[Claim]:
    return [
        restated(claim, NAME, str(packets), said=f"{packets} packets")
        for chosen, found in outcomes.items()
        for packets in [_packets(chosen, outcomes)]
        for claim in claims.figure_2(found)
    ]


def _packets(chosen: paper.Open, outcomes: Outcomes) -> int:
    return chosen.queue or outcomes[chosen].path.packets


def _draw(path: Path, outcomes: Outcomes) -> None:
    drawing, axis = subplots(figsize=(5.6, 3.6))
    axis.axvspan(paper.BEST_FROM, paper.BEST_TO, color=PALE, alpha=0.4, label="the paper's shortest")
    for number, (chosen, found) in enumerate(outcomes.items()):
        figures.times(axis, found.row(paper.MIDDLE), f"{_packets(chosen, outcomes)} packets", number)
    axis.set(xlabel="Connections, 32 KB each", ylabel="Time [s]", ylim=(0, HIGHEST_S))
    axis.legend(title="queue")
    save(drawing, path)


BUCKETS = [paper.Open(bucket=kb * paper.KB) for kb in (32, 512)]


def _losses(quick: bool) -> list[paper.Case]:
    return [
        paper.Case(buffer, 1, each)
        for each in (BUCKETS[1:2] if quick else BUCKETS)
        for buffer in paper.BUFFERS
    ]


def _said(chosen: paper.Open) -> str:
    return f"bucket of {(chosen.bucket or 0) // paper.KB} KB"


def _judge_losses(outcomes: Outcomes) -> list[Claim]:
    return [
        restated(claim, "policer", _said(chosen).replace(" ", "-"), said=_said(chosen))
        for chosen, found in outcomes.items()
        for claim in claims.table_1(found)
    ]


def _draw_losses(path: Path, outcomes: Outcomes) -> None:
    drawing, axis = subplots(figsize=(5.6, 3.6))
    axis.plot(paper.BUFFERS, list(paper.TABLE_1_S.values()), color="black", marker="x", label="the paper")
    for number, (chosen, found) in enumerate(outcomes.items()):
        figures.times(axis, found.column(1), _said(chosen), number)
    axis.set(xscale="log", xlabel="Buffer, one connection [bytes]", ylabel="Time [s]", ylim=(0, None))
    axis.legend()
    save(drawing, path)


LOSSES = SIMULATION.beyond(
    "policer",
    "a policer in place of the queue",
    runs(_losses, paper.QUICK_SEEDS),
    _judge_losses,
    _draw_losses,
)
STUDY = SIMULATION.beyond(
    NAME, "the largest queue at the narrowest link", runs(_cases, paper.QUICK_SEEDS), _judge, _draw
)
