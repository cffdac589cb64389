"""`groupflow experiment fec`: how late a gathered stream comes out, with and without erasure coding."""

import shutil
from collections.abc import Generator, Sequence
from dataclasses import asdict
from functools import partial

from rich.table import Table

from experiments.fec import latency
from experiments.fec.plan import Result, cases
from groupflow.study.experiment import Experiment, Findings, Frame
from groupflow.study.options import ExperimentOptions


def run(options: ExperimentOptions) -> None:
    seconds = 10.0 if options.quick else 40.0
    frame = Frame[Result](options)
    frame.run(_results(seconds, frame), partial(find, seconds))


def _results(seconds: float, frame: Frame[Result]) -> Generator[Result]:
    for number, case in enumerate(cases(frame.options.quick)):
        frame.console.print(f"{case.title}: {seconds:g} s ...")
        folder = frame.options.out / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        result = latency.run(case, seconds, folder)
        frame.lagging += [f"{case.title}: {line}" for line in result.cpu_bound]
        yield result


def find(seconds: float, results: Sequence[Result]) -> Findings:
    runs = [asdict(result) for result in results]
    table = Table("run", "median", "95 %", "99 %", "longest", "made of parity")
    for r in results:
        latencies = [f"{1000 * value:.0f} ms" for value in (r.median, r.p95, r.p99, r.longest)]
        table.add_row(r.case.title, *latencies, f"{r.made / 1000:.0f} kB")
    return Findings({"summary.json": {"seconds": seconds, "runs": runs}}, runs, [table])


EXPERIMENT = Experiment(
    "latency of a gathered stream with and without erasure coding, under loss and stalls", run
)
