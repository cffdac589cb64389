"""The frame of the experiments on real networks: what is run is told and kept, whatever comes.

A run whose switches lagged behind is about the machine: the experiment says so, and its exit code is 1.
Ctrl-C keeps the runs that are over: their tables, figures and files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import Console, RenderableType

from groupflow.cli.command import FAILURE, INTERRUPTED, OK, CommandError, failing_with
from groupflow.client.errors import ClientError
from groupflow.study.files import write_json
from groupflow.study.options import ExperimentOptions
from topologies.controller import ControllerError
from topologies.daemon import DaemonError
from topologies.gfswitch import ControlError
from topologies.leftovers import InUseError
from topologies.network import NetworkError

Done = TypeVar("Done")


class RunError(Exception):
    """A run did not go as planned. One line."""


ERRORS = (RunError, ClientError, NetworkError, DaemonError, ControllerError, ControlError, InUseError)


@dataclass(frozen=True)
class Findings:
    """What the runs that are over say."""

    files: Mapping[str, object]
    """JSON, by name; others are written already"""
    told: object
    """JSON, for --json"""
    shown: Sequence[RenderableType]
    """in the terminal, else"""
    failed: bool = False
    """something that must hold does not"""


class Frame(Generic[Done]):
    def __init__(self, options: ExperimentOptions) -> None:
        self.options = options
        self.console = Console(stderr=options.json)
        self.lagging: list[str] = []
        """what to say of switches that lagged behind; each run adds to it"""

    def run(self, runs: Generator[Done], find: Callable[[Sequence[Done]], Findings]) -> int:
        """The exit code; `find` is given what the runs that are over have yielded. Raises CommandError."""
        done: list[Done] = []
        interrupted = False
        out = self.options.out
        try:
            out.mkdir(parents=True, exist_ok=True)
            with failing_with(*ERRORS), closing(runs):
                for each in runs:
                    done.append(each)
        except OSError as error:
            raise CommandError(f"{error.filename or out}: {error.strerror}; choose another --out") from None
        except KeyboardInterrupt:
            if not done:
                raise
            interrupted = True
        findings = find(done)
        self._tell(findings)
        for line in self.lagging:
            print(f"groupflow: CPU-bound, do not trust the figures: {line}", file=sys.stderr)
        if interrupted:
            print(f"groupflow: interrupted; {len(done)} runs are kept", file=sys.stderr)
            return INTERRUPTED
        return FAILURE if self.lagging or findings.failed else OK

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
