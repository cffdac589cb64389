"""The checkout around this package: papers and experiments stand in it, beside the package, not in it."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

from groupflow.study import StudyError
from groupflow.study.experiment import Experiment

ROOT = Path(__file__).resolve().parents[3]
Parent: TypeAlias = Literal["papers", "experiments"]
_MODULES: dict[Parent, str] = {"papers": "reproduction", "experiments": "run"}
"""of a folder, the module that has its EXPERIMENT"""


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


def names(parent: Parent) -> list[str]:
    """Raises StudyError."""
    return sorted(path.parent.name for path in folder(parent).glob(f"*/{_MODULES[parent]}.py"))


def load(parent: Parent, name: str) -> Experiment:
    """One of those. Raises StudyError."""
    module = f"{parent}.{name}.{_MODULES[parent]}"
    folder(parent)
    at_hand()
    try:
        found = import_module(parent).__file__
        if found is None or not Path(found).resolve().is_relative_to(ROOT):
            raise StudyError(f"{found} is another package {parent}, not that of {ROOT}")
        experiment: object = getattr(import_module(module), "EXPERIMENT", None)
    except (ImportError, SyntaxError) as error:
        raise StudyError(f"{module} cannot be loaded: {error}") from error
    if not isinstance(experiment, Experiment):
        raise StudyError(f"{module} has no EXPERIMENT, a groupflow.study.experiment.Experiment")
    return experiment
