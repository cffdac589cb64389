"""The checkout around this package: papers and experiments stand in it, beside the package, not in it."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from groupflow.study.errors import StudyError

if TYPE_CHECKING:
    from groupflow.study.experiment import Experiment
    from groupflow.study.paper import Paper

ROOT = Path(__file__).resolve().parents[3]


def folder(name: str) -> Path:
    """A folder of the checkout. Raises StudyError where this package was installed without one."""
    path = ROOT / name
    if not path.is_dir():
        raise StudyError(
            f"{path} is missing: {name} are part of a checkout, not of an installed package; clone the"
            " repository, run 'make setup' in it, and use its .venv/bin/groupflow"
        )
    return path


def at_hand() -> None:
    """Lets this process import what stands in the checkout."""
    if sys.path[0] != str(ROOT):
        sys.path.insert(0, str(ROOT))


def load(parent: str, name: str) -> ModuleType:
    """A module of a package in the checkout, like `takano.reproduction` of `papers`. Raises StudyError."""
    folder(parent)
    at_hand()
    try:
        found = import_module(parent).__file__
        if found is None or not Path(found).resolve().is_relative_to(ROOT):
            raise StudyError(f"{found} is another package {parent}, not that of {ROOT}")
        return import_module(f"{parent}.{name}")
    except (ImportError, SyntaxError) as error:
        raise StudyError(f"{parent}.{name} cannot be loaded: {error}") from error


def paper_names() -> list[str]:
    """Raises StudyError."""
    return sorted(path.parent.name for path in folder("papers").glob("*/reproduction.py"))


def load_paper(name: str) -> "Paper":
    """One of those. Raises StudyError."""
    from groupflow.study.paper import Paper

    paper: object = getattr(load("papers", f"{name}.reproduction"), "PAPER", None)
    if not isinstance(paper, Paper):
        raise StudyError(f"papers.{name}.reproduction has no PAPER, a groupflow.study.paper.Paper")
    return paper


def experiment_names() -> list[str]:
    """Raises StudyError."""
    return sorted(path.parent.name for path in folder("experiments").glob("*/run.py"))


def load_experiment(name: str) -> "Experiment":
    """One of those. Raises StudyError."""
    module = load("experiments", f"{name}.run")
    from groupflow.study.experiment import Experiment

    experiment: object = getattr(module, "EXPERIMENT", None)
    if not isinstance(experiment, Experiment):
        where = f"experiments.{name}.run"
        raise StudyError(f"{where} has no EXPERIMENT, a groupflow.study.experiment.Experiment")
    return experiment
