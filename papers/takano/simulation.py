"""The simulation of a run of this paper; its series stay in a folder of its own."""

from pathlib import Path

from groupflow import sim
from groupflow.study.experiment import Simulation
from groupflow.study.files import Row
from groupflow.study.pool import end_when_told
from papers.takano import network, routers
from papers.takano.judge import Outcomes, by_label
from papers.takano.outcome import Outcome, load
from papers.takano.plan import Run


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
        "pauses": outcome.pauses,
        "throughput_bps": " ".join(f"{flow}={bps:.0f}" for flow, bps in throughput.items()),
    }
