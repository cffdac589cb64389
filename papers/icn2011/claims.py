"""The paper's claims about its figures 6 to 12, against the measurements.

Its words get figures: "proportional" and "maintains" allow a tenth, "zero" is a hundredth of the link.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from groupflow.study.claims import Claim
from papers.icn2011.judge import Findings, at_every_load
from papers.icn2011.outcome import Points
from papers.icn2011.paper import DELAYS_MS, FRAME_BYTES, LINK_BPS, MEGABIT, MEMBERS, MSS, NAMES, SPLIT, Method

TENTH = 0.1
LINK_MBPS = LINK_BPS / MEGABIT
PAYLOAD_MBPS = LINK_MBPS * MSS / FRAME_BYTES
ZERO_MBPS = LINK_MBPS / 100
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
    return RULES[figure](Findings(points))


def consumption(found: Findings) -> list[Claim]:
    """Claims of Fig. 6."""
    few, many = MEMBERS
    claims: list[Claim] = []
    for method in SPLIT:
        name = NAMES[method]

        def used(load: float, members: int, method: Method = method) -> float:
            return found.at(method, load, members=members).consumption_mbps

        claims += [
            at_every_load(
                f"{method}-flat", "Fig. 6", f"{name}: consumption does not depend on the number of members",
                0, found.over(lambda load, used=used: abs(used(load, many) / used(load, few) - 1)),
                "relative difference, 1 and 5 members", most=ALIKE,
            ),
            at_every_load(
                f"{method}-only-data", "Fig. 6",
                f"{name}: consumes what the data requires: load times link rate", 0,
                found.over(lambda load, used=used: abs(used(load, many) / (load * LINK_MBPS) - 1)),
                "relative difference", most=TENTH,
            ),
        ]  # fmt: skip

    def more(load: float, members: int) -> float:
        split = max(found.at(method, load, members=members).consumption_mbps for method in SPLIT)
        return found.at("unicast", load, members=members).consumption_mbps / split

    claims.append(_proportional(found))
    claims += [
        at_every_load(
            f"unicast-more-{members}", "Fig. 6",
            f"the proposed methods consume less than unicast, members: {members}", "less",
            found.over(lambda load, members=members: more(load, members)), "unicast over them", least=1.0,
        )
        for members in MEMBERS
    ]  # fmt: skip
    return claims


def _proportional(found: Findings) -> Claim:
    """Proportion shows below the link's capacity: at the lowest load, and with 3 members instead of 5."""
    first = found.lowest
    one, three = (found.at("unicast", first, members=members).consumption_mbps for members in (1, 3))
    full = three >= 0.98 * LINK_MBPS
    return Claim(
        "unicast-proportional", "Fig. 6", "Unicast: consumption in proportion to the members", 3.0,
        three / one, "with 3 members over with 1", abs(three / one - 3) <= 3 * TENTH or full,
        f"at load {first:g}" + (": the link is full" if full else ""),
    )  # fmt: skip


def reception(found: Findings) -> list[Claim]:
    """Claims of Fig. 7."""
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
        claims += [
            at_every_load(
                f"{method}-reception-{delay}ms", "Fig. 7",
                f"{name}, {delay} ms: reception throughput in proportion to the load", 1.0,
                {load: rate / (load * PAYLOAD_MBPS) for load, rate in rates[delay].items()}, "of the load",
                least=1 - TENTH,
            )
            for delay in DELAYS_MS
        ]  # fmt: skip
        claims.append(
            at_every_load(
                f"{method}-delay", "Fig. 7", f"{name}: the delay has little impact", "little",
                {load: rates[far][load] / rates[near][load] for load in found.loads},
                f"{far} ms over {near} ms", least=1 - TENTH,
            )
        )  # fmt: skip
    return claims + [claim for delay in DELAYS_MS for claim in _unicast_reception(found, delay)]


def _unicast_reception(found: Findings, delay: int) -> list[Claim]:
    first, last = found.lowest, found.highest
    start = found.at("unicast", first, delay_ms=delay).reception_mbps
    unicast = found.at("unicast", last, delay_ms=delay)

    def times(load: float) -> float:
        split = min(found.at(method, load, delay_ms=delay).reception_mbps for method in SPLIT)
        return split / max(found.at("unicast", load, delay_ms=delay).reception_mbps, NEVER_ZERO)

    return [
        Claim(
            f"unicast-zero-{delay}ms", "Fig. 7", f"Unicast, {delay} ms: reception throughput falls to zero",
            0, unicast.reception_mbps, f"Mb/s at load {last:g}", unicast.reception_mbps <= ZERO_MBPS,
            f"zero: at most {ZERO_MBPS:g}; {start:.2f} at load {first:g}",
        ),
        Claim(
            f"unicast-short-rtt-{delay}ms", "Fig. 7",
            f"Unicast, {delay} ms: members with a short RTT take most", "most",
            unicast.nearest_mbps / max(unicast.reception_mbps, NEVER_ZERO),
            f"best over worst member at load {last:g}", unicast.nearest_mbps >= 2 * unicast.reception_mbps,
            "most: twice as much",
        ),
        at_every_load(
            f"split-higher-{delay}ms", "Fig. 7",
            f"both proposed methods receive more than unicast, {delay} ms", "higher", found.over(times),
            "times unicast", least=1.0,
        ),
    ]  # fmt: skip


def effective(found: Findings) -> list[Claim]:
    """Claims of Fig. 8."""
    series = list(found.over(lambda load: found.at("unicast", load).effective).values())
    return [
        *(
            at_every_load(
                f"{method}-effective", "Fig. 8",
                f"{NAMES[method]}: a high effective throughput at every load", "high",
                found.over(lambda load, method=method: found.at(method, load).effective), "", least=1 - TENTH,
            )
            for method in SPLIT
        ),
        Claim(
            "unicast-effective", "Fig. 8", "Unicast: the effective throughput falls with the load", "falls",
            series[-1] / max(series[0], NEVER_ZERO), "last over first", _falls(series),
        ),
    ]  # fmt: skip


def _falls(series: Sequence[float]) -> bool:
    """Whether each value is below the one before, or above it by a hundredth at most."""
    return all(later <= earlier + 0.01 for earlier, later in pairwise(series)) and (
        series[-1] < DEGRADED * series[0]
    )


def consumption_of_four(found: Findings) -> list[Claim]:
    """Claims of Fig. 9."""
    first, last = found.lowest, found.highest
    used = {m: found.over(lambda load, m=m: found.at(m, load, senders=4).consumption_mbps) for m in NAMES}
    low = max(used[m][first] for m in SPLIT) / used["unicast"][first]
    high = used["n2n"][last] / max(used["unicast"][last], used["e2e"][last])
    return [
        Claim(
            "four-low-load", "Fig. 9", "low load: the proposed methods consume less than unicast", "less",
            low, f"of unicast's at load {first:g}", low < 1,
        ),
        at_every_load(
            "n2n-four-proportional", "Fig. 9", "Node-Node: consumption in proportion to the load", 0,
            {load: abs(value / (load * LINK_MBPS) - 1) for load, value in used["n2n"].items()},
            "relative difference", most=TENTH,
        ),
        Claim(
            "n2n-four-highest", "Fig. 9", "high load: Node-Node consumes more than the others", "higher",
            high, f"of the next at load {last:g}", high > 1,
        ),
    ]  # fmt: skip


def reception_of_four(found: Findings) -> list[Claim]:
    """Claims of Fig. 10."""
    last = found.highest
    got = {m: found.over(lambda load, m=m: found.at(m, load, senders=4).received_mbps) for m in NAMES}
    claims: list[Claim] = []
    for method, name in NAMES.items():
        best = max(got[method].values())
        share = got[method][last] / best
        paper = "degrades" if method != "e2e" else "stays high"
        claims.append(
            Claim(
                f"{method}-four-reception", "Fig. 10", f"{name}: reception throughput at high load {paper}",
                paper, share, f"at load {last:g}, of the best load's",
                (share < DEGRADED) == (method != "e2e"),
                f"degrades: below {DEGRADED:g}; best {best:.1f} Mb/s",
            )
        )  # fmt: skip
    more = got["e2e"][last] / got["n2n"][last]
    claims.append(
        Claim(
            "e2e-four-reception-highest", "Fig. 10", "high load: End-End receives more than Node-Node",
            "higher", more, f"of Node-Node's at load {last:g}", more > 1,
        )
    )  # fmt: skip
    return claims


def effective_of_four(found: Findings) -> list[Claim]:
    """Claims of Fig. 11."""
    last = found.highest
    share = {m: found.at(m, last, senders=4).effective for m in NAMES}
    more = share["e2e"] / max(share["n2n"], share["unicast"])
    return [
        Claim(
            "e2e-four-effective", "Fig. 11", "high load: End-End has the highest effective throughput",
            "higher", more, f"of the next at load {last:g}", more > 1,
        )
    ]  # fmt: skip


def caches(found: Findings) -> list[Claim]:
    """Claims of Fig. 12."""
    last = found.highest
    ratio = {
        (m, n): found.over(lambda load, m=m, n=n: found.at(m, load, senders=n).cache_ratio)
        for m in SPLIT
        for n in (1, 4)
    }
    low, high = LARGE_CACHE
    n2n, e2e = max(ratio["n2n", 4].values()), max(ratio["e2e", 4].values())
    more = min(ratio[m, 4][last] / max(ratio[m, 1][last], NEVER_ZERO) for m in SPLIT)
    return [
        *(
            at_every_load(
                f"{method}-one-cache", "Fig. 12", f"{NAMES[method]}, one sender: cache ratio below 10 %",
                "< 0.1", ratio[method, 1], "", most=SMALL_CACHE,
            )
            for method in SPLIT
        ),
        Claim(
            "n2n-four-cache", "Fig. 12", "Node-Node, four senders: cache ratio about 80 %", 0.8, n2n,
            "most over the loads", low <= n2n <= high,
            f"about: {low:g} to {high:g}; {ratio['n2n', 4][last]:.2f} at load {last:g}",
        ),
        Claim(
            "e2e-four-cache", "Fig. 12", "End-End, four senders: the cache ratio is suppressed", "suppressed",
            e2e / n2n, "of Node-Node's", e2e <= n2n / 2, "suppressed: at most half",
        ),
        Claim(
            "four-cache-more", "Fig. 12", "the cache ratio is higher with four senders than with one",
            "higher", more, f"times one sender's at load {last:g}", more > 1,
        ),
    ]  # fmt: skip


RULES: Mapping[int, Callable[[Findings], list[Claim]]] = {
    6: consumption,
    7: reception,
    8: effective,
    9: consumption_of_four,
    10: reception_of_four,
    11: effective_of_four,
    12: caches,
}
