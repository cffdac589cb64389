"""The gain from moving a slow host down, against the measurements.

The paper (3.1.2) moves "the host with the largest total latency", which then "will no longer adversely affect
other hosts": these are its claims. What holds without moving, and with another rule, are findings.

The rule: a slow host affects others no longer if in every run those that were below it catch up soon, and
lose nothing, and all others have the stream's rate (`WHOLE`) and lose nothing.
"""

from pathlib import Path
from statistics import median

from groupflow.study.claims import Claim, Kind
from groupflow.study.drawing import GREY, Axes, line, save, subplots
from groupflow.study.experiment import Simulation
from papers.cmt.slow.network import run_one
from papers.cmt.slow.runs import (
    DEMOTIONS,
    MODES,
    NONE_SLOW,
    RATE_MBPS,
    SLOW_AT_S,
    SLOW_MBPS,
    STREAM_S,
    Outcome,
    Outcomes,
    Run,
    of,
    rows,
    slow_host,
)

WHOLE = 0.99
"""share of the stream's rate that counts as all of it: some bytes are under way at the end"""
SOON_S = 10.0
"""s in which the hosts that were below the slow one must catch up"""
BOUND = 1.05
"""ratio to the slow host's rate that those below it do not exceed, but for bytes under way"""
MOVES = {"largest_latency": "the farthest is moved (the paper's rule)", "slowest": "the slow one is moved"}


def judge_slow(outcomes: Outcomes) -> list[Claim]:
    """Claims without a slow host, with one that is never moved, and with both rules."""
    return [
        _whole("none-slow", "nobody is slow: all have the stream's rate", of(outcomes, NONE_SLOW), "finding"),
        _bounded(of(outcomes, "never", "skip")),
        _whole("never-others", "nobody is moved: the others do not notice",
               of(outcomes, "never", "isolate", "skip"), "finding"),
        *(
            claim
            for mode in ("skip", "isolate")
            for rule in MOVES
            for claim in _moved(rule, mode, of(outcomes, rule, mode))
        ),
        _own(of(outcomes, "slowest", "skip"), of(outcomes, "never", "skip")),
        _waited_for(of(outcomes, "never", "wait"), of(outcomes, "slowest", "wait")),
    ]  # fmt: skip


def _moved(rule: str, mode: str, outcomes: Outcomes) -> list[Claim]:
    what = f"{MOVES[rule]}, {mode}"
    kind: Kind = "claim" if rule == "largest_latency" else "finding"
    below = [outcome.groups["below"] for outcome in outcomes]
    soon = [group.caught_up for group in below if group.caught_up is not None]
    longest = max(soon) if len(soon) == len(below) else float(STREAM_S - SLOW_AT_S)
    lost = sum(group.cut_off for group in below), sum(group.skipped for group in below)
    note = (
        f"{len(soon)} of {len(below)} runs; {lost[0]} cut off, {lost[1]:,} bytes skipped;"
        f" {median(outcome.moves for outcome in outcomes):g} moves in the median,"
        f" {median(outcome.source_children for outcome in outcomes):g} children of the source in the end"
    )
    return [
        Claim(f"{rule}-{mode}-below", "3.1.2",
              f"{what}: those that were below it are caught up, and have lost nothing",
              f"within {SOON_S:g} s", longest, "s", longest <= SOON_S and lost == (0, 0), note, kind),
        _whole(f"{rule}-{mode}-others", f"{what}: the others do not notice", outcomes, kind),
    ]  # fmt: skip


def _whole(name: str, claim: str, outcomes: Outcomes, kind: Kind) -> Claim:
    groups = [outcome.groups["others"] for outcome in outcomes]
    least = min(group.goodput_least for group in groups) / (RATE_MBPS * 1e6)
    lost = sum(group.cut_off for group in groups) + sum(group.skipped for group in groups)
    lag = max(group.lag_most for group in groups)
    return Claim(name, "3.1.2", claim, 1, least, "of the stream's rate, the least",
                 least >= WHOLE and lost == 0, f"{len(groups)} runs; at most {lag:.2f} s behind",
                 kind)  # fmt: skip


def _bounded(outcomes: Outcomes) -> Claim:
    """The claim that there is something to gain: hosts below the slow one have its rate at most."""
    most = max(outcome.groups["below"].goodput_median for outcome in outcomes) / 1e6
    lag = min(outcome.groups["below"].lag_end for outcome in outcomes)
    return Claim("never-below", "3.1.2", "nobody is moved: those below the slow one have its rate at most",
                 SLOW_MBPS, most, "Mbit/s, median of a run's hosts, the most", most <= SLOW_MBPS * BOUND,
                 f"skip; in the end {lag:.0f} s behind or more", "finding")  # fmt: skip


def _own(moved: Outcomes, stays: Outcomes) -> Claim:
    """The claim on the goodput of the moved host itself."""
    ratio = median(_own_goodput(outcome) for outcome in moved) / median(_own_goodput(o) for o in stays)
    moves = median(outcome.slow_moves for outcome in moved)
    return Claim("slowest-own", "", "the slow one, moved down, has as much as before", 1, ratio,
                 "of what it has where it is not moved, skip", ratio >= 0.9,
                 f"it is moved {moves:g} times in the median", "finding")  # fmt: skip


def _waited_for(never: Outcomes, slowest: Outcomes) -> Claim:
    """The claim that with `wait`, where no host is left behind, moving does not help in the long run."""
    ends = [outcome.groups["others"].end_least / 1e6 for outcome in slowest]
    without = [outcome.groups["others"].end_least / 1e6 for outcome in never]
    lost = sum(group.cut_off + group.skipped for o in slowest for group in o.groups.values())
    most = max(ends)
    return Claim("wait", "", "wait: nothing is lost, and in the end all have the slow one's rate at most",
                 SLOW_MBPS, most, "Mbit/s in the last 10 s", most <= SLOW_MBPS * BOUND and lost == 0,
                 f"median {median(ends):.2f}; {median(without):.2f} where nobody is moved",
                 "finding")  # fmt: skip


def _own_goodput(outcome: Outcome) -> float:
    return outcome.groups["slow"].goodput_median


TITLES = {
    "never": "nobody is moved",
    "largest_latency": "the farthest is moved",
    "slowest": "the slow one is moved",
}
KINDS = (
    ("slow", "the slow one", line(6)),
    ("others", "others", line(0)),
    ("below", "were below it", line(1)),
)
LEAST_LAG = 0.02
"""s; smaller delays are drawn here, on a logarithmic axis"""


def draw(path: Path, outcomes: Outcomes) -> None:
    """Draws a column for each rule, a row for each mode, and a line for each run and kind of host."""
    from matplotlib.lines import Line2D

    modes = [mode for mode in MODES if any(o.run.mode == mode for o in outcomes)]
    drawing, panels = subplots(
        len(modes), len(DEMOTIONS), figsize=(9.6, 0.6 + 2.2 * len(modes)), sharex=True, sharey=True
    )
    for row, mode in enumerate(modes):
        for column, demotion in enumerate(DEMOTIONS):
            panel: Axes = panels[row][column]
            for outcome in of(outcomes, demotion, mode):
                _lines(panel, outcome)
            panel.axvline(SLOW_AT_S, color=GREY, linewidth=0.6)
            panel.set(yscale="log", ylim=(LEAST_LAG, 60))
            if row == 0:
                panel.set_title(TITLES[demotion])
            if row == len(modes) - 1:
                panel.set_xlabel("Time in the stream [s]")
            if column == 0:
                panel.set_ylabel(f"{mode}\nBehind the source, last [s]")
    panels[0][0].legend(
        handles=[Line2D([], [], label=label, **look) for _, label, look in KINDS], loc="center right"
    )
    save(drawing, path)


def _lines(panel: Axes, outcome: Outcome) -> None:
    for kind, _, look in KINDS:
        found = [(look.at, getattr(look, kind)) for look in outcome.looks]
        there = [(at, max(lag, LEAST_LAG)) for at, lag in found if lag is not None]
        panel.plot([at for at, _ in there], [lag for _, lag in there], linewidth=1.0, alpha=0.8, **look)


SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=lambda outcomes: outcomes,
    rows=rows,
    title=lambda run: f"a stream, moved down: {run.name}, {run.mode}",
    cost=lambda run: run.hosts,
)
STUDIES = [
    SIMULATION.study(
        "slow", "the effect of one slow host on the others of its cluster", slow_host, judge_slow, draw
    )
]
