"""`groupflow reproduce sakajiri`: runs figures or studies, writes data, figures and claims, prints them."""

from __future__ import annotations

from experiments.common.reproduction import choose_studies, reproduce
from groupflow.cli.experiments import ExperimentOptions
from papers.sakajiri import parts
from papers.sakajiri.execute import execute
from papers.sakajiri.studies import STUDIES


def run(options: ExperimentOptions) -> int:
    """The figures and Table II, or the studies that are named; see `reproduce`."""
    quick, seed = options.quick, options.seed
    chosen = [
        parts.study(name, quick=quick, seed=seed) for name in choose_studies(options, list(STUDIES))
    ] or parts.figures(quick=quick, seed=seed)
    return reproduce(options, chosen, execute, lambda run: run.seconds)
