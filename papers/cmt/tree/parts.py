"""The studies of the tree."""

from groupflow.study.paper import Simulation, Study
from papers.cmt.tree import claims, figures, plan
from papers.cmt.tree.outcome import Outcome, Outcomes, rows, run_one
from papers.cmt.tree.plan import Run

SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=lambda outcomes: outcomes,
    rows=rows,
    title=lambda run: f"a tree of {run.hosts:,} hosts",
    cost=lambda run: run.hosts,
)
STUDIES = {
    "tree": Study("tree", "trees of up to 10,000 hosts over networks of routers", SIMULATION,
                  plan.by_size, claims.by_size, figures.by_size),
    "threshold": SIMULATION.beyond("threshold", "the threshold of nearness in a cluster",
                                   plan.by_threshold, claims.by_threshold, figures.by_threshold),
}  # fmt: skip
