"""Measured on the lines beyond the paper's, by the rules of its claims: those of the split methods on a P4
group session, also under flow control, and that of unicast on TCP through members."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from groupflow.study.claims import BEYOND, Claim
from papers.icn2011.claims import (
    MORE,
    NEVER_ZERO,
    Measured,
    effective_of,
    more_than_split,
    one_cache,
    only_data,
    reception_of,
    stays,
)
from papers.icn2011.outcome import Points
from papers.icn2011.paper import DELAYS_MS, SPLIT, D


def evaluate(figure: int, points: Points) -> list[Claim]:
    """All findings about a figure, on its points."""
    found = RULES[figure](Measured(points))
    return [replace(claim, paper=BEYOND, kind="finding") for claim in found]


def _through_members(found: Measured) -> list[Claim]:
    """At the highest load, beside the proposed methods."""
    last = found.highest

    def times(delay: int) -> float:
        split = min(found.at(method, last, delay_ms=delay).reception_mbps for method in SPLIT)
        return split / max(found.at("members", last, delay_ms=delay).reception_mbps, NEVER_ZERO)

    return [
        Claim(
            f"members-less-{delay}ms", "V.A, Fig. 7",
            f"high load: both proposed methods receive more than through members, {delay} ms", "",
            times(delay), f"times at load {last:g}", times(delay) >= MORE, f"at least {MORE:g}",
        )
        for delay in DELAYS_MS
    ]  # fmt: skip


def _low_load(found: Measured) -> Iterator[Claim]:
    first = found.lowest
    group, unicast = (found.at(m, first, senders=4).consumption_mbps for m in ("group", "unicast"))
    yield Claim(
        "group-four-low-load", "V.B, Fig. 9", "low load: the P4 group session consumes less than unicast",
        "", group / unicast, f"of unicast's at load {first:g}", group * MORE <= unicast,
        f"at most 1/{MORE:g}",
    )  # fmt: skip


def _high_load(found: Measured) -> Iterator[Claim]:
    last = found.highest
    end_to_end = found.at("e2e", last, senders=4).effective
    for d, id, said in ((None, "", ""), (D, "-control", " under diffusion-type flow control")):
        share = found.at("group", last, senders=4, diffusion=d).effective / end_to_end
        yield Claim(
            f"group-four{id}-effective", "V.B, Figs. 10, 11",
            f"high load: the P4 group session{said} has End-End's effective throughput", "", share,
            f"of End-End's at load {last:g}", share * MORE >= 1, f"at least 1/{MORE:g}",
        )  # fmt: skip


def _caches(found: Measured) -> Iterator[Claim]:
    group, n2n = (max(found.at(m, x, senders=4).cache_ratio for x in found.loads) for m in ("group", "n2n"))
    yield one_cache(found, "group")
    yield Claim(
        "group-four-cache", "V.C, Fig. 12",
        "P4 group session, four senders: the cache ratio is suppressed", "",
        group / max(n2n, NEVER_ZERO), "of Node-Node's", group <= n2n / 2, "suppressed: at most half",
    )  # fmt: skip


RULES: Mapping[int, Callable[[Measured], Iterable[Claim]]] = {
    6: lambda found: [*only_data(found, "group"), more_than_split(found, "members")],
    7: lambda found: [*reception_of(found, "group"), *_through_members(found)],
    8: lambda found: [effective_of(found, "group")],
    9: _low_load,
    10: lambda found: [
        stays("group", found.over(lambda load: found.at("group", load, senders=4).received_mbps))
    ],
    11: _high_load,
    12: _caches,
}
