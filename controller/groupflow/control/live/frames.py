"""Frames: the network at a moment, in the form of the page. A switch's counters become rates here."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from pydantic import BaseModel, Field

from groupflow.control.diffusion.coefficients import RATE_MAX, UNITS
from groupflow.control.diffusion.readings import Reading
from groupflow.model.topology import End, Topology

Form: TypeAlias = dict[str, Any]
"""an object of a frame, as it becomes JSON"""

RECENT_NS = 3 * 10**9
"""age from which a window of lateness says nothing about now"""


class _Queue(BaseModel):
    packets: int
    limit_packets: int | None = None


class _Link(BaseModel):
    rate_bps: int | None = None
    delay_ns: int = 0
    loss_ppb: int = 0
    queue_packets: int | None = None


class _Side(BaseModel):
    bytes: int
    drops: dict[str, int] = {}
    link: _Link | None = None


class _In(_Side):
    queue: _Queue | None = None


class _Out(_Side):
    queues: list[_Queue] = []


class _Port(BaseModel):
    port: int
    interface: str | None = None
    up: bool = True
    inbound: _In = Field(alias="in")
    out: _Out


class _Window(BaseModel):
    start_ns: int
    p99_ns: int
    kernel_drops: int


class _Lateness(BaseModel):
    limit_ns: int
    windows: list[_Window]


class Stats(BaseModel):
    """The part of gfswitch's statistics that is shown; the rest is skipped."""

    ports: list[_Port]
    drops: dict[str, int] = {}
    lateness: _Lateness | None = None
    problem: str | None = None
    uptime_ns: int = 0


class Meter:
    """Makes frames' switches of statistics: rates need the statistics before."""

    def __init__(self) -> None:
        self._former: dict[str, tuple[int, dict[int, tuple[int, int]]]] = {}

    def switch(self, name: str, stats: Stats, now_ns: int) -> Form:
        """A switch's ports, drops by reason (packets since its start), and lateness. `now_ns` is the
        switch's own clock."""
        then, before = self._former.get(name, (now_ns, {}))
        passed = now_ns - then
        self._former[name] = now_ns, {p.port: (p.out.bytes, p.inbound.bytes) for p in stats.ports}
        drops = dict(stats.drops)
        for port in stats.ports:
            for reason, packets in (*port.out.drops.items(), *port.inbound.drops.items()):
                drops[reason] = drops.get(reason, 0) + packets
        ports = {port.port: _port_form(port, before.get(port.port), passed) for port in stats.ports}
        return {
            "ports": ports,
            "drops": {what: count for what, count in drops.items() if count},
            **_lateness(stats, now_ns),
            **({"problem": stats.problem} if stats.problem else {}),
        }


def _port_form(port: _Port, before: tuple[int, int] | None, passed_ns: int) -> Form:
    def rate(now: int, then: int) -> int:
        return round((now - then) * 8 * 10**9 / passed_ns) if passed_ns > 0 and now >= then else 0

    sent, heard = before or (port.out.bytes, port.inbound.bytes)
    limits = [queue.limit_packets for queue in port.out.queues if queue.packets]
    limit = next((each for each in limits if each), port.out.link.queue_packets if port.out.link else None)
    form: Form = {
        "out": rate(port.out.bytes, sent),
        "in": rate(port.inbound.bytes, heard),
        "queue": sum(queue.packets for queue in port.out.queues),
        "in_queue": port.inbound.queue.packets if port.inbound.queue else 0,
        "limit": limit,
        "out_drops": sum(port.out.drops.values()),
        "in_drops": sum(port.inbound.drops.values()),
    }
    for name, link in (("out_link", port.out.link), ("in_link", port.inbound.link)):
        if link is not None:
            form[name] = [link.rate_bps, link.delay_ns, link.loss_ppb, link.queue_packets]
    return form if port.up else form | {"up": False}


def _lateness(stats: Stats, now_ns: int) -> Form:
    late = stats.lateness
    if late is None or not late.windows or now_ns - late.windows[-1].start_ns > RECENT_NS:
        return {"late_ns": None, "lagging": False}
    window = late.windows[-1]
    return {"late_ns": window.p99_ns, "lagging": window.p99_ns > late.limit_ns or window.kernel_drops > 0}


def hop(reading: Reading) -> Form:
    """A hop of a controlled flow. Rates in packets/s."""

    def packets(rate: int | None) -> float | None:
        return None if rate is None or rate >= RATE_MAX else round(rate / UNITS, 2)

    return {
        "switch": reading.switch,
        "to": reading.branch.node,
        "n": reading.n,
        "r": packets(reading.r),
        "j": packets(reading.j),
        "share": packets(reading.share),
        "problem": reading.problem,
    }


def topology_form(topology: Topology, source: str, **more: Any) -> Form:
    """The part that does not change during a run."""
    agents = {switch.agent: switch.name for switch in topology.switches.values() if switch.agent}

    def end(each: End) -> list[str | int]:
        return [each.node, each.port]

    hosts: Iterable[Form] = (
        {"name": host.name, "ip": str(host.ip), "switch": host.switch, "agent": host.name in agents}
        for host in topology.hosts.values()
    )
    return {
        "name": topology.name,
        "description": topology.description,
        "source": source,
        "switches": list(topology.switches),
        "hosts": list(hosts),
        "links": [
            {
                "ends": [end(link.a), end(link.b)],
                "rate": link.spec.rate,
                "delay_ns": link.spec.delay_ns,
                "loss": link.spec.loss,
                "queue": link.spec.queue,
            }
            for link in topology.links
        ],
        **more,
    }


def empty_frame(now: float) -> Form:
    """A frame of a network without a controller."""
    return {"time": now, "switches": {}, "sessions": [], "flows": [], "agents": [], "events": []}
