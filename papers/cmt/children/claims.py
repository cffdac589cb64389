"""The paper's claims on several children, which are in words, against the measurements.

The rule: sooner, or a higher rate, is by a quarter at least with each number of children (`LESS`); the rate
is not increased if it is a twentieth more at most (`ALIKE`).
"""

from collections.abc import Callable, Mapping

from groupflow.study.claims import Claim
from papers.cmt.children.plan import BULK_MBPS, CHILDREN, PACED_MBPS
from papers.cmt.slow.outcome import Group, Outcome, Outcomes

LESS = 1 / 1.25
"""ratio up to which a value is clearly less: delays are sampled in steps of 10 ms"""
ALIKE = 1.05
"""ratio of rates up to which one is not more than the other"""


def judged(outcomes: Outcomes) -> list[Claim]:
    """Claims on sending to all children at once (3.3), then on having several children (2)."""
    delay = {one: by_children(outcomes, PACED_MBPS, one, delay_ms) for one in (False, True)}
    rate = {one: by_children(outcomes, BULK_MBPS, one, rate_mbps) for one in (False, True)}
    several = CHILDREN[1:]
    delays = [delay[False][n] / delay[True][n] for n in several]
    rates = [rate[False][n] / rate[True][n] for n in several]
    shorter = [delay[False][n] / delay[False][1] for n in several]
    higher = max(rate[False][n] for n in several) / rate[False][1]
    return [
        Claim("parallel-delay", "3.3", "sending to all children at once, the last host has a packet sooner",
              "sooner", max(delays), "of the delay one after the other, the most", max(delays) <= LESS,
              f"at most {LESS:g} with each number of children; at once {_listed(delay[False], 'ms')};"
              f" one after the other {_listed(delay[True], 'ms')}"),
        Claim("parallel-rate", "3.3", "sending to all children at once, the hosts have a higher rate",
              "higher", min(rates), "times the rate one after the other, the least", min(rates) >= 1 / LESS,
              f"at least {1 / LESS:g}; at once {_listed(rate[False], 'Mbit/s')};"
              f" one after the other {_listed(rate[True], 'Mbit/s')}"),
        Claim("children-delay", "2", "connections to several children reduce the latency", "less",
              max(shorter), "of a chain's delay, the most", max(shorter) <= LESS,
              f"at most {LESS:g} with each number of children; {_listed(delay[False], 'ms')}"),
        Claim("children-rate", "2", "rather than increasing the throughput", "not more", higher,
              "times a chain's rate, the most", higher <= ALIKE,
              f"at most {ALIKE:g}; {_listed(rate[False], 'Mbit/s')}: the children share their parent's link"),
    ]  # fmt: skip


def by_children(
    outcomes: Outcomes, rate_mbps: float, one_by_one: bool, value: Callable[[Outcome], float]
) -> dict[int, float]:
    """A figure of the runs with that rate and way to send, by the number of children."""
    alike = [o for o in outcomes if (o.run.rate_mbps, o.run.one_by_one) == (rate_mbps, one_by_one)]
    return {o.run.children: value(o) for o in alike if o.run.children is not None}


def _groups(outcome: Outcome) -> list[Group]:
    return [group for group in outcome.groups.values() if group.hosts]


def delay_ms(outcome: Outcome) -> float:
    """Delay of the last host behind the source, the most at any time."""
    return 1000 * max(group.lag_most for group in _groups(outcome))


def rate_mbps(outcome: Outcome) -> float:
    """Goodput of the slowest host."""
    return min(group.goodput_least for group in _groups(outcome)) / 1e6


def _listed(values: Mapping[int, float], unit: str) -> str:
    return ", ".join(f"{n}: {value:.3g}" for n, value in values.items()) + f" {unit}"
