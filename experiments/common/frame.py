"""The frame of the experiments on real networks.

The figures of a run whose switches lagged behind are about the machine: the experiment says so, and its exit
code is 1. Where a run fails, or Ctrl-C comes, the finished runs are kept: their tables, figures and files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import Console, RenderableType

from groupflow.cli.command import FAILURE, INTERRUPTED, OK, CommandError, failing_with
from groupflow.endpoint.errors import ClientError
from groupflow.lab.controller_process import ControllerError
from groupflow.lab.daemon import DaemonError
from groupflow.lab.gfswitch import ControlError
from groupflow.lab.leftovers import InUseError
from groupflow.lab.network import NetworkError
from groupflow.study.files import write_json
from groupflow.study.options import ExperimentOptions

Done = TypeVar("Done")


class RunError(Exception):
    """A run failed; the text is one line."""


ERRORS = (RunError, ClientError, NetworkError, DaemonError, ControllerError, ControlError, InUseError)


@dataclass(frozen=True)
class Findings:
    """The results of the finished runs."""

    files: Mapping[str, object]
    """JSON documents to write, by file name"""
    told: object
    """printed with --json"""
    shown: Sequence[RenderableType]
    """printed to the terminal without --json"""
    failed: bool = False
    """a condition of the experiment does not hold"""


class Frame(Generic[Done]):
    def __init__(self, options: ExperimentOptions) -> None:
        self.options = options
        self.console = Console(stderr=options.json)
        self.lagging: list[str] = []
        """a line for each switch that lagged behind; the runs add to it"""

    def run(self, runs: Generator[Done], find: Callable[[Sequence[Done]], Findings]) -> int:
        """The exit code; `find` is given what the finished runs have yielded. Raises CommandError."""
        done: list[Done] = []
        ended: CommandError | KeyboardInterrupt | None = None
        with self._writing():
            self.options.out.mkdir(parents=True, exist_ok=True)
        try:
            with failing_with(*ERRORS, OSError), closing(runs):
                for each in runs:
                    done.append(each)
        except (CommandError, KeyboardInterrupt) as error:
            if not done:
                raise
            ended = error
        with self._writing():
            findings = find(done)
            self._tell(findings)
        for line in self.lagging:
            print(f"groupflow: CPU-bound, do not trust the figures: {line}", file=sys.stderr)
        if ended is not None:
            how = "interrupted" if isinstance(ended, KeyboardInterrupt) else "a run failed"
            print(f"groupflow: {how}; {len(done)} runs are kept", file=sys.stderr)
        if isinstance(ended, CommandError):
            raise ended
        if ended is not None:
            return INTERRUPTED
        return FAILURE if self.lagging or findings.failed else OK

    @contextmanager
    def _writing(self) -> Generator[None]:
        """Raises CommandError where a result cannot be written."""
        try:
            yield
        except OSError as error:
            name = error.filename or self.options.out
            raise CommandError(f"{name}: {error.strerror}; choose another --out") from None

    def _tell(self, findings: Findings) -> None:
        for name, form in findings.files.items():
            write_json(self.options.out / name, form)
        if self.options.json:
            json.dump(findings.told, sys.stdout, indent=2)
            print()
            return
        for each in findings.shown:
            self.console.print(each)
        self.console.print(f"data: {self.options.out}")
