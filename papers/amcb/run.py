"""`groupflow reproduce amcb`: runs the table or studies, writes data, figures and claims, prints them."""

from __future__ import annotations

from experiments.common.reproduction import choose_studies, reproduce
from groupflow.cli.experiments import ExperimentOptions
from papers.amcb import parts
from papers.amcb.execute import execute
from papers.amcb.studies import STUDIES


def run(options: ExperimentOptions) -> int:
    """Table 1, or the studies that are named; see `reproduce`."""
    quick, seed = options.quick, options.seed
    chosen = [
        parts.study(name, quick=quick, seed=seed) for name in choose_studies(options, list(STUDIES))
    ] or [parts.table(quick=quick, seed=seed)]
    return reproduce(options, chosen, execute, lambda run: float(run.case.size * run.case.rims))
