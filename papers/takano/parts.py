"""What the command can run: scenarios of the paper and studies, each with its simulations and its files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from papers.takano import figures
from papers.takano.judge import Outcomes, Rule
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES, QUICK_SECONDS
from papers.takano.plan import Run, label, scenario_runs
from papers.takano.studies import STUDIES
from papers.takano.studies.study import Study
from papers.takano.table import write_table


@dataclass(frozen=True)
class Part:
    """A scenario or a study. Its files are written when the last of its runs is over."""

    name: str
    runs: list[Run]
    rules: list[Rule]
    """of a study; claims of the paper compare scenarios"""
    draw: Callable[[Path, Outcomes], None]
    """into a folder"""
    measured: dict[Run, Outcome] = field(default_factory=dict[Run, Outcome])

    def add(self, outcome: Outcome, out: Path) -> None:
        self.measured[outcome.run] = outcome
        if len(self.measured) == len(self.runs):
            write_table(out / f"{self.name}.csv", [self.measured[run] for run in self.runs])
            self.draw(out, self.outcomes)

    @property
    def outcomes(self) -> Outcomes:
        """Of labels that were run as often as they are to be, in the order of the runs."""
        found: dict[str, list[Outcome]] = {}
        for run in self.runs:
            if run in self.measured:
                found.setdefault(run.label, []).append(self.measured[run])
        planned = [run.label for run in self.runs]
        return {name: runs for name, runs in found.items() if len(runs) == planned.count(name)}


def scenario(name: str, *, quick: bool, seed: int) -> Part:
    """Of the paper."""
    runs = scenario_runs(name, seconds=QUICK_SECONDS if quick else None, seed=seed)
    return Part(f"scenario-{name}", runs, [], partial(_draw_scenario, name))


def study(name: str, *, quick: bool, seed: int) -> Part:
    chosen = STUDIES[name]
    runs = chosen.runs(quick, seed)
    return Part(f"study-{name}", runs, chosen.rules(runs), partial(_draw_study, chosen))


def _draw_scenario(name: str, out: Path, outcomes: Outcomes) -> None:
    tcp, dfc = outcomes[label(name, "tcp")], outcomes[label(name, "dfc")]
    figure = CASES[name].figure.removeprefix("Fig. ")
    figures.efficiency(out / f"figure-{figure}-scenario-{name}.png", tcp, dfc)
    if name == "4":
        figures.stored(out / "figure-12-13.png", tcp[0], dfc[0])


def _draw_study(chosen: Study, out: Path, outcomes: Outcomes) -> None:
    chosen.draw(out / f"study-{chosen.name}.png", outcomes)
