"""The paper's claims about its figures 3, 5, 6, 7 and Table II, against the measurements.

"Satisfies the target" is judged on means over seeds: over a whole run, but for its first sixtieth, in Model
1; over the interference, but for its first tenth, in Model 2. Notes give the number of ten-second spans in
which the target was met.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from groupflow.study.claims import Claim, Kind
from papers.sakajiri.outcome import TABLE_S, Outcome, Outcomes, Span
from papers.sakajiri.paper import HIGH, LOW, TABLE_II, TARGETS, TCPS, Case, Method

HIGH_MBPS, LOW_MBPS = 1.0, 0.5
MORE = 1.01
"""ratio from which on one TCP version gets more than another"""
TENTH = 0.1
"""relative difference up to which a figure of Table II is the paper's"""

MODEL_1: dict[Method, Case] = {m: Case(m) for m in ("both", "comparison")}
MODEL_2: dict[Method, Case] = {m: Case(m, interference=True) for m in ("both", "buffer", "comparison")}


def figure_3(found: Outcomes) -> list[Claim]:
    proposal, comparison = found[MODEL_1["both"]], found[MODEL_1["comparison"]]
    high, low = over(comparison, HIGH), over(comparison, LOW)
    return [
        *(
            meets(f"f3-{group}", "Fig. 3", f"proposal: {group} priority clients satisfy their target",
                  proposal, names, whole)
            for group, names in (("high", HIGH), ("low", LOW))
        ),
        Claim("f3-comparison-high", "Fig. 3", "comparison: high priority clients are below their target",
              "< 1.0", high, "Mb/s", high < HIGH_MBPS),
        Claim("f3-low-higher", "Fig. 3", "low priority clients get less than in the comparison",
              "less", over(proposal, LOW) / low, "of the comparison's", over(proposal, LOW) < low),
        Claim("f3-inverted", "Fig. 3", "comparison: low priority clients can get more than high ones",
              "higher", low / high, "times high priority's", low > high),
    ]  # fmt: skip


def figure_5(found: Outcomes) -> list[Claim]:
    outcomes = found[MODEL_2["buffer"]]
    rate = over(outcomes, ("t3",), during)
    return [
        Claim("f5-short", "Fig. 5", "buffers alone: Terminal 3 is below its target under interference",
              "< 1.0", rate, "Mb/s", rate < HIGH_MBPS, spans_met(outcomes, ("t3",), during)),
        meets("f5-before", "Fig. 5", "buffers alone: Terminal 3 satisfies its target before the interference",
              outcomes, ("t3",), before),
        meets("f5-after", "Fig. 5", "and after it", outcomes, ("t3",), after),
    ]  # fmt: skip


def figure_6(found: Outcomes) -> list[Claim]:
    both, buffer = found[MODEL_2["both"]], found[MODEL_2["buffer"]]
    compared = found[MODEL_2["comparison"]]
    more = over(both, ("t3",), during) / over(buffer, ("t3",), during)
    inverted = over(compared, LOW, during) / over(compared, HIGH, during)
    return [
        *(
            meets(f"f6-{name}", "Fig. 6", f"buffers and connections: Terminal 3 satisfies its target {name}",
                  both, ("t3",), span)
            for name, span in (("before", before), ("during", during), ("after", after))
        ),
        meets("f6-high", "Fig. 6", "so do all high priority clients under interference", both, HIGH, during),
        meets("f6-low", "Fig. 6", "and low priority clients", both, LOW, during),
        Claim("f6-more", "Fig. 6", "tuning connections gives Terminal 3 more under interference", "more",
              more, "times that of buffers alone", more > 1),
        Claim("f6-inverted", "Fig. 6", "comparison: inverts priorities under interference, too", "",
              inverted, "times high priority's", inverted > 1),
    ]  # fmt: skip


def figure_7(found: Outcomes) -> list[Claim]:
    cubic, reno = (found[Case("both", tcp)] for tcp in ("cubic", "reno"))
    ratio = over(cubic, HIGH) / over(reno, HIGH)
    return [
        *(
            meets(f"f7-{tcp}-{group}", "Fig. 7", f"{TCPS[tcp]}: {group} priority has its target",
                  found[Case("both", tcp)], names, whole)
            for tcp in ("cubic", "reno")
            for group, names in (("high", HIGH), ("low", LOW))
        ),
        Claim("f7-order", "Fig. 7", "CUBIC is more efficient than Reno", "higher", ratio, "times Reno's",
              ratio >= MORE, f"at least {MORE:g}: less is no difference"),
    ]  # fmt: skip


def table_2(found: Outcomes) -> list[Claim]:
    rates = {
        (tcp, group): over(found[Case("both", tcp)], names)
        for tcp in TCPS
        for group, names in (("high", HIGH), ("low", LOW))
    }
    claims = [
        Claim(f"t2-{tcp}-{group}", "Table II", f"{TCPS[tcp]}: average throughput, {group} priority",
              paper, rates[tcp, group], "Mb/s", abs(rates[tcp, group] / paper - 1) <= TENTH, "within a tenth")
        for tcp, pair in TABLE_II.items()
        for group, paper in zip(("high", "low"), pair, strict=True)
    ]  # fmt: skip
    for group in ("high", "low"):
        ratio = min(rates[tcp, group] for tcp in ("cubic", "compound")) / max(
            rates[tcp, group] for tcp in ("vegas", "reno")
        )
        listed = ", ".join(f"{TCPS[tcp]} {rates[tcp, group]:.3f}" for tcp in TCPS)
        claims.append(
            Claim(f"t2-new-{group}", "Table II", f"new TCP versions get more than old ones, {group} priority",
                  "higher", ratio, "the worse new one over the better old one", ratio >= MORE, listed)
        )  # fmt: skip
    return claims


RULES: Mapping[str, Callable[[Outcomes], list[Claim]]] = {
    "figure-3": figure_3,
    "figure-5": figure_5,
    "figure-6": figure_6,
    "figure-7": figure_7,
    "table-2": table_2,
}


def whole(outcome: Outcome) -> Span:
    return outcome.whole


def before(outcome: Outcome) -> Span:
    return outcome.before


def during(outcome: Outcome) -> Span:
    return outcome.during


def after(outcome: Outcome) -> Span:
    return outcome.after


def over(outcomes: Iterable[Outcome], names: Sequence[str], span: Callable[[Outcome], Span] = whole) -> float:
    """Mb/s, the mean of these clients over all seeds."""
    return fmean(outcome.series[name].mean(span(outcome)) for outcome in outcomes for name in names)


def meets(
    id: str,
    figure: str,
    claim: str,
    outcomes: Sequence[Outcome],
    names: Sequence[str],
    span: Callable[[Outcome], Span],
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


def spans_met(outcomes: Iterable[Outcome], names: Sequence[str], span: Callable[[Outcome], Span]) -> str:
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
