"""The paper's claims about its figures 3, 5, 6, 7 and Table II, against the measurements.

"Satisfies the target" is judged on means over seeds: over a whole run, but for its first sixtieth, in Model
1; over the interference, but for its first tenth, in Model 2. Notes give the number of ten-second spans in
which the target was met. A claim names the section and the figure that state it; a statement about a figure
that the paper does not make is a finding; Table II, the comparison's rates and Fig. 5's shortfall are fitted
(`paper.Links`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from statistics import fmean
from typing import TypeAlias

from groupflow.sim.model import Variant
from groupflow.study.claims import BEYOND, Claim, Kind
from papers.sakajiri.outcome import TABLE_S, Outcome, Outcomes, Span
from papers.sakajiri.paper import HIGH, LOW, TABLE_II, TARGETS, TCPS, Case, Method

HIGH_MBPS = 1.0
MORE = 1.02
"""ratio from which on a rate is more than another: means of five seeds differ by 1 %"""
NEWER = 1.01
"""ratio from which on one TCP version gets more than another: the paper's own order has 1.02"""
TENTH = 0.1
"""relative difference up to which figures are almost the same; a margin above a target"""
LOSSES = "the losses on the clients' links were chosen by it"

MODEL_1: dict[Method, Case] = {m: Case(m) for m in ("both", "comparison")}
MODEL_2: dict[Method, Case] = {m: Case(m, interference=True) for m in ("both", "buffer", "comparison")}


def figure_3(found: Outcomes) -> Iterator[Claim]:
    proposal, comparison = found[MODEL_1["both"]], found[MODEL_1["comparison"]]
    high, low = over(comparison, HIGH), over(comparison, LOW)
    less = over(proposal, LOW) / low
    yield from (
        meets(f"f3-{group}", "IV.B, Fig. 3",
              f"proposal: {group} priority clients satisfy their target with a margin",
              proposal, names, whole, margin=1 + TENTH)
        for group, names in (("high", HIGH), ("low", LOW))
    )  # fmt: skip
    yield Claim("f3-low-higher", "IV.B, Fig. 3", "low priority clients get less than in the comparison",
                "less", less, "of the comparison's", less * MORE <= 1, f"at most 1/{MORE:g}; {LOSSES}",
                "fitted")  # fmt: skip
    yield Claim("f3-comparison-high", "IV.B, Fig. 3",
                "comparison: high priority clients are below their target",
                "< 1.0", high, "Mb/s", high * MORE <= HIGH_MBPS, LOSSES, "fitted")  # fmt: skip
    yield Claim("f3-inverted", "IV.B, Fig. 3", "comparison: low priority clients can get more than high ones",
                "higher", low / high, "times high priority's", low >= MORE * high, LOSSES,
                "fitted")  # fmt: skip


def figure_5(found: Outcomes) -> Iterator[Claim]:
    outcomes = found[MODEL_2["buffer"]]
    rate = over(outcomes, ("t3",), during)
    yield Claim("f5-short", "IV.B, Fig. 5",
                "buffers alone: Terminal 3 is below its target under interference",
                "< 1.0", rate, "Mb/s", rate * MORE <= HIGH_MBPS,
                f"at most 1/{MORE:g}; the number of rivals was chosen by it;"
                f" {spans_met(outcomes, ('t3',), during)}", "fitted")  # fmt: skip
    yield from (
        meets(f"f5-{name}", "Fig. 5", f"buffers alone: Terminal 3 satisfies its target {name}",
              outcomes, ("t3",), span, kind="finding")
        for name, span in (("before", before), ("after", after))
    )  # fmt: skip


def figure_6(found: Outcomes) -> Iterator[Claim]:
    both, buffer = found[MODEL_2["both"]], found[MODEL_2["buffer"]]
    compared = found[MODEL_2["comparison"]]
    inverted = over(compared, LOW, during) / over(compared, HIGH, during)
    yield meets("f6-during", "IV.B, Fig. 6",
                "buffers and connections: Terminal 3 satisfies its target during it",
                both, ("t3",), during)  # fmt: skip
    yield from (
        meets(f"f6-{name}", "Fig. 6", f"buffers and connections: Terminal 3 satisfies its target {name}",
              both, ("t3",), span, kind="finding")
        for name, span in (("before", before), ("after", after))
    )  # fmt: skip
    yield from (
        meets(f"f6-{group}", "Fig. 6",
              f"under interference {who} priority clients satisfy their target",
              both, names, during, kind="finding")
        for group, who, names in (("high", "the other high", HIGH[1:]), ("low", "low", LOW))
    )  # fmt: skip
    yield _alike({"buffers alone": buffer, "both": both})
    yield Claim("f6-inverted", "Fig. 6", "comparison: inverts priorities under interference, too", BEYOND,
                inverted, "times high priority's", inverted >= MORE, f"at least {MORE:g}",
                "finding")  # fmt: skip


def _alike(found: Mapping[str, Sequence[Outcome]]) -> Claim:
    """The paper shows Terminals 0 and 4 only, because of this."""
    apart = {
        f"{one[1]} as {other[1]}, {said}, {when}": abs(
            over(runs, (one,), span) / over(runs, (other,), span) - 1
        )
        for said, runs in found.items()
        for one, other in (("t2", "t0"), ("t5", "t4"))
        for when, span in (("before", before), ("during", during), ("after", after))
    }
    worst = max(apart, key=lambda which: apart[which])
    return Claim("f56-alike", "IV.B, Figs. 5, 6", "Terminals 2 and 5 are almost the same as 0 and 4", 0,
                 apart[worst], "relative difference, the most", apart[worst] <= TENTH,
                 f"at most {TENTH:g}, before, under and after the interference; worst: {worst}")  # fmt: skip


def figure_7(found: Outcomes) -> Iterator[Claim]:
    """Reno's targets are Fig. 3's."""
    yield _all_met("f7-met", "IV.C, Fig. 7", found, "cubic")


def table_2(found: Outcomes) -> Iterator[Claim]:
    rates = {
        (tcp, group): over(found[Case("both", tcp)], names)
        for tcp in TCPS
        for group, names in (("high", HIGH), ("low", LOW))
    }
    ratios = {
        group: min(rates[tcp, group] for tcp in ("cubic", "compound"))
        / max(rates[tcp, group] for tcp in ("vegas", "reno"))
        for group in ("high", "low")
    }
    listed = ", ".join(f"{TCPS[tcp]} {rates[tcp, 'high']:.3f}" for tcp in TCPS)
    yield from (_all_met(f"t2-met-{tcp}", "IV.C, Table II", found, tcp) for tcp in ("compound", "vegas"))
    yield Claim("t2-new", "IV.C, Table II, Fig. 7", "new TCP versions get more than old ones", "higher",
                min(ratios.values()),
                "the worse new one over the better old one, the less of both priorities",
                min(ratios.values()) >= NEWER,
                f"at least {NEWER:g}: the paper's own is 1.02; high priority: {listed}")  # fmt: skip
    yield from (
        Claim(f"t2-{tcp}-{group}", "IV.C, Table II", f"{TCPS[tcp]}: average throughput, {group} priority",
              paper, rates[tcp, group], "Mb/s", abs(rates[tcp, group] / paper - 1) <= TENTH,
              "within a tenth; the round trip was chosen by it", "fitted")
        for tcp, pair in TABLE_II.items()
        for group, paper in zip(("high", "low"), pair, strict=True)
    )  # fmt: skip


def _all_met(id: str, figure: str, found: Outcomes, tcp: Variant) -> Claim:
    """The claim that all clients have their targets, by their means over the seeds."""
    outcomes = found[Case("both", tcp)]
    worst = min(over(outcomes, (name,)) / target for name, target in TARGETS.items())
    return Claim(id, figure, f"{TCPS[tcp]}: the target throughput is satisfied", ">= 1", worst,
                 "of the target, the worst client", worst >= 1,
                 spans_met(outcomes, tuple(TARGETS), whole))  # fmt: skip


RULES: Mapping[str, Callable[[Outcomes], Iterable[Claim]]] = {
    "figure-3": figure_3,
    "figure-5": figure_5,
    "figure-6": figure_6,
    "figure-7": figure_7,
    "table-2": table_2,
}


When: TypeAlias = Callable[[Outcome], Span]
whole: When = attrgetter("whole")
before: When = attrgetter("before")
during: When = attrgetter("during")
after: When = attrgetter("after")


def over(outcomes: Iterable[Outcome], names: Sequence[str], span: When = whole) -> float:
    """Mb/s, the mean of these clients over all seeds."""
    return fmean(outcome.series[name].mean(span(outcome)) for outcome in outcomes for name in names)


def meets(
    id: str,
    figure: str,
    claim: str,
    outcomes: Sequence[Outcome],
    names: Sequence[str],
    span: When,
    *,
    margin: float = 1.0,
    kind: Kind = "claim",
) -> Claim:
    """A claim that holds if each of these clients has its target times the margin, by its mean over the
    seeds."""
    least = TARGETS[names[0]] * margin
    worst = min(over(outcomes, (name,), span) for name in names)
    note = spans_met(outcomes, names, span)
    return Claim(id, figure, claim, f">= {least:g}", worst, "Mb/s", worst >= least, note, kind)


def spans_met(outcomes: Iterable[Outcome], names: Sequence[str], span: When) -> str:
    """A note on the number of spans of ten seconds in which the target was met."""
    met = total = 0
    for outcome in outcomes:
        start, stop = span(outcome)
        for name in names:
            for step in range(int((stop - start) / TABLE_S)):
                inside = (start + step * TABLE_S, start + (step + 1) * TABLE_S)
                met += outcome.series[name].mean(inside) >= TARGETS[name]
                total += 1
    return f"met in {met} of {total} spans of {TABLE_S:g} s"
