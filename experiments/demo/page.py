"""The report as one HTML page: no script, no request to anywhere."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from experiments.demo import charts
from experiments.demo.options import SENDER
from experiments.demo.results import Report, Run, Transport
from groupflow import units
from groupflow.model.topology import Topology
from groupflow.units import format_size


def render(report: Report, topology: Topology) -> str:
    style = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    receivers = len(report.runs[0].receivers)
    sent = format_size(report.parameters.file_bytes)
    title = f"{sent} to {receivers} receiver{'s' if receivers > 1 else ''}"
    sections = [
        _head(report, title),
        f'<div class="cards">{"".join(_card(report, run) for run in report.runs)}</div>',
        _figure(
            "Copies of the file on each link",
            "Bytes on the wire, divided by the file's; of several links, the largest. A full frame is "
            "1,514 bytes and holds 1,448 of the file, so one copy is 1.05×.",
            charts.network(report, topology),
        ),
        _figure(
            "Each receiver",
            "The rate at which its file grows; a full lane is the links' rate. Caches beside the switches "
            "repair what links lose; a packet that waits for its repair holds back those after it.",
            charts.lanes(report),
        ),
        _figure(
            "Queues and drops",
            "The fullest queue of the network, in packets, and packets dropped so far: "
            '<i class="full"></i> refused by full queues, <i class="lost"></i> lost on links.',
            charts.queues(report),
        ),
        "<h2>Cache agents</h2><p>Cache peak: most bytes held that some branch had not acknowledged.</p>",
        _agents(report),
        _trust(report),
        _parameters(report),
    ]
    body = "\n".join(sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>groupflow: {escape(title)}</title><style>\n{style}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _head(report: Report, title: str) -> str:
    problems, p = report.problems(), report.parameters
    verdict = "failed" if problems else "every SHA-256 equal"
    listed = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    shown = f'<ul class="problems">{listed}</ul>' if problems else ""
    about = f"{p.topology}, {p.switch}, mode {p.mode}, policy {p.policy}, {p.started}"
    return (
        f'<h1>{title}</h1><p><span class="verdict {"bad" if problems else "good"}">{verdict}</span> '
        f"{escape(about)}</p>{shown}"
    )


def _card(report: Report, run: Run) -> str:
    p = report.parameters
    peak = max((agent.cache_peak_bytes for agent in run.agents), default=0)
    facts = [
        (_seconds(run.group), f"groupflow; {p.ideal_seconds:.2f} s is the links' limit"),
        (
            f"{run.repaired:,}",
            f"packets repaired at receivers, by {run.repairs:,} repairs of caches; {run.nacks:,} asked of "
            f"the sender; {_lost(run.group)} packets lost",
        ),
        (format_size(peak), "largest cache peak"),
    ]
    if run.tcp is not None:
        part = run.tcp.file_bytes / p.file_bytes
        scaled = None if run.tcp.seconds is None else run.tcp.seconds / part
        much = (
            "" if part == 1 else f", scaled up from {_seconds(run.tcp)} for {format_size(run.tcp.file_bytes)}"
        )
        copies = f"{run.tcp.copies(SENDER, 's1'):.1f}× on the sender's link"
        facts.insert(
            1, ("–" if scaled is None else f"{scaled:.0f} s", f"TCP, one connection each{much}; {copies}")
        )
    listed = "".join(f"<li><b>{escape(value)}</b> {escape(words)}</li>" for value, words in facts)
    return f"<section><h2>{run.name[0].upper()}{escape(run.name[1:])}</h2><ul>{listed}</ul></section>"


def _lost(each: Transport) -> str:
    return "–" if each.drops is None else f"{sum(each.drops):,}"


def _seconds(each: Transport) -> str:
    return "not completed" if each.seconds is None else f"{each.seconds:.2f} s"


def _figure(title: str, about: str, drawn: str) -> str:
    return f"<h2>{title}</h2><p>{about}</p><figure>{drawn}</figure>"


def _agents(report: Report) -> str:
    rows = [
        (
            run.name,
            a.name,
            format_size(a.cache_peak_bytes),
            *_counts(a.repairs_unicast, a.repairs_multicast, a.requests),
        )
        for run in report.runs
        for a in run.agents
    ]
    rows += [(run.name, SENDER, "–", *_counts(0, run.retransmitted, run.nacks)) for run in report.runs]
    return _table(("run", "at", "cache peak", "repairs to one", "to all", "requests"), rows)


def _counts(*counts: int) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in counts)


def _trust(report: Report) -> str:
    rows = [
        (
            f"{switch.name}, {name}, {run.name}",
            "CPU-bound" if switch.cpu_bound else "kept its schedule",
            switch.detail,
        )
        for run in report.runs
        for name, each in run.measured
        for switch in each.health
    ]
    limits = (
        *report.notes,
        *(f"{run.name}: {run.note}." for run in report.runs if run.note),
        "One run, not an average: runs differ by a few per cent.",
        "Hosts, switches and controller share a machine. The table tells when it mattered.",
        "A receiver's time begins with the sender's first packet and ends when its file is complete. Bytes "
        "are of Ethernet frames without preamble, gap and frame check sequence.",
        "TCP is Linux's, in the kernel, with cubic; groupflow's hosts are ordinary processes.",
    )
    items = "".join(f"<li>{escape(note)}</li>" for note in limits)
    table = _table(("switch", "verdict", "because"), rows)
    return f"<h2>Can the figures be trusted?</h2><ul>{items}</ul>{table}"


def _parameters(report: Report) -> str:
    p = report.parameters
    rate = units.format_rate(p.rate_bps)
    links = f"{rate}; between the split agents {p.delay_ms:g} ms"
    rows = [
        ("file", f"{p.file}, {p.file_bytes:,} bytes"),
        ("SHA-256", p.sha256),
        ("members of networks b, c, d", f"{p.members} each"),
        ("links", f"not emulated but for loss; the sender keeps to {rate}" if p.switch == "bmv2" else links),
    ]
    return "<h2>Parameters</h2>" + _table(("what", "value"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
