"""A hub, its ground station, the satellite, and the rims.

    hub - station ======= satellite - r0, r1, r2
    rival /

The long link has the rate and the delay; errors occur on it for all rims at once, and on each rim's own link.
"""

from collections.abc import Callable, Mapping
from typing import Any

from groupflow import sim
from groupflow.files.topology import read_form
from papers.amcb.infer import DELAY_S, SIZE, LinkModel, inferred
from papers.amcb.paper import Link, Run

SECOND = 10**9
QUEUE = 50
"""packets at the long link: 5 s of it, more than ever wait at the sender of the inferred link"""
APART = {"clean": 4.0, "noisy": 0.25}
"""ratio of bytes between two errors to those on the inferred link"""
BURST = 4
"""packets, the mean length of a burst in which all are lost"""
GOOD, BAD = 1_500, 15_000
"""packets, the mean lengths of the states of a link that loses half as much at first: two and 22 minutes"""
RIVAL_SHARE = 0.6
"""share of the link's rate that other traffic takes while it is on"""
FEW = 16
"""rims whose answers a queue can take at once"""
RIVAL_ON_S, RIVAL_OFF_S = 60, 60
"""means"""


BURSTS: Mapping[Link, Callable[[float], tuple[float, ...]]] = {
    "bursts": lambda lost: (lost / (1 - lost) / BURST, 1 / BURST),
    "worse": lambda lost: (1 / GOOD, 1 / BAD, lost / 2, lost),
}
"""as many losses as that, in bursts; half as many independent losses at first, and as many later"""


def scenario(run: Run) -> sim.Scenario:
    """The network, the file, and the method of sending it."""
    case, link = run.case, inferred()
    hosts = [f"r{n}" for n in range(case.rims)]
    apart, burst = APART.get(case.link, 1.0), BURSTS.get(case.link)

    def losing(error_bytes: int, lost: float) -> sim.LinkExtra:
        if burst is None:
            return sim.LinkExtra(error_bytes=round(apart * error_bytes))
        return sim.LinkExtra(burst_loss=sim.GilbertElliott(*(round(part * SECOND) for part in burst(lost))))

    extras = {1: losing(link.shared_error_bytes, link.shared_loss)}
    extras |= {3 + n: losing(link.own_error_bytes, link.own_loss) for n in range(case.rims)}
    packets = (64, 1344) if case.fixed is None else (case.fixed, case.fixed)
    bone = sim.Bone(
        "hub",
        "hub",
        tuple(hosts),
        size=case.size,
        interval_ns=round(link.interval_s * SECOND),
        result_wait_ns=round(link.timeout_s * SECOND),
        join_wait_ns=round(link.timeout_s * SECOND),
        method=case.method,
        repair=case.repair,
        packet=case.fixed or SIZE,
        packets=packets,
        crowd=case.crowd,
        forgets=case.forgets,
    )
    duration_ns = round(_longest_s(run, link) * SECOND)
    # Other traffic on the link, on and off.
    arrivals = sim.Arrivals("on_off", RIVAL_ON_S * SECOND, RIVAL_OFF_S * SECOND, random=True)
    traffic = sim.UdpTraffic(round(RIVAL_SHARE * link.rate_bps), packet=500, arrivals=arrivals)
    rival = sim.Flow("rival", "rival", "sink", traffic)
    return sim.Scenario(
        name=f"{case.method}-{case.repair}-{case.size}-{run.seed}",
        topology=read_form(_topology(hosts, link), "amcb"),
        flows=(rival,) if case.link == "congested" else (),
        duration_ns=duration_ns,
        sample_ns=duration_ns,
        seed=run.seed,
        kinds={"station": "broadcast", "satellite": "broadcast"},
        extras=extras,
        bones=(bone,),
    )


def _longest_s(run: Run, link: LinkModel) -> float:
    """Some four times the paper's longest latency, after which a transfer has failed. If many rims answer at
    once, most answers are lost, and rounds are repeated again and again."""
    patience = 4 if run.case.rims > FEW else 1
    return patience * (120 + 40 * run.case.size / (SIZE / link.interval_s))


def _topology(rims: list[str], link: LinkModel) -> dict[str, Any]:
    def wire(a: str, b: str, **more: Any) -> dict[str, Any]:
        return {"ends": [a, b], "rate": "10mbit", "delay": "1ms", "queue": 1000} | more

    slow = {"rate": f"{link.rate_bps}bit", "delay": f"{round(DELAY_S * SECOND)}ns", "queue": QUEUE}
    wires = [
        wire("hub", "station"),
        wire("station", "satellite", **slow),
        wire("rival", "station"),
        *(wire(rim, "satellite") for rim in rims),
        wire("sink", "satellite"),
    ]
    return {
        "name": "amcb",
        "switches": {"station": {}, "satellite": {}},
        "hosts": ["hub", "rival", *rims, "sink"],
        "links": wires,
    }
