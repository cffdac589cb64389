"""Targets that cannot all be met: 3.6 Mb/s between Routers 2 and 3, while the targets sum to 4.5.

The rule: a method divides the link as the policy says if every client's rate is within a tenth of the paper's
words (`divided`); the high priority has the rest if it gets a tenth more at least; the link is used if
payload takes nine tenths of it.
"""

from dataclasses import replace

from groupflow.study.claims import Claim, finding
from papers.sakajiri.claims import over
from papers.sakajiri.outcome import SIMULATION, Outcomes, runs
from papers.sakajiri.paper import HIGH, LOW, NAMES, TARGETS, Case, Links
from papers.sakajiri.studies.targets import CLIENTS, METHODS, listed

NAME = "narrow"
NARROW_MBPS = 3.6
"""3.0 are needed for every client's minimum, 4.5 for all targets"""
NEAR = 0.1
"""relative difference up to which a division is the policy's"""
FULL = 0.9
"""payload over the link's rate from which on the link is full"""


def _cases(quick: bool) -> list[Case]:
    links = replace(Links(), bottleneck_mbps=NARROW_MBPS)
    return [Case(method, links=links) for method in METHODS]


def divided(total: float) -> dict[str, float]:
    """Mb/s of each client by the paper's words: the smallest target for all, the rest to the high priority;
    less than that is divided by target ratio."""
    least = min(TARGETS.values())
    rest = total - least * len(TARGETS)
    if rest < 0:
        return {name: total * target / sum(TARGETS.values()) for name, target in TARGETS.items()}
    return dict.fromkeys(LOW, least) | dict.fromkeys(HIGH, least + rest / len(HIGH))


def _judge(outcomes: Outcomes) -> list[Claim]:
    claims: list[Claim] = []
    for case, found in outcomes.items():
        rates = {client: over(found, (client,)) for client in CLIENTS}
        total, name = sum(rates.values()), NAMES[case.method]
        said = divided(total)
        worst = max(abs(rates[client] / said[client] - 1) for client in CLIENTS)
        more = over(found, HIGH) / over(found, LOW)
        claims += [
            finding(
                NAME, f"as-said-{case.method}",
                f"{name}: rates are divided as the policy says",
                worst, "relative difference, the worst", worst <= NEAR,
                f"at most {NEAR:g}; measured {listed(rates)}; of {total:.2f} Mb/s {listed(said)}",
            ),
            finding(
                NAME, f"order-{case.method}", f"{name}: what is left goes to the high priority", more,
                "times low priority's", more >= 1 + NEAR, f"at least {1 + NEAR:g}",
            ),
            finding(
                NAME, f"used-{case.method}", f"{name}: the link is used", total / NARROW_MBPS,
                "of its rate, in payload", total >= FULL * NARROW_MBPS, f"at least {FULL:g}",
            ),
        ]  # fmt: skip
    return claims


STUDY = SIMULATION.beyond(NAME, "a link that is too narrow for all targets", runs(_cases), _judge)
