"""The chain on BMv2: its queues get the rates and depths of the links, and rate agents carry the control.

BMv2 emulates no delay, and its rate agents report once LEAST_PERIOD_NS: in gfswitch and netsim, which run
beside it, the links have that delay. BMv2 tells neither depths nor drops: the kernel's counters of its
interfaces do.
"""

import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from groupflow.control.diffusion.bmv2_agent import DEPTH_PACKETS, LEAST_PERIOD_NS, LEFT_BEHIND
from groupflow.control.diffusion.plan import FLOW_QUEUES, QUEUES
from groupflow.control.diffusion.thrift_client import ThriftClient
from groupflow.files import variants
from groupflow.lab import bmv2
from groupflow.lab.measure import interfaces
from groupflow.lab.network import Network
from groupflow.model.topology import Topology
from groupflow.study import RunFailedError

RATE = 6_000_000
"""bit/s that six BMv2 switches and their rate agents carry on two cores"""
_FRAME_BITS = 1514 * 8
COUNTERS = Path("/proc/net/dev")
"""of the kernel, for all interfaces"""
_RECEIVED, _SENT = 1, 9  # columns of COUNTERS: packets
_STILL_SECONDS = 0.1
"""time without a packet after which none waits: a queue sends at least LEAST_RATE packets/s"""
_STILL_TRIES = 50


def slowed(topology: Topology) -> Topology:
    """The chain at a rate that BMv2 can do, with queues and delays as its rate agents have them."""
    links = variants.with_rate(topology, RATE).links
    near = [
        replace(link, spec=replace(link.spec, delay_ns=LEAST_PERIOD_NS, queue=DEPTH_PACKETS))
        if link.spec.delay_ns
        else link
        for link in links
    ]
    # A host's ARP request for its gateway would come in and not go out, as if it were dropped.
    hosts = {name: replace(host, fixed_gateway=True) for name, host in topology.hosts.items()}
    return replace(topology, links=tuple(near), hosts=hosts)


class Queues:
    """The queues of the switches towards the next one."""

    def __init__(self, network: Network, *, controlled: bool) -> None:
        """Gives them the rates and depths of their links. Raises UnavailableError."""
        self._controlled = controlled
        self._places: dict[str, _Place] = {}
        topology = network.topology
        for here, there in pairwise(topology.switches):
            switch = topology.switches[here]
            client = ThriftClient("127.0.0.1", bmv2.thrift_port(switch))
            spec, port = topology.link_between(here, there).spec, topology.port_to(here, there)
            for queue in range(QUEUES):
                client.set_queue_rate(port, queue, (spec.rate or 0) // _FRAME_BITS)
                client.set_queue_depth(port, queue, spec.queue)
            sources = [switch.interface(other) for other in switch.ports if other != port]
            self._places[here] = _Place(client, port, sources, switch.interface(port), spec.queue)
        self._before = self._held()
        self._overflowed = dict.fromkeys(self._places, 0)

    def close(self) -> None:
        for place in self._places.values():
            place.client.close()

    def waiting(self) -> list[int]:
        """Packets in each switch; with control, as the last packet of each queue that left saw them. Raises
        UnavailableError."""
        if not self._controlled:
            return self._not_passed_on()
        return [
            sum(place.client.read_registers([(LEFT_BEHIND, place.port * QUEUES + q) for q in FLOW_QUEUES]))
            for place in self._places.values()
        ]

    def dropped(self) -> dict[str, int]:
        """Packets that came in and did not go out, once nothing waits. Raises RunFailedError."""
        before = self._held()
        for _ in range(_STILL_TRIES):
            time.sleep(_STILL_SECONDS)
            self._before = self._held()
            if self._before == before:
                return before
            before = self._before
        raise RunFailedError("packets still pass the switches after the flows' end")

    def _not_passed_on(self) -> list[int]:
        """Of the one queue without control: packets beyond its depth must have been dropped. Counts those as
        waiting, too, that were dropped between two samples."""
        rows: list[int] = []
        for name, held in self._held().items():
            came = held - self._before[name]
            self._overflowed[name] = max(self._overflowed[name], came - self._places[name].depth)
            rows.append(came - self._overflowed[name])
        return rows

    def _held(self) -> dict[str, int]:
        """Packets that came in for the next switch, less those that went to it, since the switches' start."""
        counters = interfaces(COUNTERS)
        return {
            name: sum(counters[source][_RECEIVED] for source in place.sources) - counters[place.onward][_SENT]
            for name, place in self._places.items()
        }


class _Place(NamedTuple):
    """A switch, and its queues towards the next one."""

    client: ThriftClient
    port: int
    sources: list[str]
    """interfaces from which packets come to these queues"""
    onward: str
    """the interface that the queues are before"""
    depth: int
    """packets that a queue holds"""
