"""Acknowledgements of agents that are as long as data, or leave ahead of it, for Figs. 9 to 11.

The paper blames an "explosion in ACK packet transmission" at agents for Fig. 10; bare acknowledgements
take a hundredth of a sender's link. The rule: an assumption explains Figs. 9 to 11 if all of the paper's
claims about them hold. Three loads, three seeds of 20 s.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from groupflow.study.claims import Claim, finding, restated
from groupflow.study.drawing import save, subplots
from papers.icn2011 import claims, figures
from papers.icn2011.outcome import SIMULATION, Points
from papers.icn2011.paper import METHODS, QUICK_LOADS, QUICK_SECONDS, SPLIT, Acks, Case, Run

NAME = "agent-acks"
SECONDS, SEEDS = 20.0, 3
WORDS: dict[Acks, str] = {
    "": "in turn, bare",
    "first": "ahead of data, bare",
    "long": "in turn, as long as data",
    "long-first": "ahead of data, as long as data",
}
FOUR = (9, 10, 11)
"""the paper's figures with four senders"""
FIG10 = next(figure for figure in figures.FIGURES if figure.number == 10)


def _runs(quick: bool, seed: int) -> list[Run]:
    """Unicast has no agents, and so one assumption."""
    cases = [
        Case(method, load, senders=4, members=1, acks=acks)
        for method in METHODS
        for acks in (WORDS if method in SPLIT else ("",))
        for load in QUICK_LOADS
    ]
    seconds, seeds = (QUICK_SECONDS, 1) if quick else (SECONDS, SEEDS)
    return [Run(case, number, seconds) for case in cases for number in range(seed, seed + seeds)]


def _with(acks: Acks, points: Points) -> Points:
    """The points with these acknowledgements, as the paper's cases."""
    chosen = {case: point for case, point in points.items() if case.acks == acks or case.method == "unicast"}
    return {replace(case, acks=""): point for case, point in chosen.items()}


def _judge(points: Points) -> Iterator[Claim]:
    for acks, words in WORDS.items():
        here = _with(acks, points)
        judged = [claim for number in FOUR for claim in claims.evaluate(number, here)]
        yield from [restated(claim, NAME, acks or "bare") for claim in judged]
        failed = [claim.id for claim in judged if not claim.holds]
        cached = max(point.mean.cache_ratio for case, point in here.items() if case.method == "n2n")
        yield finding(
            NAME, f"{acks or 'bare'}-explains", f"acknowledgements {words} explain Figs. 9 to 11",
            len(judged) - len(failed), f"of {len(judged)} claims", not failed,
            f"all; not: {', '.join(failed) or 'none'}; Node-Node's cache ratio: {cached:.2f}",
        )  # fmt: skip


def _draw(path: Path, points: Points) -> None:
    figure, axes = subplots(1, len(WORDS), figsize=(14, 3.6), sharey=True)
    for axis, (acks, words) in zip(axes, WORDS.items(), strict=True):
        figures.panel(axis, FIG10, _with(acks, points))
        axis.set_title(words)
    save(figure, path)


STUDY = SIMULATION.beyond(NAME, "long and urgent acknowledgements of agents", _runs, _judge, _draw)
