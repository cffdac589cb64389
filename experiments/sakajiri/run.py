"""`groupflow reproduce sakajiri`: runs figures or studies, writes data, figures and claims, prints them."""

from __future__ import annotations

from experiments.common.reproduction import choose_studies, reproduce
from experiments.sakajiri import parts
from experiments.sakajiri.execute import execute
from experiments.sakajiri.studies import STUDIES
from groupflow.cli.experiments import ExperimentOptions


def run(options: ExperimentOptions) -> int:
    """The figures and Table II, or the studies that are named; see `reproduce`."""
    quick, seed = options.quick, options.seed
    chosen = [
        parts.study(name, quick=quick, seed=seed) for name in choose_studies(options, list(STUDIES))
    ] or parts.figures(quick=quick, seed=seed)
    return reproduce(options, chosen, execute, lambda run: run.seconds)
