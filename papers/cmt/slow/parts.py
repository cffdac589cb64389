"""The studies of the slow host."""

from groupflow.study.paper import Simulation, Study
from papers.cmt.slow import claims, figures, plan
from papers.cmt.slow.outcome import Outcome, Outcomes, rows, run_one
from papers.cmt.slow.plan import Run

SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=lambda outcomes: outcomes,
    rows=rows,
    title=lambda run: f"a stream, moved down: {run.name}, {run.mode}",
    cost=lambda run: run.hosts,
)
STUDIES = {
    study.name: study
    for study in (
        Study("slow", "the effect of one slow host on the others of its cluster", SIMULATION,
              plan.slow_host, claims.slow_host, figures.slow_host),
        Study("slow-routers", "the same in many clusters behind routers", SIMULATION,
              plan.behind_routers, claims.behind_routers, figures.slow_host),
    )
}  # fmt: skip
