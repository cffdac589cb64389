"""Copies, delay, joins and churn over the number of hosts."""

from pathlib import Path

from groupflow.study.drawing import COLOURS, save, subplots
from papers.cmt.tree.outcome import WAYS, Outcomes, means


def by_size(path: Path, outcomes: Outcomes) -> None:
    """Draws four panels over the number of hosts: copies, delay, joins, churn."""
    drawing, ((copies, stretch), (joins, churn)) = subplots(2, 2, figsize=(9.6, 6.4))
    for way, colour in zip(WAYS, COLOURS, strict=False):
        values = means(outcomes, lambda o, way=way: o.ways[way].copies, lambda run: run.hosts)
        copies.plot(list(values), list(values.values()), marker="o", color=colour, label=way)
        if way != "multicast":
            values = means(outcomes, lambda o, way=way: o.ways[way].stretch_mean, lambda run: run.hosts)
            stretch.plot(list(values), list(values.values()), marker="o", color=colour, label=way)
    copies.set(xscale="log", yscale="log", xlabel="Hosts", ylabel="Copies of a packet on links")
    copies.legend(fontsize="small")
    stretch.set(xscale="log", yscale="log", xlabel="Hosts", ylabel="Delay over unicast's, mean")
    messages = joins.twinx()
    for panel, name, label, colour in (
        (joins, "join_mean_ms", "time, mean", COLOURS[0]),
        (joins, "join_p95_ms", "time, one in twenty longer", COLOURS[1]),
        (messages, "messages_a_join", "messages", COLOURS[2]),
        (messages, "probes_a_join", "probes", COLOURS[3]),
    ):
        values = means(outcomes, lambda o, name=name: getattr(o, name), lambda run: run.hosts)
        panel.plot(list(values), list(values.values()), marker="o", color=colour, label=label)
    joins.set(xscale="log", xlabel="Hosts", ylabel="Time to join [ms]", ylim=(0, 3200))
    messages.set(ylabel="Messages and probes a join", ylim=(0, 320))
    lines = [*joins.get_lines(), *messages.get_lines()]
    joins.legend(handles=lines, fontsize="small", loc="upper left", ncols=2)
    for name, label, colour in (
        ("repair_median_ms", "median", COLOURS[0]),
        ("repair_p95_ms", "one in twenty longer", COLOURS[1]),
    ):
        values = means(
            [o for o in outcomes if o.churn],
            lambda o, name=name: getattr(o.churn, name),
            lambda run: run.hosts,
        )
        churn.plot(list(values), list(values.values()), marker="o", color=colour, label=label)
    churn.set(xscale="log", xlabel="Hosts", ylabel="Without a parent [ms]", ylim=(0, None))
    churn.legend(fontsize="small", title="10 % of the hosts a minute")
    save(drawing, path)


def by_threshold(path: Path, outcomes: Outcomes) -> None:
    """Draws copies and delay over the threshold."""
    drawing, copies = subplots(figsize=(5.6, 3.6))
    stretch = copies.twinx()
    values = means(
        outcomes, lambda o: o.ways["tree"].copies / o.ways["multicast"].copies, lambda r: r.threshold_ms
    )
    copies.plot(list(values), list(values.values()), marker="o", color=COLOURS[0])
    copies.set(xscale="log", xlabel="Threshold of a cluster [ms]", ylim=(0, None))
    copies.set_ylabel("Copies over IP multicast's", color=COLOURS[0])
    values = means(outcomes, lambda o: o.ways["tree"].stretch_mean, lambda run: run.threshold_ms)
    stretch.plot(list(values), list(values.values()), marker="s", color=COLOURS[1])
    stretch.set(ylim=(0, None))
    stretch.set_ylabel("Delay over unicast's, mean", color=COLOURS[1])
    save(drawing, path)
