"""Measurements of one run, in the paper's terms."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from groupflow import sim
from groupflow.sim import Results
from groupflow.study.experiment import Simulation, grouped
from groupflow.study.files import Row
from groupflow.study.pool import end_when_told
from papers.takano import network, routers
from papers.takano.paper import TARGET, Case
from papers.takano.plan import Run

Series = NDArray[np.float64]

SETTLED_AFTER_S = 0.1
"""time from the start of the last flow until means are taken"""


@dataclass(frozen=True)
class Outcome:
    """Measurements of a run. All series have the times of `time_s`."""

    run: Run
    time_s: Series
    efficiency: Series
    """packets of the target flow in transit on links over the largest possible number, 0 to 1"""
    throughput_bps: dict[str, Series]
    """series of each flow"""
    window_packets: Series
    """window of the target flow's TCP"""
    queues: NDArray[np.float64]
    """packets stored, by time and node; column 0 is node 1"""
    drops: dict[int, int]
    """packets dropped by full queues from the start of the background traffic on, by node; 0: hosts"""
    early_drops: int
    """packets dropped before the background traffic"""
    retransmissions: dict[str, int]
    wall_s: float
    packet_hops: int
    marks: int = 0

    @property
    def simulated_s(self) -> float:
        return float(self.time_s[-1])

    @property
    def case(self) -> Case:
        return self.run.case

    @property
    def settled(self) -> NDArray[np.bool_]:
        """Mask of the samples for means: some time after the last flow has joined."""
        joined_s = max(source.start_s for source in self.case.sources)
        return self.time_s >= joined_s + min(SETTLED_AFTER_S, (self.time_s[-1] - joined_s) / 2)

    @property
    def mean_efficiency(self) -> float:
        return float(np.mean(self.efficiency[self.settled]))

    @property
    def efficiency_spread(self) -> float:
        """Standard deviation of the efficiency."""
        return float(np.std(self.efficiency[self.settled]))

    @property
    def dropped(self) -> int:
        return sum(self.drops.values())

    @property
    def mean_throughput_bps(self) -> dict[str, float]:
        """Mean throughput of each flow."""
        return {flow: float(np.mean(series[self.settled])) for flow, series in self.throughput_bps.items()}

    @property
    def fairness(self) -> float:
        """The slowest flow's mean throughput over the fastest one's, 0 to 1."""
        means = self.mean_throughput_bps.values()
        return min(means) / max(*means, 1.0)

    @property
    def link_use(self) -> float:
        """Throughput of all flows together over the line's rate, about 1 at most."""
        return sum(self.mean_throughput_bps.values()) / self.case.goodput_bps

    @property
    def fullest_queue(self) -> float:
        """The most packets stored in any node at any sample."""
        return float(self.queues.max())

    @property
    def fullest_node(self) -> int:
        """The node with that sample."""
        return int(np.argmax(self.queues.max(axis=0))) + 1

    @property
    def swings(self) -> Series:
        """Standard deviation of each node's queue over the second half of the run, packets."""
        return self.queues[self.time_s >= self.time_s[-1] / 2].std(axis=0)

    @property
    def swing(self) -> float:
        """The largest of the nodes' swings."""
        return float(self.swings.max())

    @property
    def fullest_share(self) -> float:
        """The largest share of all stored packets in one node, when most are stored; 0: none ever are."""
        stored = self.queues[int(self.queues.sum(axis=1).argmax())]
        total = float(stored.sum())
        return float(stored.max()) / total if total > 0 else 0.0


def load(run: Run, results: Results) -> Outcome:
    """The outcome of a run that kept its series."""
    efficiency = results.efficiency(TARGET)
    time_s = np.array(efficiency["time_s"])
    drops, early = _drops(results, run.case.background_start_s)
    flows = [source.flow for source in run.case.sources]
    return Outcome(
        run=run,
        time_s=time_s,
        efficiency=np.array(efficiency["efficiency"]),
        throughput_bps={flow: _at(time_s, results.throughput(flow), "throughput_bps") for flow in flows},
        window_packets=_at(time_s, results.windows(TARGET), "cwnd_packets"),
        queues=_stored(run.case, time_s, results),
        drops=drops,
        early_drops=early,
        retransmissions={name: flow.retransmissions or 0 for name, flow in results.flows.items()},
        wall_s=results.wall_s,
        packet_hops=results.packet_hops,
        marks=results.signalled("ecn_marked"),
    )


def _drops(results: Results, joined_s: float) -> tuple[dict[int, int], int]:
    """Packets dropped by node since the background joined, and all packets dropped before."""
    drops = Counter[int]()
    early = 0
    for time_s, drop in results.drops_over_time():
        if drop.reason != "queue_full":
            continue
        if time_s <= joined_s:
            early += drop.packets
        else:
            node = drop.node.removeprefix("n")
            drops[int(node) if node.isdigit() else 0] += drop.packets
    return dict(drops), early


def _at(time_s: Series, series: dict[str, list[float]], column: str) -> Series:
    """The column at the times of `time_s`; 0 where it has no sample."""
    values = dict(zip(series.get("time_s", ()), series.get(column, ()), strict=True))
    return np.array([values.get(float(t), 0.0) for t in time_s])


def _stored(case: Case, time_s: Series, results: Results) -> NDArray[np.float64]:
    places = {float(t): row for row, t in enumerate(time_s)}
    queues = np.zeros((len(time_s), case.nodes))
    for name, series in results.queue_packets().items():
        if not name.startswith("n"):
            continue  # a host's own queue
        for t, packets in zip(series["time_s"], series["packets"], strict=True):
            if (row := places.get(t)) is not None:
                queues[row, int(name[1:]) - 1] = packets
    return queues


Outcomes: TypeAlias = Mapping[str, Sequence[Outcome]]
"""by label, repetitions in their order"""


def by_label(outcomes: Iterable[Outcome]) -> Outcomes:
    return grouped(outcomes, lambda outcome: outcome.run.label)


def run_one(run: Run, folder: Path) -> Outcome:
    """Simulates a run. Afterwards the folder is complete, or does not exist."""
    build = network.scenario if run.control in ("tcp", "dfc") else routers.scenario
    folder.parent.mkdir(parents=True, exist_ok=True)
    return load(run, sim.run(build(run), end_when_told, out=folder))


SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=by_label,
    rows=lambda outcome: [row(outcome)],
    title=lambda run: run.label,
    cost=lambda run: run.cost,
    folder=lambda run: run.folder,
)


def row(outcome: Outcome) -> Row:
    """A row for one run. Means and spreads are of the settled part; names without a unit are packets."""
    run, case = outcome.run, outcome.case
    throughput = outcome.mean_throughput_bps
    return {
        "label": run.label,
        "run": run.number,
        "control": run.control,
        "tcp": case.tcp,
        "nodes": case.nodes,
        "bandwidth_bps": case.bandwidth_bps,
        "d": case.diffusion,
        "alpha": case.alpha,
        "simulated_s": case.seconds,
        "background_start_s": round(case.background_start_s, 9),
        "mean_efficiency": round(outcome.mean_efficiency, 6),
        "efficiency_spread": round(outcome.efficiency_spread, 6),
        "fairness": round(outcome.fairness, 6),
        "link_use": round(outcome.link_use, 6),
        "drops": outcome.dropped,
        "early_drops": outcome.early_drops,
        "fullest_queue": int(outcome.fullest_queue),
        "fullest_node": outcome.fullest_node,
        "swing": round(outcome.swing, 3),
        "retransmissions": sum(outcome.retransmissions.values()),
        "ecn_marked": outcome.marks,
        "throughput_bps": " ".join(f"{flow}={bps:.0f}" for flow, bps in throughput.items()),
    }
