"""Targets that cannot all be met: 45 KB of buffer where 56 KB are needed, and four priorities.

The rule: rates are divided as the policy says if every client's rate is within a tenth of the paper's words
(`_expected`); what is left goes by priority if each higher one gets a fiftieth more at least; and the highest
has its target by its mean.
"""

from itertools import pairwise
from statistics import fmean

from groupflow.control.gather.buffers import rate_of, window_for
from groupflow.study.claims import Claim, finding
from papers.sakajiri.claims import whole
from papers.sakajiri.network import MSS
from papers.sakajiri.outcome import SIMULATION, Outcomes, runs
from papers.sakajiri.paper import CLIENTS as WANTED
from papers.sakajiri.paper import MEGABIT, NAMES, TARGETS, Case
from papers.sakajiri.situations import PRIORITIES, SCARCE_BUFFER
from papers.sakajiri.studies.study import CLIENTS, bars, listed, mean

NAME = "scarce"
NEAR = 0.1
"""relative difference up to which a division is the policy's"""
MORE = 1.02
METHODS = ("buffer", "both", "kernel-1", "kernel-4", "kernel-16")


def _expected(rtt: float) -> dict[str, float]:
    """Mb/s by the paper's words: the smallest target for all, the rest by decreasing priority.

    Windows are whole segments, as a sender sends no less.
    """
    shares = {client.name: window_for(min(c.target for c in WANTED), rtt) for client in WANTED}
    surplus = SCARCE_BUFFER - sum(shares.values())
    for client in sorted(WANTED, key=lambda client: -PRIORITIES[client.name]):
        given = min(surplus, window_for(client.target, rtt) - shares[client.name])
        shares[client.name] += given
        surplus -= given
    return {name: rate_of(share // MSS * MSS, rtt) / MEGABIT for name, share in shares.items()}


def _judge(outcomes: Outcomes) -> list[Claim]:
    claims: list[Claim] = []
    for case, found in outcomes.items():
        rates = {client: mean(found, client, whole) for client in CLIENTS}
        if not case.method.startswith("kernel"):
            rtts = (rtt for o in found for series in o.series.values() for rtt in series.rtts_ms[20:])
            expected = _expected(fmean(rtts) / 1000)
            worst = max(abs(rates[client] / expected[client] - 1) for client in CLIENTS)
            claims.append(
                finding(
                    NAME, f"as-said-{case.method}",
                    f"{NAMES[case.method]}: rates are divided as the policy says",
                    worst, "relative difference, the worst", worst <= NEAR,
                    f"at most {NEAR:g}; measured {listed(rates)}; said {listed(expected)}",
                )
            )  # fmt: skip
        ordered = [rates[client] for client in sorted(CLIENTS, key=lambda client: PRIORITIES[client])][3:]
        step = min(high / low for low, high in pairwise(ordered))
        claims += [
            finding(
                NAME, f"order-{case.method}",
                f"{NAMES[case.method]}: what is left goes to the higher priority",
                ordered[-1] / ordered[0], "times the lowest priority's, the highest", step >= MORE,
                f"a step of {MORE:g} at least from Terminal 3 to 4 to 5; {listed(rates)}",
            ),
            finding(
                NAME, f"first-{case.method}", f"{NAMES[case.method]}: the highest priority has its target",
                rates["t5"] / TARGETS["t5"], "of its target", rates["t5"] >= TARGETS["t5"],
                "12.5 segments are its buffer, and a sender sends whole ones",
            ),
        ]  # fmt: skip
    return claims


STUDY = SIMULATION.beyond(
    NAME,
    "targets that cannot all be met",
    runs(lambda _: [Case(method, situation=NAME) for method in METHODS]),
    _judge,
    bars("45 KB of buffer, 56 KB needed; priorities 0, 0, 0, 1, 2, 3", {"": whole}),
)
