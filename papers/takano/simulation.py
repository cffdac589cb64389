"""The simulation of a run of this paper; its series stay in a folder of its own."""

from pathlib import Path

from groupflow import sim
from groupflow.study.paper import Simulation
from groupflow.study.pool import end_when_told
from papers.takano import network, routers
from papers.takano.judge import Outcomes, by_label
from papers.takano.outcome import Outcome, load
from papers.takano.plan import Run
from papers.takano.table import row


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
