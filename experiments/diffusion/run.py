"""`groupflow experiment diffusion`: kernel TCP on six switches, with and without control, and in netsim."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from experiments.common.beside import Comparison, shown
from experiments.diffusion import kernel, simulated
from experiments.diffusion.result import METHODS, Flow, Plan, Result, compare, draw
from groupflow.files import variants
from groupflow.study.experiment import Experiment, Findings, Frame, Study
from groupflow.study.files import write_rows

FLOWS = (Flow("target", "h1", "h6", 5001), Flow("background", "h3", "h7", 5002, start_s=2.0))
FULL = Plan(FLOWS, seconds=20.0, settled_s=5.0, window_packets=200)
QUICK = Plan(FLOWS, seconds=8.0, settled_s=4.0, window_packets=200)
CONTROLS = ("reno", "cubic")


def measure(frame: Frame[Result]) -> Generator[Result]:
    topology, (plan,) = variants.named("chain"), frame.runs
    for control in CONTROLS[:1] if frame.options.quick else CONTROLS:
        for method in METHODS:
            frame.console.print(f"{control}, {method}: {plan.seconds:g} s ...")
            logs = frame.options.out / "logs" / f"{control}-{method}"
            result = kernel.run(topology, plan, control, method, logs)
            frame.lagging += [f"{method}, {lag}" for lag in result.cpu_bound]
            yield result
            yield simulated.run(topology, plan, control, method)


def find(frame: Frame[Result], results: Sequence[Result]) -> Findings:
    plan, topology, out = frame.runs[0], variants.named("chain"), frame.options.out
    comparisons = compare(plan, results)
    write_rows(out / "queues.csv", [row for result in results for row in _samples(result)])
    draw(out / "diffusion.png", plan, list(topology.switches)[:-1], results)
    told = [each.form() for each in comparisons]
    rows = [
        {
            **_facts(result),
            "fairness": result.fairness,
            "goodput_bps": result.goodput_bps,
            "drops": result.drops,
            "retransmitted": result.retransmitted,
            "mean_queue_packets": result.mean_queues(plan.settled_s).tolist(),
            "cpu_bound": list(result.cpu_bound),
        }
        for result in results
    ]
    form = {"runs": rows, "comparison": told}
    return Findings({"summary.json": form}, told, _tables(plan, results, comparisons))


def _samples(result: Result) -> Iterator[dict[str, Any]]:
    """A row for each sample of each switch."""
    for time_s, row in zip(result.time_s, result.queues, strict=True):
        for place, packets in enumerate(row, 1):
            sample = {"time_s": f"{time_s:.3f}", "switch": f"s{place}", "queue_packets": int(packets)}
            yield _facts(result) | sample


def _facts(result: Result) -> dict[str, Any]:
    return {"where": result.where, "congestion_control": result.control, "method": result.method}


def _tables(plan: Plan, results: Sequence[Result], comparisons: Sequence[Comparison]) -> list[RenderableType]:
    flows = [flow.name for flow in plan.flows]
    rates = [f"{name} Mb/s" for name in flows]
    table = Table(
        "where", "TCP", "control", *rates, "slower of faster", "dropped", "again", "packets in s1..s5"
    )
    for result in results:
        goodput = [f"{result.goodput_bps[name] / 1e6:.2f}" for name in flows]
        queues = " ".join(f"{mean:.0f}" for mean in result.mean_queues(plan.settled_s))
        again = str(sum(result.retransmitted.values()))
        goodput.append(f"{result.fairness:.2f}")
        goodput.append(str(result.dropped))
        table.add_row(result.where, result.control, METHODS[result.method], *goodput, again, queues)
    return [table, *shown(comparisons)]


EXPERIMENT = Experiment(
    "diffusion-type flow control and kernel TCP on six switches in a line",
    [
        Study(
            "diffusion",
            "TCP alone, with the control, and with hosts that shape",
            lambda quick, _: [QUICK if quick else FULL],
        )
    ],
    takes=("quick",),
    measure=measure,
    find=find,
)
