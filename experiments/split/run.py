"""`groupflow experiment split`: the ICN 2011 network with kernel TCP at one load, and in netsim."""

from collections.abc import Generator, Sequence
from dataclasses import asdict, replace
from statistics import fmean

from rich.console import RenderableType
from rich.table import Table

from experiments.common.beside import Comparison, shown
from experiments.split import group, kernel, simulated
from experiments.split.compare import compare, draw
from experiments.split.plan import CONTROLS, SENDER, Plan, Result, Where, form, title
from groupflow.study.experiment import AnyStudy, Experiment, Findings, Frame, Study


def _split(quick: bool, seed: int) -> list[Plan]:
    if quick:
        return [Plan(seconds=8.0, members=(1,), tcp=("sack",), seed=seed)]
    return [Plan(seconds=30.0, members=(1, 3), tcp=("sack", "cubic"), seed=seed)]


def _group(quick: bool, seed: int) -> list[Plan]:
    return [replace(plan, tcp=("sack",), methods=("group",), many=True) for plan in _split(quick, seed)]


def _four(quick: bool, seed: int) -> list[Plan]:
    return [
        replace(plan, tcp=("sack",), methods=(*plan.methods, "group"), members=(), many=True)
        for plan in _split(quick, seed)
    ]


def measure(frame: Frame[Result]) -> Generator[Result]:
    """Each case on the real network, and in netsim; in both its forms where they differ."""
    for plan, case in ((each, case) for each in frame.runs for case in each.cases()):
        frame.console.print(f"{title(case)}: {plan.seconds:g} s ...")
        messages = {source: simulated.message_times(plan, case, source) for source in case.sources}
        name = f"{case.method}-{case.senders}-{case.members}-{CONTROLS[case.tcp]}"
        run = (group if case.method == "group" else kernel).run
        result = run(plan, case, messages, frame.options.out / "logs" / name)
        frame.lagging += [f"{title(case)}: {line}" for line in result.cpu_bound]
        yield result
        forms: tuple[Where, ...] = ("netsim", "netsim exact") if case.method == "e2e" else ("netsim",)
        for where in forms:
            yield simulated.run(plan, case, where)


def find(frame: Frame[Result], results: Sequence[Result]) -> Findings:
    comparisons = compare(results)
    rows = [
        {
            "where": result.where,
            **form(result.case),
            "throughput_bps": result.throughput_bps,
            "received_bps": {">".join(stream): bps for stream, bps in result.received_bps.items()},
            "link_bytes": {f"{one}>{other}": count for (one, other), count in result.link_bytes.items()},
            "cache_peak_bytes": dict(result.cache_peak_bytes),
            "dropped": result.dropped,
            "cpu_bound": list(result.cpu_bound),
        }
        for result in results
    ]
    for plan in frame.runs:
        if not plan.many:
            draw(frame.options.out / "split.png", plan, results)
    told = [each.form() for each in comparisons]
    summary = {"plan": asdict(frame.runs[0]), "runs": rows, "comparison": told}
    return Findings({"summary.json": summary}, told, _tables(results, comparisons))


def _tables(results: Sequence[Result], comparisons: Sequence[Comparison]) -> list[RenderableType]:
    megabytes = (f"{SENDER}-s1 MB", "s1-s2 MB", "cache s1 MB", "cache s2 MB")
    table = Table("run", "where", "Mb/s", "least", *megabytes, "dropped")
    for r in results:
        mean = [f"{bps / 1e6:.2f}" for bps in (fmean(r.throughput_bps.values()), r.least_bps)]
        links = [f"{r.link_bytes[ends] / 1e6:.1f}" for ends in ((SENDER, "s1"), ("s1", "s2"))]
        caches = [f"{r.cache_peak_bytes[s] / 1e6:.2f}" if r.cache_peak_bytes else "" for s in ("s1", "s2")]
        table.add_row(title(r.case), r.where, *mean, *links, *caches, str(r.dropped))
    return [table, *shown(comparisons)]


STUDIES: list[AnyStudy] = [
    Study("split", "unicast and split agents over kernel TCP", _split),
    Study("group", "group sessions of one sender and of four", _group),
    Study("four", "both, and unicast, with four senders", _four),
]
EXPERIMENT = Experiment(
    "split agents over kernel TCP in the network of icn2011; its group sessions; all with four senders",
    STUDIES,
    default=lambda _: STUDIES[:1],
    takes=("only", "quick", "seed"),
    measure=measure,
    find=find,
)
