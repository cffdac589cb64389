"""`groupflow reproduce icn2011`: runs figures or studies, writes data, figures and claims, prints them."""

from __future__ import annotations

from experiments.common.reproduction import choose_studies, reproduce
from groupflow.cli.experiments import ExperimentOptions
from papers.icn2011 import parts
from papers.icn2011.execute import execute
from papers.icn2011.figures import FIGURES
from papers.icn2011.studies import STUDIES


def run(options: ExperimentOptions) -> int:
    """The figures, or the studies that are named; see `reproduce`."""
    quick, seed = options.quick, options.seed
    chosen = [
        parts.study(name, quick=quick, seed=seed) for name in choose_studies(options, list(STUDIES))
    ] or [parts.figure(figure, quick=quick, seed=seed) for figure in FIGURES]
    return reproduce(options, chosen, execute, lambda run: run.cost)
