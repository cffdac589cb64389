"""Hosts with several children: sent to at the same time, and one after the other.

The paper gives neither rates, latencies nor sizes of packets: all of these are chosen here. A tree of equal
hosts, all 4.8 ms from each other, without a slow host. A packet is what a host sends at once: what has come,
at most 2 ms of its link, 5,000 bytes.

The rule: sooner, or a higher rate, is by a quarter at least with each number of children (`LESS`); the rate
is not increased if it is a twentieth more at most (`ALIKE`).
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from groupflow.study.claims import Claim
from groupflow.study.drawing import marked, save, subplots
from papers.cmt.slow.runs import LINK_MBPS, Group, Outcome, Outcomes, Run
from papers.cmt.slow.study import SIMULATION

CHILDREN = (1, 2, 4, 8)
"""children of each host; with one the tree is a chain"""
ACCESS_MS = 2.4
"""latency from a host to the network, one way: below the threshold, all are one cluster"""
PACED_MBPS = 0.4
"""a stream so slow that one child after the other has it, for the delay"""
BULK_MBPS = 2 * LINK_MBPS
"""more than any host's link carries, for the rate"""
HOSTS, QUICK_HOSTS = 64, 16
STREAM_S = 20


def _run(hosts: int, children: int, rate_mbps: float, one_by_one: bool, seed: int) -> Run:
    return Run(
        "never", "wait", seed, is_slow=False, hosts=hosts, rate_mbps=rate_mbps, stream_s=STREAM_S,
        children=children, access_ms=ACCESS_MS, one_by_one=one_by_one,
    )  # fmt: skip


def runs(quick: bool, seed: int) -> list[Run]:
    """Each number of children, each way to send, each rate. Nothing is random but the hosts' names."""
    hosts = QUICK_HOSTS if quick else HOSTS
    cases = [(n, rate, one) for n in CHILDREN for rate in (PACED_MBPS, BULK_MBPS) for one in (False, True)]
    return [_run(hosts, children, rate, one_by_one, seed) for children, rate, one_by_one in cases]


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


def drawn(path: Path, outcomes: Outcomes) -> None:
    """Draws a panel for the delay and one for the rate, with a line for each way to send."""
    drawing, panels = subplots(1, 2, figsize=(9.6, 3.4))
    for panel, rate, value, label in (
        (panels[0], PACED_MBPS, delay_ms, "Delay of the last host [ms]"),
        (panels[1], BULK_MBPS, rate_mbps, "Rate of the slowest host [Mbit/s]"),
    ):
        for one_by_one in (False, True):
            values = by_children(outcomes, rate, one_by_one, value)
            name = "one after the other" if one_by_one else "all at once"
            panel.plot(list(values), list(values.values()), label=name, **marked(int(one_by_one)))
        panel.set(xlabel="Children of each host", ylabel=label, yscale="log", xscale="log")
        panel.legend()
    save(drawing, path)


STUDY = SIMULATION.study("children", "several children, at once and one after the other", runs, judged, drawn)
