"""An experiment as `groupflow experiment` knows it, and the frame of the experiments on real networks.

The figures of a run whose switches lagged behind are about the machine: the experiment says so, and fails.
Where a run fails, or Ctrl-C comes, the finished runs are kept: their tables, figures and files.
"""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from subprocess import CalledProcessError
from typing import Any, Generic, TypeVar

from rich.console import Console, RenderableType

from groupflow.errors import Error
from groupflow.study.errors import StoppedError, StudyError, expected
from groupflow.study.files import into, write_json
from groupflow.study.options import ExperimentOptions

Done = TypeVar("Done")


class RunError(Error):
    """A run failed; the text is one line."""


_ERRORS = (Error, OSError, CalledProcessError)


@dataclass(frozen=True)
class Experiment:
    """The `EXPERIMENT` of the module `run` of an experiment's folder."""

    about: str
    """one line for people"""
    run: Callable[[Any], None]
    """is given ExperimentOptions; where the experiment adds options, the parsed command line. Raises
    StudyError where the experiment fails, or one of its conditions does not hold"""
    scenarios: Collection[str] = ()
    """of a paper, which `--scenario` takes"""
    studies: Collection[str] = ()
    """beyond the paper, which `--study` takes"""
    on_bmv2: bool = False
    """runs on BMv2, too, which `--switch` then chooses"""
    add_options: Callable[[ArgumentParser], None] | None = None
    """adds options of its own, beside --out and --json, instead of those that experiments share"""


@dataclass(frozen=True)
class Findings:
    """The results of the finished runs."""

    files: Mapping[str, object]
    """JSON documents to write, by file name"""
    told: object
    """printed with --json"""
    shown: Sequence[RenderableType]
    """printed to the terminal without --json"""
    failed: str = ""
    """a condition of the experiment that does not hold"""


class Frame(Generic[Done]):
    def __init__(self, options: ExperimentOptions) -> None:
        self.options = options
        self.console = Console(stderr=options.json)
        self.lagging: list[str] = []
        """a line for each switch that lagged behind; the runs add to it"""

    def run(self, runs: Generator[Done], find: Callable[[Sequence[Done]], Findings]) -> None:
        """`find` is given what the finished runs have yielded. Raises StudyError; a mistake of the experiment
        itself as it is."""
        done: list[Done] = []
        kind: type[StudyError] = StudyError
        problems: list[str] = []
        mistake: Exception | None = None
        with into(self.options.out):
            self.options.out.mkdir(parents=True, exist_ok=True)
        try:
            with closing(runs):
                for each in runs:
                    done.append(each)
        except KeyboardInterrupt:
            kind, problems = StoppedError, [f"interrupted; {len(done)} runs are kept"]
        except Exception as error:  # noqa: BLE001 (raised below, when results are written)
            cause = expected(error, _ERRORS)
            if cause is None:
                mistake = error
            else:
                kind = type(cause) if isinstance(cause, StudyError) else StudyError
                problems = [f"{str(cause) or 'no answer in time'}; {len(done)} runs are kept"]
        if done:
            try:
                with into(self.options.out):
                    findings = find(done)
                    self._tell(findings)
                problems += [findings.failed] if findings.failed else []
            except StudyError as error:
                problems.append(str(error))
        if mistake:
            raise mistake
        if self.lagging:
            problems.append(f"CPU-bound, do not trust the figures: {', '.join(self.lagging)}")
        if problems:
            raise kind("; ".join(problems))

    def _tell(self, findings: Findings) -> None:
        for name, form in findings.files.items():
            write_json(self.options.out / name, form)
        if self.options.json:
            print(json.dumps(findings.told, indent=2))
            return
        for each in findings.shown:
            self.console.print(each)
        self.console.print(f"data: {self.options.out}")
