"""`groupflow sim run`: scenarios in virtual time."""

import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Annotated

from groupflow import needs, units
from groupflow.cli.common import Common, check_folder, check_output
from groupflow.cli.switch import Packets
from groupflow.errors import Error, InvalidError, UsageError, kind_of, line_of, reason
from groupflow.model.fields import Help, Range

if TYPE_CHECKING:
    from groupflow.sim import Progress, Results, Scenario


class _StoppedError(Exception):
    """The user has ended the command."""


def run(
    common: Common,
    scenarios: Annotated[tuple[Path, ...], Help("scenario file (YAML)", "SCENARIO")],
    *,
    out: Annotated[
        Path | None, Help("folder for results: FOLDER/NAME of each (default: none)", "FOLDER")
    ] = None,
    jobs: Annotated[
        int | None, Help("number of scenarios run side by side (default: all cores)", "N"), Range(1)
    ] = None,
    record: Annotated[Path | None, Help("file that records one scenario, for `groupflow net play`")] = None,
    trace: Annotated[bool, Help("show the way of packets through each switch, as chosen below")] = False,
    switch: Annotated[tuple[str, ...], Help("with --trace: only at this switch", "SWITCH")] = (),
    packets: Packets,
    plots: Annotated[bool, Help("also draw the results (needs --out)")] = False,
) -> int:
    """Run scenarios and keep their results.

    Exit codes: 0: all ran; 1: one failed; 4: one was refused; 130: interrupted."""
    if plots and out is None:
        raise UsageError("--plots needs a folder: give --out FOLDER")
    if plots:
        needs.package("--plots", "matplotlib")
    if not trace and (switch or packets != Packets()):
        raise UsageError(
            "--switch, --port, --session, --match, --dropped and --next choose packets: give --trace"
        )
    check_output(record, "--record")
    read = _load(scenarios)
    for scenario in read:
        check_folder(out and out / scenario.name)
    if record is not None and len(read) > 1:
        raise UsageError("--record takes one scenario; run the others without it")
    workers = min(jobs or os.cpu_count() or 1, len(read))
    display = _Lines() if common.json else _Bars(bars=sys.stderr.isatty(), quiet=common.quiet)
    # Before the threads begin: finsy cannot be imported by two of them at once.
    import finsy  # noqa: F401  # pyright: ignore[reportUnusedImport]

    from groupflow import sim

    failures: list[Exception] = []
    stopped = Event()
    traced = sim.Traced(packets.request, switch) if trace else None

    def progress(state: "Progress") -> None:
        if stopped.is_set():
            raise _StoppedError
        display.progress(state)

    def work(scenario: "Scenario") -> "Results":
        folder = None if out is None else out / scenario.name
        results = sim.run(scenario, progress, out=folder, record=record, traced=traced)
        if plots:
            from groupflow.study.plots import plot

            plot(results)
        return results

    with display, ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(work, each): each.name for each in read}
        try:
            for future in as_completed(futures):
                _collect(future, futures[future], display, failures)
        except (KeyboardInterrupt, BrokenPipeError):
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
    for failure in failures:
        print(f"groupflow: {line_of(failure)}", file=sys.stderr)
    codes = {error.kind.exit_code if isinstance(error, Error) else 1 for error in failures}
    return min(codes, default=0)


def _load(paths: Sequence[Path]) -> "list[Scenario]":
    """All scenarios, refused together if one is bad: an hour's run should not end with a typing error."""
    from groupflow.sim import ScenarioError, load

    problems: list[str] = []
    scenarios: dict[str, Scenario] = {}
    for path in paths:
        try:
            scenario = load(path)
        except ScenarioError as error:
            problems.append(str(error))
            continue
        if scenario.name in scenarios:
            problems.append(f"{path}: name: another scenario is called {scenario.name!r}, too; rename one")
        scenarios[scenario.name] = scenario
        for warning in scenario.warnings:
            print(f"groupflow: warning: {path}: {warning}", file=sys.stderr)
    if problems:
        raise InvalidError("; ".join(problems))
    return list(scenarios.values())


def _collect(
    future: "Future[Results]", name: str, display: "_Lines | _Bars", failures: list[Exception]
) -> None:
    from groupflow.control.live.recording import RecordingError
    from groupflow.sim import ScenarioError

    try:
        display.finished(name, future.result())
    except BrokenPipeError:  # of the output
        raise
    except OSError as error:
        where = error.filename or name
        failures.append(Error(f"{where}: {reason(error)}; choose another --out", kind_of(error)))
    except (ScenarioError, RecordingError, RuntimeError) as error:
        failures.append(error)


class _Lines(AbstractContextManager[None]):
    """Progress and results as JSON lines on stdout. Called from several threads, as `_Bars` is."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._told: dict[str, float] = {}

    def __exit__(self, *_: object) -> None:
        pass

    def progress(self, state: "Progress") -> None:
        with self._lock:
            if state.wall_s - self._told.get(state.scenario, 0.0) < 1.0:
                return
            self._told[state.scenario] = state.wall_s
        self._print(
            {
                "event": "progress",
                "scenario": state.scenario,
                "simulated_s": state.simulated_ns / 1e9,
                "duration_s": state.duration_ns / 1e9,
                "packet_hops": state.packet_hops,
                "packet_hops_per_s": round(state.hops_per_s),
            }
        )

    def finished(self, name: str, results: "Results") -> None:
        folder = None if results.folder is None else str(results.folder)
        for trace in results.traces:
            self._print({"event": "trace", "scenario": name, **trace})
        wall_s = round(results.wall_s, 3)
        self._print({"event": "finished", "wall_s": wall_s, "folder": folder} | dict(results.summary))

    def _print(self, value: object) -> None:
        with self._lock:
            print(json.dumps(value), flush=True)


class _Bars:
    """A progress bar for each scenario on stderr, and a table of its flows on stdout at its end."""

    def __init__(self, *, bars: bool, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskID, TextColumn
        from rich.progress import Progress as RichProgress

        self._bars = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.3f}/{task.total:.3f} s, {task.fields[speed]}"),
            console=Console(stderr=True),
            disable=quiet or not bars,
        )
        self._quiet = quiet
        self._tasks: dict[str, TaskID] = {}
        self._lock = Lock()

    def __enter__(self) -> None:
        self._bars.start()

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def progress(self, state: "Progress") -> None:
        with self._lock:
            if state.scenario not in self._tasks:
                total = state.duration_ns / 1e9
                self._tasks[state.scenario] = self._bars.add_task(state.scenario, total=total, speed="")
            speed = f"{state.hops_per_s / 1e6:.2f} M packet hops/s"
            self._bars.update(self._tasks[state.scenario], completed=state.simulated_ns / 1e9, speed=speed)

    def finished(self, name: str, results: "Results") -> None:
        from groupflow.cli.common import print_table
        from groupflow.switch import explain

        for trace in results.traces:
            print(explain(trace))
        if self._quiet:
            return
        rate = results.packet_hops / results.wall_s / 1e6 if results.wall_s else 0.0
        print(
            f"{name}: {results.simulated_s:g} s simulated in {results.wall_s:.1f} s,"
            f" {units.counted(results.packet_hops, 'packet hop')} ({rate:.2f} M/s),"
            f" {units.counted(results.dropped(), 'packet')} dropped"
        )
        rows = [
            {
                "flow": flow.flow,
                "start": units.show_seconds(flow.start_s),
                "end": units.show_seconds(flow.end_s),
                "goodput": units.show_rate(flow.goodput_bps),
                "sent": flow.sent_packets,
                "delivered": flow.delivered_packets,
                "retransmitted": flow.retransmissions,
                "repairs": flow.repairs,
                "timeouts": flow.timeouts,
            }
            for flow in results.flows.values()
        ]
        if rows:
            print_table(rows, list(rows[0]))
        if results.folder is not None:
            print(f"in {results.folder}")
