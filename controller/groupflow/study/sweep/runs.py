"""Runs a sweep, and keeps each outcome at once: a line of `runs.jsonl`, which a later call goes on from."""

import fcntl
import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from groupflow.files import variants
from groupflow.sim import ScenarioError
from groupflow.study import StudyError, frame
from groupflow.study.experiment import AnyStudy, Experiment, Findings, Frame, Study, StudyOptions, always
from groupflow.study.pool import end_when_told, run_all
from groupflow.study.sweep import results
from groupflow.study.sweep.form import Run, Sweep
from groupflow.study.sweep.results import Outcome

JOURNAL = "runs.jsonl"


def sweep(asked: Sweep, options: StudyOptions, *, again: bool = False) -> None:
    """Runs what is unfinished, and writes the results of all. `again`: also runs that failed. Raises
    StudyError where one failed, or its switches lagged."""
    study: AnyStudy = Study("sweep", "", always(*asked.runs))
    experiment = Experiment(
        "a sweep", [study], takes=("jobs",),
        measure=partial(_measure, asked, again), find=partial(_find, asked),
    )  # fmt: skip
    frame.run(experiment, options)


def _measure(asked: Sweep, again: bool, running: Frame[Outcome]) -> Generator[Outcome]:
    options, console = running.options, running.console
    if missing := results.missing():
        console.print(missing, markup=False, soft_wrap=True)
    with _journal(options.out) as (journal, kept):
        wanted = {run.key: run for run in asked.runs}
        done = [kept[key] for key in wanted if key in kept and not (again and kept[key].error)]
        if done:
            console.print(f"{len(done)} of {len(wanted)} runs are done already")
        yield from done
        for each in done:
            del wanted[each.key]
        with closing(_outcomes(asked, list(wanted.values()), options, console)) as outcomes:
            for outcome in outcomes:
                journal.write(json.dumps(asdict(outcome)) + "\n")
                journal.flush()  # outlives this process; a power cut costs a few runs
                yield outcome


def _find(asked: Sweep, running: Frame[Outcome], outcomes: Sequence[Outcome]) -> Findings:
    done, out = {outcome.key: outcome for outcome in outcomes}, running.options.out
    problems: list[str] = []
    for what, bad in (
        ("failed", [f"{each.name}: {each.error}" for each in done.values() if each.error]),
        ("CPU-bound, do not trust them", [f"{o.name}: {o.cpu_bound}" for o in done.values() if o.cpu_bound]),
    ):
        if bad:
            more = f"; and {len(bad) - 1} more in {out / JOURNAL}" if len(bad) > 1 else ""
            problems.append(f"{len(bad)} of {len(running.runs)} runs {what}: {bad[0]}{more}")
    ran = [(run, done[run.key]) for run in asked.runs if run.key in done]
    return replace(results.write(asked, ran, out), failed="; ".join(problems))


@contextmanager
def _journal(out: Path) -> Generator[tuple[TextIO, dict[str, Outcome]]]:
    """The file of outcomes to append to, and those that it has. A line that a killed process left is no
    outcome."""
    out.mkdir(parents=True, exist_ok=True)
    kept: dict[str, Outcome] = {}
    with (out / JOURNAL).open("a+", encoding="utf-8") as journal:
        try:
            fcntl.lockf(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StudyError(f"{out}: another sweep writes there; choose another --out") from None
        journal.seek(0)
        whole = True
        for line in journal:
            whole = line.endswith("\n")
            try:
                outcome = Outcome(**json.loads(line))
            except (ValueError, TypeError):
                continue
            kept[outcome.key] = outcome
        if not whole:
            journal.write("\n")
        yield journal, kept


def _outcomes(
    asked: Sweep, runs: Sequence[Run], options: StudyOptions, console: Console
) -> Generator[Outcome]:
    if asked.form.where == "netsim":
        jobs = [partial(simulate, run, asked.name(run)) for run in runs]
        yield from run_all(jobs, cores=options.cores, console=console, what=lambda outcome: outcome.name)
        return
    from groupflow.study.sweep import real

    for at, run in enumerate(runs, 1):  # one at a time: two would take each other's processor time
        console.print(f"run {at} of {len(runs)}: {asked.name(run)}", markup=False)
        logs = options.out / "logs" / run.key
        yield _told(run.key, asked.name(run), lambda run=run, logs=logs: real.run(run.scenario(), logs))


def simulate(run: Run, name: str) -> Outcome:
    return _told(run.key, name, lambda: (_simulated(run), ()))


def _told(key: str, name: str, measure: Callable[[], tuple[list[dict[str, Any]], Sequence[str]]]) -> Outcome:
    """An outcome also where the run fails, in whatever way: it does not stop the others."""
    started = time.monotonic()
    try:
        rows, lagging = measure()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 (a panic of netsim is no Exception)
        kind = "" if isinstance(error, ScenarioError) else f"{type(error).__name__}: "
        return Outcome(key, name, error=kind + (str(error).strip().splitlines() or ["no words"])[0])
    took = round(time.monotonic() - started, 3)
    return Outcome(key, name, [row | {"took": took} for row in rows], cpu_bound="; ".join(lagging))


def _simulated(run: Run) -> list[dict[str, Any]]:
    from groupflow import sim

    scenario = run.scenario()
    done = sim.run(scenario, end_when_told)
    network = {
        "dropped": done.dropped(),
        "cache_peak": max(done.peak_cached_bytes.values(), default=None),
        "simulated": done.simulated_s,
    }
    caches = {f"cache-{agent}" for agent in variants.agents(scenario.topology)}
    flows = {name: flow for name, flow in done.flows.items() if name not in caches}
    for group in scenario.sessions:  # receivers, each with what its sender sent, as on a real network
        members = {host: flows.pop(group.member(host), None) for host in scenario.topology.hosts}
        if (sender := members[group.source]) is not None:
            sent, again = sender.sent_packets, sender.retransmissions
            flows |= {
                group.member(host): replace(found, sent_packets=sent, retransmissions=again)
                for host in group.destinations
                if (found := members[host]) is not None
            }
    return [
        {
            "flow": name,
            "goodput": flow.goodput_bps,
            "delivered": flow.delivered_bytes,
            "sent": flow.sent_packets,
            "retransmitted": flow.retransmissions,
            "repairs": flow.repairs,
            "timeouts": flow.timeouts,
            "delay": flow.mean_delay_s,
            "start": flow.start_s,
            "end": flow.end_s,
            "completed": flow.duration_s,
            **network,
        }
        for name, flow in flows.items()
    ] or [network]
