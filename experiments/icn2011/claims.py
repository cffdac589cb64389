"""What the paper says of its figures 6 to 12, against what was measured.

Words are given figures here: "proportional" and "maintains" allow a tenth, "zero" is a hundredth of the
link. A claim over the load holds when it holds at every load; the note says at which loads it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from experiments.common.claims import Claim
from experiments.icn2011.outcome import Indices, Points
from experiments.icn2011.paper import (
    DELAYS_MS,
    FRAME_BYTES,
    LINK_BPS,
    MEGABIT,
    MEMBERS,
    MSS,
    NAMES,
    SPLIT,
    Case,
    Method,
)

TENTH = 0.1
LINK_MBPS = LINK_BPS / MEGABIT
PAYLOAD_MBPS = LINK_MBPS * MSS / FRAME_BYTES
ZERO_MBPS = LINK_MBPS / 100
ALIKE = 0.02
"""by which consumption may differ between 1 and 5 members and still not depend on them"""
DEGRADED = 0.8
"""of the best: less is a degradation"""
LARGE_CACHE = (0.7, 0.9)
"""about 80 %"""
SMALL_CACHE = 0.1


class Findings:
    """The points of one reproduction, asked for by what a figure varies."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.loads = sorted({case.load for case in points if case.senders == 4})

    def at(self, method: Method, load: float, **which: int) -> Indices:
        """The means at a point; `senders`, `members`, `delay_ms` as in `Case`."""
        if which.get("senders") == 4:
            which["members"] = 1
        return self.points[Case(method, load, **which)].mean  # type: ignore[arg-type]

    def over(self, value: Callable[[float], float]) -> dict[float, float]:
        """A value at each load."""
        return {load: value(load) for load in self.loads}


def evaluate(points: Points) -> list[Claim]:
    """All claims, in the order of the figures."""
    found = Findings(points)
    return [
        *_consumption(found),
        *_reception(found),
        *_effective(found),
        *_many_to_many(found),
        *_caches(found),
    ]


def _where(values: dict[float, float], holds: Callable[[float], bool]) -> str:
    """At which loads it holds."""
    good = [load for load, value in values.items() if holds(value)]
    if len(good) == len(values):
        return "at every load"
    return f"at load {', '.join(f'{load:g}' for load in good)}" if good else "at no load"


def _least(
    id: str, figure: str, claim: str, paper: str | float, values: dict[float, float], unit: str, bound: float
) -> Claim:
    """Holds where the value is at least the bound."""
    return Claim(
        id,
        figure,
        claim,
        paper,
        min(values.values()),
        unit,
        min(values.values()) >= bound,
        f"the least over the loads; at least {bound:g} {_where(values, lambda value: value >= bound)}",
    )


def _most(
    id: str, figure: str, claim: str, paper: str | float, values: dict[float, float], unit: str, bound: float
) -> Claim:
    """Holds where the value is at most the bound."""
    return Claim(
        id,
        figure,
        claim,
        paper,
        max(values.values()),
        unit,
        max(values.values()) <= bound,
        f"the most over the loads; at most {bound:g} {_where(values, lambda value: value <= bound)}",
    )


def _consumption(found: Findings) -> list[Claim]:
    few, many = MEMBERS
    claims: list[Claim] = []
    for method in SPLIT:
        name = NAMES[method]

        def used(load: float, members: int, method: Method = method) -> float:
            return found.at(method, load, members=members).consumption_mbps

        differ = found.over(lambda load, used=used: abs(used(load, many) / used(load, few) - 1))
        claims.append(
            _most(
                f"{method}-flat",
                "Fig. 6",
                f"{name}: consumption does not depend on the number of members",
                0,
                differ,
                "relative difference, 1 and 5 members",
                ALIKE,
            )
        )
        share = found.over(lambda load, used=used: abs(used(load, many) / (load * LINK_MBPS) - 1))
        claims.append(
            _most(
                f"{method}-only-data",
                "Fig. 6",
                f"{name}: consumes what the data requires: load times link rate",
                0,
                share,
                "relative difference",
                TENTH,
            )
        )
    first = found.loads[0]
    one, three = (found.at("unicast", first, members=members).consumption_mbps for members in (1, 3))
    full = three >= 0.98 * LINK_MBPS
    claims.append(
        Claim(
            "unicast-proportional",
            "Fig. 6",
            "Unicast: consumption in proportion to the members",
            3.0,
            three / one,
            "with 3 members over with 1",
            abs(three / one - 3) <= 3 * TENTH or full,
            f"at load {first:g}" + (": the link is full" if full else ""),
        )
    )

    def more(load: float, members: int) -> float:
        split = max(found.at(method, load, members=members).consumption_mbps for method in SPLIT)
        return found.at("unicast", load, members=members).consumption_mbps / split

    claims += [
        _least(
            f"unicast-more-{members}",
            "Fig. 6",
            f"the proposed methods consume less than unicast, members: {members}",
            "less",
            found.over(lambda load, members=members: more(load, members)),
            "unicast over them",
            1.0,
        )
        for members in MEMBERS
    ]
    return claims


def _reception(found: Findings) -> list[Claim]:
    claims: list[Claim] = []
    near, far = DELAYS_MS
    for method in SPLIT:
        name = NAMES[method]
        rates = {
            delay: found.over(
                lambda load, delay=delay, method=method: found.at(method, load, delay_ms=delay).reception_mbps
            )
            for delay in DELAYS_MS
        }
        for delay in DELAYS_MS:
            shares = {load: rate / (load * PAYLOAD_MBPS) for load, rate in rates[delay].items()}
            claims.append(
                _least(
                    f"{method}-reception-{delay}ms",
                    "Fig. 7",
                    f"{name}, {delay} ms: reception throughput in proportion to the load",
                    1.0,
                    shares,
                    "of the load",
                    1 - TENTH,
                )
            )
        ratio = {load: rates[far][load] / rates[near][load] for load in found.loads}
        claims.append(
            _least(
                f"{method}-delay",
                "Fig. 7",
                f"{name}: the delay has little impact",
                "little",
                ratio,
                f"{far} ms over {near} ms",
                1 - TENTH,
            )
        )
    first, last = found.loads[0], found.loads[-1]
    for delay in DELAYS_MS:
        start = found.at("unicast", first, delay_ms=delay).reception_mbps
        unicast = found.at("unicast", last, delay_ms=delay)
        claims.append(
            Claim(
                f"unicast-zero-{delay}ms",
                "Fig. 7",
                f"Unicast, {delay} ms: reception throughput falls to zero",
                0,
                unicast.reception_mbps,
                f"Mb/s at load {last:g}",
                unicast.reception_mbps <= ZERO_MBPS,
                f"zero: at most {ZERO_MBPS:g}; {start:.2f} at load {first:g}",
            )
        )
        claims.append(
            Claim(
                f"unicast-short-rtt-{delay}ms",
                "Fig. 7",
                f"Unicast, {delay} ms: members with a short RTT take most",
                "most",
                unicast.nearest_mbps / max(unicast.reception_mbps, 1e-9),
                f"best over worst member at load {last:g}",
                unicast.nearest_mbps >= 2 * unicast.reception_mbps,
                "most: twice as much",
            )
        )
        higher = found.over(
            lambda load, delay=delay: (
                min(found.at(m, load, delay_ms=delay).reception_mbps for m in SPLIT)
                / max(found.at("unicast", load, delay_ms=delay).reception_mbps, 1e-9)
            )
        )
        claims.append(
            _least(
                f"split-higher-{delay}ms",
                "Fig. 7",
                f"both proposed methods receive more than unicast, {delay} ms",
                "higher",
                higher,
                "times unicast",
                1.0,
            )
        )
    return claims


def _effective(found: Findings) -> list[Claim]:
    claims: list[Claim] = []
    for method in SPLIT:
        values = found.over(lambda load, method=method: found.at(method, load).effective)
        claims.append(
            _least(
                f"{method}-effective",
                "Fig. 8",
                f"{NAMES[method]}: a high effective throughput at every load",
                "high",
                values,
                "",
                1 - TENTH,
            )
        )
    unicast = found.over(lambda load: found.at("unicast", load).effective)
    series = list(unicast.values())
    claims.append(
        Claim(
            "unicast-effective",
            "Fig. 8",
            "Unicast: the effective throughput falls with the load",
            "falls",
            series[-1] / max(series[0], 1e-9),
            "last over first",
            _falls(series),
        )
    )
    return claims


def _falls(series: Sequence[float]) -> bool:
    """From each load to the next, but for a hundredth."""
    return all(later <= earlier + 0.01 for earlier, later in pairwise(series)) and (
        series[-1] < DEGRADED * series[0]
    )


def _many_to_many(found: Findings) -> list[Claim]:
    first, last = found.loads[0], found.loads[-1]
    used = {m: found.over(lambda load, m=m: found.at(m, load, senders=4).consumption_mbps) for m in NAMES}
    got = {m: found.over(lambda load, m=m: found.at(m, load, senders=4).received_mbps) for m in NAMES}
    share = {m: found.over(lambda load, m=m: found.at(m, load, senders=4).effective) for m in NAMES}
    claims = [
        Claim(
            "four-low-load",
            "Fig. 9",
            "low load: the proposed methods consume less than unicast",
            "less",
            max(used[m][first] for m in SPLIT) / used["unicast"][first],
            f"of unicast's at load {first:g}",
            max(used[m][first] for m in SPLIT) < used["unicast"][first],
        ),
        _most(
            "n2n-four-proportional",
            "Fig. 9",
            "Node-Node: consumption in proportion to the load",
            0,
            {load: abs(value / (load * LINK_MBPS) - 1) for load, value in used["n2n"].items()},
            "relative difference",
            TENTH,
        ),
        Claim(
            "n2n-four-highest",
            "Fig. 9",
            "high load: Node-Node consumes more than the others",
            "higher",
            used["n2n"][last] / max(used["unicast"][last], used["e2e"][last]),
            f"of the next at load {last:g}",
            used["n2n"][last] > max(used["unicast"][last], used["e2e"][last]),
        ),
    ]
    for method, name in NAMES.items():
        falls = got[method][last] / max(got[method].values())
        paper = "degrades" if method != "e2e" else "stays high"
        degraded = falls < DEGRADED
        claims.append(
            Claim(
                f"{method}-four-reception",
                "Fig. 10",
                f"{name}: reception throughput at high load {paper}",
                paper,
                falls,
                f"at load {last:g}, of the best load's",
                degraded if method != "e2e" else not degraded,
                f"degrades: below {DEGRADED:g}; best {max(got[method].values()):.1f} Mb/s",
            )
        )
    claims += [
        Claim(
            "e2e-four-reception-highest",
            "Fig. 10",
            "high load: End-End receives more than Node-Node",
            "higher",
            got["e2e"][last] / got["n2n"][last],
            f"of Node-Node's at load {last:g}",
            got["e2e"][last] > got["n2n"][last],
        ),
        Claim(
            "e2e-four-effective",
            "Fig. 11",
            "high load: End-End has the highest effective throughput",
            "higher",
            share["e2e"][last] / max(share["n2n"][last], share["unicast"][last]),
            f"of the next at load {last:g}",
            share["e2e"][last] > max(share["n2n"][last], share["unicast"][last]),
        ),
    ]
    return claims


def _caches(found: Findings) -> list[Claim]:
    last = found.loads[-1]
    ratio = {
        (m, senders): found.over(
            lambda load, m=m, senders=senders: found.at(m, load, senders=senders).cache_ratio
        )
        for m in SPLIT
        for senders in (1, 4)
    }
    claims = [
        _most(
            f"{method}-one-cache",
            "Fig. 12",
            f"{NAMES[method]}, one sender: cache ratio below 10 %",
            "< 0.1",
            ratio[method, 1],
            "",
            SMALL_CACHE,
        )
        for method in SPLIT
    ]
    low, high = LARGE_CACHE
    n2n, e2e = max(ratio["n2n", 4].values()), max(ratio["e2e", 4].values())
    claims += [
        Claim(
            "n2n-four-cache",
            "Fig. 12",
            "Node-Node, four senders: cache ratio about 80 %",
            0.8,
            n2n,
            "most over the loads",
            low <= n2n <= high,
            f"about: {low:g} to {high:g}; {ratio['n2n', 4][last]:.2f} at load {last:g}",
        ),
        Claim(
            "e2e-four-cache",
            "Fig. 12",
            "End-End, four senders: the cache ratio is suppressed",
            "suppressed",
            e2e / n2n,
            "of Node-Node's",
            e2e <= n2n / 2,
            "suppressed: at most half",
        ),
        Claim(
            "four-cache-more",
            "Fig. 12",
            "the cache ratio is higher with four senders than with one",
            "higher",
            min(ratio[m, 4][last] / max(ratio[m, 1][last], 1e-9) for m in SPLIT),
            f"times one sender's at load {last:g}",
            all(ratio[m, 4][last] > ratio[m, 1][last] for m in SPLIT),
        ),
    ]
    return claims
