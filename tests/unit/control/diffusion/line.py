"""Switches in a line in virtual time, controlled as the controller's plan says.

    source -> 1 -> 2 -> ... -> N -> sink      port 1: upstream, 2: downstream, 3: a second flow

Every link has one delay, so that all switches may run for that long before they must hear of each other.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import finsy as fy
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from groupflow.control.diffusion.coefficients import line_rate
from groupflow.control.diffusion.plan import Branch, Part, Rule, Upstream, part_entries
from groupflow.p4rt.entries import Action, Entries, Generator, QueueSettings
from groupflow.switch import Output, Switch
from tests.support.p4.diffusion import Feedback, parsed
from tests.support.p4.network import JSON, P4INFO, ROUTER_MAC, admit_entry, mac, route_entry

UP, DOWN, SIDE = 1, 2, 3
MS = 1_000_000
PACKET_BYTES = 1514
PROTOCOL_UDP = 17

_FIELDS = {
    "controlled_flows": (
        *("ingress_port", "egress_port", "ipv4_src", "ipv4_dst"),
        *("ip_protocol", "l4_src_port", "l4_dst_port"),
    ),
    "feedback_sources": ("flow", "ingress_port"),
    "ticks": ("flow", "branch"),
    "external_reports": ("flow", "egress_port"),
}


def install(switch: Switch, entries: Entries) -> None:
    """Writes a plan's entries into a switch in process."""
    for key, value in entries.items():
        if isinstance(value, QueueSettings):
            switch.set_queue(key.match[0], key.match[1], level=value.level, weight=value.weight)
        elif isinstance(value, Generator):
            switch.set_generator(
                key.match[0], value.frame, period_ns=value.period_ns, first_ns=value.first_ns, port=value.port
            )
        else:
            assert isinstance(value, Action)
            fields = _FIELDS[key.table]
            match: dict[str, Any] = {}
            priority = 0
            if key.table == "controlled_flows":
                *pairs, priority = key.match
                for name, number, mask in zip(fields, pairs[::2], pairs[1::2], strict=True):
                    if mask:
                        match[name] = (number, mask)
            else:
                match = dict(zip(fields, key.match, strict=True))
            action = fy.P4TableAction(value.name, **value.params)
            switch.write(
                [+fy.P4TableEntry(key.table, match=fy.P4TableMatch(match), action=action, priority=priority)]
            )


def packet(flow: int) -> bytes:
    """A full-size UDP packet of a flow, told by its destination port."""
    headers = (
        Ether(src=mac(1), dst=ROUTER_MAC) / IP(src="10.0.0.1", dst="10.0.0.9") / UDP(sport=9, dport=flow)
    )
    return bytes(headers / Raw(bytes(PACKET_BYTES - 42)))


class Line:
    """The switches, packets on the links, and packets that came out at the end."""

    def __init__(self, rates: list[int], delay_ns: int = 5 * MS, buffer: int = 400) -> None:
        """`rates`: packets/s of each switch's downstream port."""
        self.delay_ns = delay_ns
        self.rates = [rate * PACKET_BYTES * 8 for rate in rates]
        self.switches = [self._switch(rate, buffer) for rate in self.rates]
        self.now = 0
        self.arrived: Counter[int] = Counter()
        self.told: list[Feedback] = []
        """reports of the first switch to the source"""
        self.links = {(i, DOWN): (i + 1, UP) for i in range(len(rates) - 1)}
        """the port at the other end of each switch's port"""
        self.links |= {end: start for start, end in self.links.items()}
        self.wire: list[tuple[int, int, int, int, bytes]] = []
        self.order = itertools.count()

    def _switch(self, rate: int, buffer: int) -> Switch:
        switch = Switch.load(
            JSON, P4INFO, ports=range(4), links=[f"{DOWN}:rate={rate}bit,queue={buffer},dir=out"]
        )
        switch.write([+admit_entry(), +route_entry("10.0.0.0/24", DOWN, ROUTER_MAC)])
        return switch

    def control(self, flow: int, first: int = 0, *, d: Fraction, queue: int, external: bool = False) -> None:
        """Controls a flow that enters at switch number `first`."""
        for number in range(first, len(self.switches)):
            upstream = None
            if number > first:
                upstream = Upstream(f"s{number - 1}", UP, self.delay_ns, external=False)
            elif external:
                upstream = Upstream("host", UP, self.delay_ns, external=True)
            last = number == len(self.switches) - 1
            rate = line_rate(self.rates[number], PACKET_BYTES)
            branch = Branch("next", DOWN, self.delay_ns, rate, controlled=not last)
            part = Part(f"s{number}", bytes(6), upstream, (branch,), queue, (flow,))
            rule = Rule(protocol=PROTOCOL_UDP, dst_port=flow)
            install(self.switches[number], part_entries(flow, rule, part, d, Fraction(1)))

    def send(
        self, flow: int, rate: Callable[[int], int], *, at: int = 0, port: int = UP
    ) -> Callable[[int], None]:
        """A source that sends at `rate(now)` packets/s; call the returned function with each window's end."""
        frame, due = packet(flow), Fraction(self.now)

        def step(until: int) -> None:
            nonlocal due
            while due < until:
                current = rate(int(due))
                if current <= 0:
                    due += MS
                    continue
                heapq.heappush(self.wire, (int(due), next(self.order), at, port, frame))
                due += Fraction(10**9, current)

        return step

    def run(self, until: int, *sources: Callable[[int], None]) -> None:
        """Lets time pass, a link delay at a time."""
        while self.now < until:
            end = self.now + self.delay_ns
            for source in sources:
                source(end)
            while self.wire and self.wire[0][0] < end:
                time, _, number, port, frame = heapq.heappop(self.wire)
                self.switches[number].inject(port, frame, time)
            for number, switch in enumerate(self.switches):
                for output in switch.advance(end - 1):
                    self._carry(number, output.port, output.time_ns + self.delay_ns, output)
            self.now = end

    def _carry(self, number: int, port: int, due: int, output: Output) -> None:
        if (end := self.links.get((number, port))) is not None:
            heapq.heappush(self.wire, (due, next(self.order), *end, output.frame))
        elif port == UP:
            self.told.append(parsed(output))
        else:
            self.arrived[self.counted_as(number, output.frame)] += 1

    def counted_as(self, number: int, frame: bytes) -> int:
        """The flow under which a packet is counted that switch `number` sent out of the network."""
        del number
        return int.from_bytes(frame[36:38], "big")

    def waiting(self, queue: int) -> list[int]:
        """Packets in a queue of each switch."""
        return [switch.queue(DOWN, queue)["packets"] for switch in self.switches]

    def lost(self) -> int:
        return sum(
            found["dropped"]
            for switch in self.switches
            for found in (switch.queue(DOWN, number) for number in range(8))
        )
