"""The paper's claims about its figures 6 to 12, against the measurements.

A claim is judged on the means over the seeds, as in the paper's figures. A claim about the load holds if it
does at every load; its note lists the loads at which it does.

Its words get figures: "proportional" and "maintains" allow a tenth, "zero" is what a figure cannot tell from
zero, "more" is more than means of five seeds vary by. A claim names the section and the figure that state it.
Statements that one event decides are one claim: members near the sender take unicast's link, so that the far
ones get nothing; and effective throughput is reception over the load.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf

from groupflow.study.claims import Claim
from papers.icn2011 import paper
from papers.icn2011.outcome import Indices, Points
from papers.icn2011.paper import Case, Method

ByLoad = Mapping[float, float]
"""a value at each load, the lowest first"""


class Measured:
    """Points of a figure, by the parameters that the figure varies."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.loads = sorted({case.load for case in points})

    @property
    def lowest(self) -> float:
        return self.loads[0]

    @property
    def highest(self) -> float:
        return self.loads[-1]

    def at(self, method: Method, load: float, **which: float | None) -> Indices:
        """The means at a point; `senders`, `members`, `delay_ms` as in `Case`."""
        if which.get("senders") == 4:
            which["members"] = 1
        return self.points[Case(method, load, **which)].mean  # type: ignore[arg-type]

    def over(self, value: Callable[[float], float]) -> ByLoad:
        """A value at each load."""
        return {load: value(load) for load in self.loads}


def at_every_load(
    id: str,
    figure: str,
    claim: str,
    paper: str | float,
    values: ByLoad,
    unit: str,
    *,
    least: float = -inf,
    most: float = inf,
) -> Claim:
    """A claim that holds if no value is below `least`, or above `most`. The worst value is measured."""
    pick, word, bound = (max, "most", most) if most < inf else (min, "least", least)
    worst, good = pick(values.values()), [load for load, x in values.items() if least <= x <= most]
    holds = len(good) == len(values)
    where = "every load" if holds else f"load {', '.join(f'{x:g}' for x in good)}" if good else "no load"
    note = f"the {word} over the loads; at {word} {bound:g} at {where}"
    return Claim(id, figure, claim, paper, worst, unit, holds, note)


TENTH = 0.1
LINK_MBPS = paper.LINK_BPS / paper.MEGABIT
PAYLOAD_MBPS = LINK_MBPS * paper.MSS / paper.FRAME_BYTES
ZERO_MBPS = LINK_MBPS * 0.03
"""the height of a point's mark in the paper's figures, whose axis is the link's rate"""
MORE = 1.05
"""ratio from which on a value is more than another: seeds deviate from their mean by 4 % at most"""
ALIKE = 0.02
"""relative difference of consumption up to which it does not depend on the members, from 1 to 5"""
DEGRADED = 0.8
"""share of the best value below which a value is degraded"""
LARGE_CACHE = (0.7, 0.9)
"""bounds of "about 80 %\""""
SMALL_CACHE = 0.1
NEVER_ZERO = 1e-9
"""a divisor in place of 0"""


def evaluate(figure: int, points: Points) -> list[Claim]:
    """All claims about a figure, on its points."""
    return list(RULES[figure](Measured(points)))


def consumption(found: Measured) -> list[Claim]:
    """Claims of Fig. 6."""
    claims = [claim for method in paper.SPLIT for claim in only_data(found, method)]
    return [*claims, _proportional(found), more_than_split(found, "unicast")]


def only_data(found: Measured, method: paper.Method) -> Iterator[Claim]:
    few, many = paper.MEMBERS
    name = paper.NAMES[method]

    def used(load: float, members: int) -> float:
        return found.at(method, load, members=members).consumption_mbps

    yield at_every_load(
        f"{method}-flat", "V.A, Fig. 6", f"{name}: consumption does not depend on the number of members",
        0, found.over(lambda load: abs(used(load, many) / used(load, few) - 1)),
        "relative difference, 1 and 5 members", most=ALIKE,
    )  # fmt: skip
    yield at_every_load(
        f"{method}-only-data", "V.A, Fig. 6",
        f"{name}: consumes no more than the data requires: load times link rate", "<= 1",
        found.over(lambda load: used(load, many) / (load * LINK_MBPS)), "of the load", most=1 + TENTH,
    )  # fmt: skip


def more_than_split(found: Measured, method: paper.Method) -> Claim:
    """A connection for each member, or for two, consumes more than the proposed methods."""
    name = paper.NAMES[method].lower()

    def more(load: float, members: int) -> float:
        split = max(found.at(each, load, members=members).consumption_mbps for each in paper.SPLIT)
        return found.at(method, load, members=members).consumption_mbps / split

    few, many = paper.MEMBERS
    return at_every_load(
        f"{method}-more", "V.A, Fig. 6",
        f"the proposed methods consume less than {name}, with {few} and {many} members a network", "less",
        {x: min(more(x, few), more(x, many)) for x in found.loads if x * MORE < 1},
        f"{name} over them, below the load that the data alone fills the link with", least=MORE,
    )  # fmt: skip


def _proportional(found: Measured) -> Claim:
    """Proportion shows below the link's capacity: at the lowest load, and with 3 members instead of 5.

    Where 3 members need more than the link has, the proportion is that of the whole link.
    """
    first = found.lowest
    one, three = (found.at("unicast", first, members=members).consumption_mbps for members in (1, 3))
    ratio = min(1.0, 9 * first) / min(1.0, 3 * first)
    return Claim(
        "unicast-proportional", "V.A, Fig. 6", "Unicast: consumption in proportion to the members", ratio,
        three / one, "with 3 members over with 1", abs(three / one / ratio - 1) <= TENTH,
        f"at load {first:g}, within a tenth",
    )  # fmt: skip


def reception(found: Measured) -> list[Claim]:
    """Claims of Fig. 7."""
    claims = [claim for method in paper.SPLIT for claim in reception_of(found, method)]
    return claims + [claim for delay in paper.DELAYS_MS for claim in _unicast_reception(found, delay)]


def reception_of(found: Measured, method: paper.Method) -> list[Claim]:
    near, far = paper.DELAYS_MS
    name = paper.NAMES[method]

    def left(load: float) -> float:
        at = [found.at("unicast", load, delay_ms=delay).reception_mbps for delay in (far, near)]
        return at[0] / max(at[1], NEVER_ZERO)

    unicast = found.over(lambda load: max(left(load), NEVER_ZERO))
    rates = {
        delay: found.over(lambda load, delay=delay: found.at(method, load, delay_ms=delay).reception_mbps)
        for delay in paper.DELAYS_MS
    }
    return [
        at_every_load(  # near: effective(), as D is the load
            f"{method}-reception-{far}ms", "V.A, Fig. 7",
            f"{name}, {far} ms: reception throughput in proportion to the load", 1.0,
            {load: rate / (load * PAYLOAD_MBPS) for load, rate in rates[far].items()}, "of the load",
            least=1 - TENTH,
        ),
        at_every_load(
            f"{method}-delay", "V.A, Fig. 7", f"{name}: the delay has less impact than on unicast", "less",
            {load: rates[far][load] / rates[near][load] / unicast[load] for load in found.loads},
            f"{far} ms over {near} ms, over unicast's", least=MORE,
        ),
    ]  # fmt: skip


def _unicast_reception(found: Measured, delay: int) -> Iterator[Claim]:
    first, last = found.lowest, found.highest
    start = found.at("unicast", first, delay_ms=delay).reception_mbps
    unicast = found.at("unicast", last, delay_ms=delay)
    effective = list(found.over(lambda load: found.at("unicast", load, delay_ms=delay).effective).values())
    shown = delay == min(paper.DELAYS_MS)  # Fig. 8 has 10 ms alone
    nearest = unicast.nearest_mbps / max(unicast.reception_mbps, NEVER_ZERO)

    def times(load: float) -> float:
        split = min(found.at(method, load, delay_ms=delay).reception_mbps for method in paper.SPLIT)
        return split / max(found.at("unicast", load, delay_ms=delay).reception_mbps, NEVER_ZERO)

    yield Claim(
        f"unicast-zero-{delay}ms", "V.A, Figs. 7, 8" if shown else "V.A, Fig. 7",
        f"Unicast, {delay} ms: members with a short RTT take most; reception throughput falls to zero"
        + ", and the effective throughput with it" * shown, 0,
        unicast.reception_mbps, f"Mb/s at load {last:g}",
        unicast.reception_mbps <= min(ZERO_MBPS, DEGRADED * start) and nearest >= 2
        and (_falls(effective) or not shown),
        f"at most {ZERO_MBPS:g}, and {DEGRADED:g} of {start:.2f} at load {first:g}; best over worst"
        f" member {nearest:.1f}, at least 2"
        + f"; effective {effective[0]:.2f} to {effective[-1]:.2f}" * shown,
    )  # fmt: skip
    yield at_every_load(
        f"split-higher-{delay}ms", "V.A, Fig. 7",
        f"both proposed methods receive more than unicast, {delay} ms", "higher", found.over(times),
        "times unicast", least=MORE,
    )  # fmt: skip


def effective(found: Measured) -> list[Claim]:
    """Claims of Fig. 8; of unicast's the fall to zero in Fig. 7 decides."""
    return [effective_of(found, method) for method in paper.SPLIT]


def effective_of(found: Measured, method: paper.Method) -> Claim:
    return at_every_load(
        f"{method}-effective", "V.A, Figs. 7, 8",
        f"{paper.NAMES[method]}: reception in proportion to the load: a high effective throughput", "high",
        found.over(lambda load: found.at(method, load).effective), "", least=1 - TENTH,
    )  # fmt: skip


def _falls(series: Sequence[float]) -> bool:
    """Whether each value is below the one before by more than seeds vary by, and the last well below."""
    steps = all(later * MORE <= earlier for earlier, later in pairwise(series))
    return steps and series[-1] < DEGRADED * series[0]


def consumption_of_four(found: Measured) -> Iterator[Claim]:
    """Claims of Fig. 9."""
    first, last = found.lowest, found.highest
    used = {
        m: found.over(lambda load, m=m: found.at(m, load, senders=4).consumption_mbps) for m in paper.METHODS
    }
    low = max(used[m][first] for m in paper.SPLIT) / used["unicast"][first]
    high = used["n2n"][last] / max(used["unicast"][last], used["e2e"][last])
    held = used["e2e"][last] / (last * LINK_MBPS)
    yield Claim(
        "e2e-four-held-back", "V.B, Fig. 9", "high load: competition decreases End-End's consumption",
        "decreases", held, f"of load {last:g}", held < DEGRADED,
        f"below {DEGRADED:g}; {used['e2e'][first] / (first * LINK_MBPS):.2f} of load {first:g}",
    )  # fmt: skip
    yield Claim(
        "four-low-load", "V.B, Fig. 9",
        "low load: the proposed methods consume less than unicast", "less",
        low, f"of unicast's at load {first:g}", low * MORE <= 1, f"at most 1/{MORE:g}",
    )  # fmt: skip
    yield at_every_load(
        "n2n-four-proportional", "V.B, Fig. 9", "Node-Node: consumption in proportion to the load", 0,
        {load: abs(value / (load * LINK_MBPS) - 1) for load, value in used["n2n"].items()},
        "relative difference", most=TENTH,
    )  # fmt: skip
    yield Claim(
        "n2n-four-highest", "V.B, Fig. 9", "high load: Node-Node consumes more than the others", "higher",
        high, f"of the next at load {last:g}", high >= MORE, f"at least {MORE:g}",
    )  # fmt: skip


def reception_of_four(found: Measured) -> Iterator[Claim]:
    """Claims of Fig. 10."""
    first, last = found.lowest, found.highest
    got = {m: found.over(lambda load, m=m: found.at(m, load, senders=4).received_mbps) for m in paper.METHODS}
    acks = {
        m: found.over(lambda load, m=m: found.at(m, load, senders=4).acknowledgements_mbps)
        for m in paper.SPLIT
    }
    share = acks["n2n"][last] / LINK_MBPS
    grown = acks["n2n"][last] / max(acks["n2n"][first], NEVER_ZERO)
    yield from (_degrades(method, got[method]) for method in ("unicast", "n2n"))
    yield stays("e2e", got["e2e"])
    yield Claim(
        "n2n-four-acknowledgements", "V.B, Fig. 10",
        "Node-Node: an explosion of acknowledgements is an obstacle to data", "explosion", share,
        f"of a member's link at load {last:g}", share >= TENTH and grown >= (1 - TENTH) * last / first,
        f"at least {TENTH:g}, and growth with the load, within a tenth, or above; {grown:.1f}"
        f" times load {first:g}'s, {acks['n2n'][last] / max(acks['e2e'][last], NEVER_ZERO):.2f} times"
        " End-End's",
    )  # fmt: skip


def _degrades(method: paper.Method, got: ByLoad) -> Claim:
    """The claim that reception falls "in proportion to the traffic load": with each load from the best on."""
    best = max(got, key=lambda load: got[load])
    series = [value for load, value in got.items() if load >= best]
    share = series[-1] / series[0]
    return Claim(
        f"{method}-four-reception", "V.B, Fig. 10",
        f"{paper.NAMES[method]}: reception throughput degrades in proportion to the load", "degrades", share,
        "at the highest load, of the best load's", _falls(series),
        f"below {DEGRADED:g}, and by {MORE:g} with each load; best {series[0]:.1f} Mb/s at load {best:g}",
    )  # fmt: skip


def stays(method: paper.Method, got: ByLoad) -> Claim:
    last = max(got)
    share = got[last] / max(got.values())
    return Claim(
        f"{method}-four-reception", "V.B, Fig. 10",
        f"{paper.NAMES[method]}: reception throughput stays high at high load", "high", share,
        f"at load {last:g}, of the best load's", share >= DEGRADED, f"at least {DEGRADED:g}",
    )  # fmt: skip


def effective_of_four(found: Measured) -> Iterator[Claim]:
    """The claim of Figs. 10 and 11: D is the same with all methods, so that one quantity orders both."""
    last = found.highest
    share = {m: found.at(m, last, senders=4).effective for m in paper.METHODS}
    more = share["e2e"] / max(share["n2n"], share["unicast"])
    yield Claim(
        "e2e-four-effective", "V.B, Figs. 10, 11",
        "high load: End-End receives most: it has the highest effective throughput",
        "higher", more, f"of the next at load {last:g}", more >= MORE, f"at least {MORE:g}",
    )  # fmt: skip


def caches(found: Measured) -> Iterator[Claim]:
    """Claims of Fig. 12."""
    last = found.highest
    ratio = {
        (m, n): found.over(lambda load, m=m, n=n: found.at(m, load, senders=n).cache_ratio)
        for m in paper.SPLIT
        for n in (1, 4)
    }
    low, high = LARGE_CACHE
    n2n, e2e = max(ratio["n2n", 4].values()), max(ratio["e2e", 4].values())
    more = min(ratio[m, 4][last] / max(ratio[m, 1][last], NEVER_ZERO) for m in paper.SPLIT)
    yield from (one_cache(found, method) for method in paper.SPLIT)
    yield Claim(
        "n2n-four-cache", "V.C, Fig. 12", "Node-Node, four senders: cache ratio about 80 %", 0.8, n2n,
        "most over the loads", low <= n2n <= high,
        f"about: {low:g} to {high:g}; {ratio['n2n', 4][last]:.2f} at load {last:g}",
    )  # fmt: skip
    yield Claim(
        "e2e-four-cache", "V.C, Fig. 12",
        "End-End, four senders: the cache ratio is suppressed", "suppressed",
        e2e / max(n2n, NEVER_ZERO), "of Node-Node's", e2e <= n2n / 2, "suppressed: at most half",
    )  # fmt: skip
    yield Claim(
        "four-cache-more", "V.C, Fig. 12", "the cache ratio is higher with four senders than with one",
        "higher", more, f"times one sender's at load {last:g}", more >= MORE, f"at least {MORE:g}",
    )  # fmt: skip


def one_cache(found: Measured, method: paper.Method) -> Claim:
    return at_every_load(
        f"{method}-one-cache", "V.C, Fig. 12", f"{paper.NAMES[method]}, one sender: cache ratio below 10 %",
        "< 0.1", found.over(lambda load: found.at(method, load).cache_ratio), "", most=SMALL_CACHE,
    )  # fmt: skip


RULES: Mapping[int, Callable[[Measured], Iterable[Claim]]] = {
    6: consumption,
    7: reception,
    8: effective,
    9: consumption_of_four,
    10: reception_of_four,
    11: effective_of_four,
    12: caches,
}
