"""The report as one HTML page: no script, no request to anywhere."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from experiments.demo import charts, drawing, svg
from experiments.demo.charts import Bar, BarGroup
from experiments.demo.results import Report
from groupflow.lab.measure import LinkUse
from groupflow.network import variants
from groupflow.network.topology import Topology

_GOOD = ("equal", "kept its schedule")


def render(report: Report, topology: Topology) -> str:
    parameters = report.parameters
    style = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    sections = [
        _headline(report),
        _tiles(report),
        _topology(report, topology),
        _progress(report),
        _comparison(report, topology),
        _receivers(report),
        _agents(report),
        _switches(report),
        _parameters(report),
        _limits(report),
    ]
    title = f"groupflow: {svg.size(parameters.file_bytes)} to {len(report.receivers)} receivers"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>\n{style}</style></head>\n"
        f"<body><main>\n{''.join(sections)}</main></body></html>\n"
    )


def downstream(topology: Topology, sender: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Directions of the data, in groups: the sender's link, those between switches, each network's."""
    agents = variants.agents(topology)
    home = topology.hosts[sender].switch
    groups = [(f"{sender} → {home}", [(sender, home)])]
    networks: dict[str, list[tuple[str, str]]] = {}
    for link in topology.links:
        a, b = link.a.node, link.b.node
        if a in topology.switches and b in topology.switches:
            near, far = (
                (a, b) if len(topology.path(home, a) or ()) < len(topology.path(home, b) or ()) else (b, a)
            )
            groups.append((f"{near} → {far}", [(near, far)]))
        else:
            host, switch = (a, b) if a in topology.hosts else (b, a)
            if host != sender and host not in agents:
                networks.setdefault(f"{switch} → network {host[1]}", []).append((switch, host))
    return groups + [
        (f"{name} ({len(pairs)} {_plural(len(pairs), 'link')})", pairs) for name, pairs in networks.items()
    ]


def _headline(report: Report) -> str:
    parameters, problems = report.parameters, report.problems()
    seconds = report.slowest_seconds
    count = len(report.receivers)
    done = f"in {seconds:.2f} s" if seconds is not None else "not completed"
    verdict = "every SHA-256 equal" if not problems else "failed"
    listed = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    shown = f'<ul class="problems">{listed}</ul>' if problems else ""
    return (
        f"<h1>{svg.size(parameters.file_bytes)} to {count} {_plural(count, 'receiver')}, {done}</h1>"
        f'<p><span class="verdict {"bad" if problems else "good"}">{verdict}</span> '
        f'<span class="soft">{escape(parameters.topology)}, {escape(parameters.switch)}, '
        f"mode {escape(parameters.mode)}, "
        f"policy {escape(parameters.policy)}, loss {parameters.loss:.2%} a link, "
        f"{escape(parameters.started)}</span></p>{shown}\n"
    )


def _tiles(report: Report) -> str:
    uses = {(use.source, use.target): use for use in report.links}
    first = next(iter(report.links))
    seconds = report.slowest_seconds
    tiles = [
        (
            f"{seconds:.2f} s" if seconds is not None else "–",
            f"slowest receiver; {report.ideal_seconds:.2f} s is the limit",
        ),
        (svg.times(uses[first.source, first.target].copies), f"the file, on the sender's link {first.name}"),
        (
            f"{sum(agent.repairs for agent in report.agents)}",
            f"repairs by caches; {_nacks(report)} asked of the sender",
        ),
        (svg.size(max((agent.cache_peak_bytes for agent in report.agents), default=0)), "largest cache peak"),
    ]
    if report.baseline is not None:
        copies = {(use.source, use.target): use.copies for use in report.baseline.links}
        tiles.append(
            (
                f"{report.baseline.seconds:.1f} s",
                f"TCP, one connection a receiver, {svg.size(report.baseline.file_bytes)}, "
                f"{svg.times(copies[first.source, first.target])} on {first.name}",
            )
        )
    return (
        '<div class="tiles">'
        + "".join(
            f'<div class="tile"><b>{escape(figure)}</b><span>{escape(words)}</span></div>'
            for figure, words in tiles
        )
        + "</div>\n"
    )


def _nacks(report: Report) -> str:
    return str(report.sender.nacks) if report.sender else "unknown"


def _topology(report: Report, topology: Topology) -> str:
    picture = drawing.draw(topology, report.links, "Topology with the bytes that each link carried")
    parts = [
        "<h2>Traffic of each link</h2>",
        '<p class="soft">Bytes on the wire and copies of the file, per direction; the larger above the line. '
        "A full frame is 1,514 bytes and holds 1,448 of the file, so one copy is 1.046×.</p>",
        f"<figure>{picture}</figure>",
    ]
    if report.baseline is not None:
        tcp = drawing.draw(topology, report.baseline.links, "The same with one TCP connection a receiver")
        parts += [
            "<h2>The same with one TCP connection a receiver</h2>",
            f'<p class="soft">{svg.size(report.baseline.file_bytes)} to each. '
            f"{escape(report.baseline.note)}</p>",
            f"<figure>{tcp}</figure>",
        ]
    return "".join(parts) + "\n"


def _progress(report: Report) -> str:
    chart = charts.progress(report.receivers, report.parameters.file_bytes, report.ideal_seconds)
    return (
        "<h2>Progress of each receiver</h2>"
        '<p class="soft">Bytes in order in the file. Dashed: the file at the rate of the links.</p>'
        f"<figure>{chart}</figure>\n"
    )


def _comparison(report: Report, topology: Topology) -> str:
    baseline = report.baseline
    if baseline is None:
        return "<h2>Against TCP</h2><p>The baseline was not run.</p>\n"
    ours = {(use.source, use.target): use for use in report.links}
    tcp = {(use.source, use.target): use for use in baseline.links}
    sender = report.sender.name if report.sender else report.links[0].source
    groups = [
        BarGroup(
            label,
            (
                _copies("groupflow", [ours[pair] for pair in pairs], "ours"),
                _copies("TCP", [tcp[pair] for pair in pairs], "tcp"),
            ),
        )
        for label, pairs in downstream(topology, sender)
    ]
    return (
        "<h2>Against one TCP connection a receiver</h2>"
        '<div class="key"><span><i class="ours"></i>groupflow</span><span><i class="tcp"></i>TCP</span>'
        '<span><i class="ideal"></i>limit of the links</span></div>'
        f"<figure>{charts.bars(groups, 'Copies of the file on each link')}"
        "<figcaption>Copies of the file on links towards the receivers; of several links, the largest."
        "</figcaption></figure>"
        f"<figure>{charts.bars([_times(report)], 'Completion time')}"
        f"<figcaption>Time until the last receiver was complete. {escape(_scaling(report))}"
        "</figcaption></figure>\n"
    )


def _copies(label: str, uses: Sequence[LinkUse], kind: str) -> Bar:
    most = max(use.copies for use in uses)
    return Bar(label, most, svg.times(most), kind)


def _times(report: Report) -> BarGroup:
    assert report.baseline is not None
    seconds = report.slowest_seconds
    size = report.parameters.file_bytes
    scaled = report.baseline.seconds * size / report.baseline.file_bytes
    about = "" if report.baseline.file_bytes == size else "about "
    bars = [Bar("limit", report.ideal_seconds, f"{report.ideal_seconds:.2f} s", "ideal")]
    if seconds is not None:
        bars.append(Bar("groupflow", seconds, f"{seconds:.2f} s", "ours"))
    return BarGroup(f"{svg.size(size)}", (*bars, Bar("TCP", scaled, f"{about}{scaled:.1f} s", "tcp")))


def _scaling(report: Report) -> str:
    assert report.baseline is not None
    if report.baseline.file_bytes == report.parameters.file_bytes:
        return ""
    return (
        f"TCP is scaled up from {report.baseline.seconds:.1f} s measured for "
        f"{svg.size(report.baseline.file_bytes)}."
    )


def _receivers(report: Report) -> str:
    tcp = report.baseline.receiver_seconds if report.baseline else {}
    rows = [
        (
            receiver.name,
            "equal" if receiver.ok else receiver.error,
            "–" if receiver.seconds is None else f"{receiver.seconds:.2f} s",
            svg.rate(receiver.goodput_bps),
            str(receiver.repaired_packets),
            f"{tcp[receiver.name]:.2f} s" if receiver.name in tcp else "–",
        )
        for receiver in report.receivers
    ]
    taken = f"TCP, {svg.size(report.baseline.file_bytes)}" if report.baseline else "TCP"
    head = ("receiver", "SHA-256", "time", "goodput", "repaired packets", taken)
    return "<h2>Receivers</h2>" + _table(head, rows, verdict=1) + "\n"


def _agents(report: Report) -> str:
    rows = [
        (
            agent.name,
            svg.size(agent.cache_peak_bytes),
            f"{agent.cache_peak_bytes / report.parameters.file_bytes:.1%}",
            str(agent.repairs_unicast),
            str(agent.repairs_multicast),
            str(agent.requests),
        )
        for agent in report.agents
    ]
    if report.sender is not None:
        sender = report.sender
        rows.append((f"{sender.name} (sender)", "–", "–", "–", str(sender.retransmitted), str(sender.nacks)))
    head = ("cache agent", "cache peak", "of the file", "repairs to one", "repairs to all", "requests")
    return (
        "<h2>Cache agents</h2>"
        '<p class="soft">Cache peak: most bytes held at once that some branch had not acknowledged.</p>'
        + _table(head, rows)
        + "\n"
    )


def _switches(report: Report) -> str:
    runs = [("transfer", report.health)]
    if report.baseline is not None:
        runs.append(("TCP baseline", report.baseline.health))
    rows = [
        (f"{switch.name}, {run}", "CPU-bound" if switch.cpu_bound else "kept its schedule", switch.detail)
        for run, switches in runs
        for switch in switches
    ]
    return (
        "<h2>Can the figures be trusted?</h2>"
        + _table(("switch", "verdict", "because"), rows, verdict=1, text=(2,))
        + "\n"
    )


def _parameters(report: Report) -> str:
    p = report.parameters
    rows = [
        ("file", f"{p.file}, {p.file_bytes:,} bytes"),
        ("SHA-256", p.sha256),
        ("members of networks b, c, d", f"{p.members} each, {len(report.receivers)} receivers"),
        ("links", _links(report)),
        ("mode, policy", f"{p.mode}, {p.policy}"),
        ("switch", p.switch),
    ]
    return "<h2>Parameters</h2>" + _table(("what", "value"), rows, text=(1,)) + "\n"


def _links(report: Report) -> str:
    p = report.parameters
    if p.switch == "bmv2":
        return f"not emulated; the sender keeps to {svg.rate(p.rate_bps)}"
    return f"{svg.rate(p.rate_bps)}, {p.loss:.2%} loss; between the split agents {p.delay_ms:g} ms"


def _limits(report: Report) -> str:
    control = f", with {report.baseline.congestion_control} congestion control" if report.baseline else ""
    general = (
        "One run, not an average: runs differ by a few per cent.",
        "Hosts, switches and controller share a machine. The check above tells when it mattered.",
        "Times are of one clock. A receiver's begins with the sender's first packet and ends when its file "
        "is complete.",
        "Bytes are of Ethernet frames without preamble, gap and frame check sequence.",
        f"TCP is Linux's, in the kernel{control}; groupflow's hosts are ordinary processes.",
    )
    items = "".join(f"<li>{escape(note)}</li>" for note in (*report.notes, *general))
    return f"<h2>Limits of these figures</h2><ul>{items}</ul>\n"


def _table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    verdict: int | None = None,
    text: Sequence[int] = (),
) -> str:
    def cell(index: int, value: str) -> str:
        kind = "text" if index in text else ""
        if index == verdict:
            kind = "good" if value in _GOOD else "bad"
        return f'<td class="{kind}">{escape(value)}</td>' if kind else f"<td>{escape(value)}</td>"

    top = "".join(
        f'<th class="text">{escape(name)}</th>' if i in text else f"<th>{escape(name)}</th>"
        for i, name in enumerate(head)
    )
    body = "".join("<tr>" + "".join(cell(i, v) for i, v in enumerate(row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
