"""The paper's claims about the tree, which are in words, against the measurements."""

from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import Axes, marked, save, subplots
from groupflow.study.experiment import Simulation
from papers.cmt.tree.runs import (
    CHURN_PERMILLE,
    WAYS,
    Outcome,
    Outcomes,
    Run,
    Shape,
    by_size,
    means,
    rows,
    run_one,
)

_Value: TypeAlias = Callable[[Shape], float]

SLOWLY = 2.0
"""growth up to which a figure grows slowly, while the hosts become ten times as many"""
MORE = 1.05
"""ratio from which on a value is more than another"""
LOCAL = 5
"""hosts moved by a departure, up to which a restructuring is local: a cluster has up to 64 members"""
REPAIRED_MS = 1000
REACHED = 0.99


def judge_sizes(outcomes: Outcomes) -> list[Claim]:
    """Claims on trees of several sizes, then on trees whose hosts come and go. Chains are Fig. 1's subject
    (figure_1.py): here, in networks that are not the paper's, they make findings."""
    sizes = sorted({outcome.run.hosts for outcome in outcomes})
    most = sizes[-1]
    copies = {way: _of(outcomes, way, lambda shape: shape.copies) for way in ("tree", "chain", "unicast")}
    stretch = {way: _of(outcomes, way, lambda shape: shape.stretch_mean) for way in ("tree", "chain")}
    multicast = _of(outcomes, "multicast", lambda shape: shape.copies)
    decades = [(size, 10 * size) for size in sizes if 10 * size in sizes]
    depth = _of(outcomes, "tree", lambda shape: shape.depth_mean)
    joins = means(outcomes, lambda outcome: outcome.join_mean_ms, _hosts)
    messages = means(outcomes, lambda outcome: outcome.messages_a_join + outcome.probes_a_join, _hosts)
    overloaded = sum(outcome.overloaded for outcome in outcomes)
    listed = ", ".join(f"{size}: {copies['tree'][size] / multicast[size]:.2f}" for size in sizes)
    return [
        Claim("stress-chain", "", "fewer copies on links between routers than a naive chain of hosts",
              "fewer", copies["tree"][most] / copies["chain"][most], "of the chain's",
              all(copies["tree"][size] * MORE <= copies["chain"][size] for size in sizes),
              f"at most 1/{MORE:g} with each number of hosts; here {most:,}", "finding"),
        Claim("stress-unicast", "3.1.2", "fewer copies than the source sending to each",
              "fewer", copies["tree"][most] / copies["unicast"][most], "of unicast's",
              all(copies["tree"][size] * MORE <= copies["unicast"][size] for size in sizes),
              f"at most 1/{MORE:g} with each number of hosts; here {most:,}"),
        Claim("stress-multicast", "3.1.2", "ideally no copy twice on a link between routers",
              1, copies["tree"][most] / multicast[most], "of IP multicast's copies",
              copies["tree"][most] <= multicast[most], f"hosts: ratio; {listed}"),
        Claim("delay-chain", "", "less delay than a naive chain", "less",
              stretch["tree"][most] / stretch["chain"][most], "of the chain's stretch",
              all(stretch["tree"][size] * MORE <= stretch["chain"][size] for size in sizes),
              f"stretch of the tree: {stretch['tree'][most]:.2f}, {most:,} hosts", "finding"),
        *_slowly("depth", "3.1.2", "large numbers of hosts within a delay constraint: depth", depth, decades),
        *_slowly("join-time", "2", "the tree protocol scales well: time of a join", joins, decades),
        *_slowly("join-messages", "2", "it scales well: messages and probes a join", messages, decades),
        _lower(outcomes),
        Claim("bandwidth", "3.1.2", "hosts of mixed bandwidth: none is to send more than its link carries", 0,
              overloaded, "hosts", overloaded == 0,
              "a stream of 4 Mbit/s; links of 2, 4, 8, 16 and 32 Mbit/s up; in all runs"),
        *_churn([outcome for outcome in outcomes if outcome.run.hosts == most]),
    ]  # fmt: skip


def _churn(outcomes: Outcomes) -> list[Claim]:
    found = [outcome.churn for outcome in outcomes if outcome.churn]
    if not found:
        return []
    reached, moves, repair, late = (
        sum(map(attrgetter(name), found)) / len(found)
        for name in ("reached_mean", "moves_a_departure", "repair_median_ms", "repair_p95_ms")
    )
    cut_off = sum(churn.cut_off for churn in found)
    waiting = sum(churn.waiting for churn in found)
    share = f"{CHURN_PERMILLE / 10:g} % a minute"
    return [
        Claim("churn-end", "3.1.2",
        f"departures and failures are handled: at {share} none is cut off in the end",
              0, cut_off, "hosts", cut_off == 0,
              f"{waiting} others find no room: hosts offer to serve 2.4 each, some regions fewer"),
        Claim("churn-local", "3.1.2", "restructuring is local: hosts moved, a departure", "local", moves,
              "hosts", moves < LOCAL, f"below {LOCAL:g}"),
        finding("tree", "churn-reached", f"hosts are reached while others leave, at {share}",
        reached, "share",
                reached >= REACHED, f"at least {REACHED:g} of {outcomes[0].run.hosts:,} hosts; half of those"
                " that go fail; looked at once a second"),
        finding("tree", "churn-repair", "time without a parent, median", repair, "ms", repair < REPAIRED_MS,
                f"below {REPAIRED_MS:g}; of twenty one had more than {late:.0f} ms"),
    ]  # fmt: skip


def _lower(outcomes: Outcomes) -> Claim:
    """The claim on hosts of least capacity; equal hosts would make all ratios 1."""
    shapes = [outcome.ways["tree"].depth_by_capacity for outcome in outcomes]
    found = [{int(children): depth for children, depth in shape.items()} for shape in shapes]
    depths = {c: fmean(each[c] for each in found if c in each) for c in sorted({c for e in found for c in e})}
    least, *others = depths.values()
    ratio = least / max(others)
    return Claim("capacity-depth", "2", "hosts of least capacity are at the lower levels", "lower", ratio,
                 "mean depth over the next", ratio >= MORE, f"at least {MORE:g}; children offered: depth; "
                 + ", ".join(f"{children}: {depth:.1f}" for children, depth in depths.items()))  # fmt: skip


def _slowly(
    name: str, figure: str, claim: str, values: dict[float, float], decades: list[tuple[int, int]]
) -> list[Claim]:
    """The claim, where some runs have ten times the hosts of others."""
    listed = ", ".join(f"{size:g}: {value:.1f}" for size, value in values.items())
    ratios = [values[more] / values[fewer] for fewer, more in decades]
    return [
        Claim(name, figure, claim, "grows slowly", worst, "times for ten times the hosts",
              worst <= SLOWLY, f"at most {SLOWLY:g}; {listed}")
        for worst in [max(ratios, default=None)] if worst is not None
    ]  # fmt: skip


def _of(outcomes: Outcomes, way: str, value: _Value) -> dict[float, float]:
    return means(outcomes, lambda outcome: value(outcome.ways[way]), _hosts)


def _hosts(run: Run) -> float:
    return run.hosts


def draw_sizes(path: Path, outcomes: Outcomes) -> None:
    """Draws four panels over the number of hosts: copies, delay, joins, churn."""
    drawing, ((copies, stretch), (joins, churn)) = subplots(2, 2, figsize=(9.6, 6.4))

    def plot(panel: Axes, values: dict[float, float], label: str, number: int) -> None:
        panel.plot(list(values), list(values.values()), label=label, **marked(number))

    for number, way in enumerate(WAYS):
        plot(copies, _of(outcomes, way, lambda shape: shape.copies), way, number)
        if way != "multicast":
            plot(stretch, _of(outcomes, way, lambda shape: shape.stretch_mean), way, number)
    copies.set(xscale="log", yscale="log", xlabel="Hosts", ylabel="Copies of a packet on links")
    copies.legend()
    stretch.set(xscale="log", yscale="log", xlabel="Hosts", ylabel="Delay over unicast's, mean")
    messages = joins.twinx()
    for panel, name, label, number in (
        (joins, "join_mean_ms", "time, mean", 0),
        (joins, "join_p95_ms", "time, one in twenty longer", 1),
        (messages, "messages_a_join", "messages", 2),
        (messages, "probes_a_join", "probes", 3),
    ):
        plot(panel, means(outcomes, attrgetter(name), _hosts), label, number)
    joins.set(xscale="log", xlabel="Hosts", ylabel="Time to join [ms]", ylim=(0, 4500))
    messages.set(ylabel="Messages and probes a join", ylim=(0, 320))
    lines = [*joins.get_lines(), *messages.get_lines()]
    joins.legend(handles=lines, loc="upper left", ncols=2)
    lasting = [outcome for outcome in outcomes if outcome.churn]
    for name, label, number in (
        ("repair_median_ms", "median", 0),
        ("repair_p95_ms", "one in twenty longer", 1),
    ):
        plot(churn, means(lasting, attrgetter(f"churn.{name}"), _hosts), label, number)
    churn.set(xscale="log", xlabel="Hosts", ylabel="Without a parent [ms]", ylim=(0, None))
    churn.legend(title="10 % of the hosts a minute")
    save(drawing, path)


SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=lambda outcomes: outcomes,
    rows=rows,
    title=lambda run: f"a tree of {run.hosts:,} hosts",
    cost=lambda run: run.hosts,
)
TREE = SIMULATION.study(
    "tree", "trees of up to 10,000 hosts over networks of routers", by_size, judge_sizes, draw_sizes
)
