"""The report as one HTML page: no script, no request to anywhere."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiments.demo import charts
from experiments.demo.options import SENDER
from experiments.demo.results import Report, Transport
from groupflow.model.topology import Topology
from groupflow.units import format_rate, format_size

_FOLDER = Path(__file__).parent


def render(report: Report, topology: Topology) -> str:
    p, receivers = report.parameters, len(report.runs[0].receivers)
    rate = format_rate(p.rate_bps)
    links = f"{rate}; between the split agents {p.delay_ms:g} ms"
    pages = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    pages.filters |= {"size": format_size, "seconds": _seconds}
    return pages.get_template("report.html").render(
        title=f"{format_size(p.file_bytes)} to {receivers} receiver{'s' if receivers > 1 else ''}",
        style=_FOLDER.joinpath("style.css").read_text(encoding="utf-8"),
        p=p,
        runs=report.runs,
        notes=report.notes,
        sender=SENDER,
        problems=report.problems(),
        network=charts.network(report, topology),
        lanes=charts.lanes(report),
        queues=charts.queues(report),
        health=[
            (
                f"{switch.name}, {name}, {run.name}",
                "CPU-bound" if switch.cpu_bound else "kept its schedule",
                switch.detail,
            )
            for run in report.runs
            for name, each in run.measured
            for switch in each.health
        ],
        parameters=[
            ("file", f"{p.file}, {p.file_bytes:,} bytes"),
            ("SHA-256", p.sha256),
            ("members of networks b, c, d", f"{p.members} each"),
            (
                "links",
                f"not emulated but for loss; the sender keeps to {rate}" if p.switch == "bmv2" else links,
            ),
        ],
    )


def _seconds(each: Transport) -> str:
    return "not completed" if each.seconds is None else f"{each.seconds:.2f} s"
