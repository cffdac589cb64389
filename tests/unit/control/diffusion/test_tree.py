"""Control of a session's stream at a branching node, in virtual time: strict waits, isolate does not.

source -> 0 -> 1 -> 2 -> slow receiver       2 and 3 are branches of 1: its ports 2 and 3
                 -> 3 -> fast receiver
"""

from __future__ import annotations

import heapq
from fractions import Fraction

import finsy as fy
import pytest

from groupflow.control.diffusion.coefficients import line_rate
from groupflow.control.diffusion.plan import Branch, Part, Upstream, part_entries
from tests.support.p4.layers import DATA
from tests.support.p4.network import ROUTER_MAC, frame, group_entry, mac, stream_entry
from tests.unit.control.diffusion.line import DOWN, MS, PACKET_BYTES, SIDE, UP, Line, install

SLOW, FAST = 2, 3
D = Fraction(1, 10)
QUEUE = 1
DATA_FRAME = bytes(frame(UP, DATA, bytes(1448), seq=1))


class Tree(Line):
    """The picture above; packets are counted by the switch that sends them to a receiver."""

    def __init__(self, *, isolate: bool, buffer: int = 300) -> None:
        super().__init__([1000, 1000, 300, 1000], buffer=buffer)
        self.switches[1].set_link(SIDE, f"rate={1000 * PACKET_BYTES * 8}bit,queue={buffer},dir=out")
        self.links = {(0, DOWN): (1, UP), (1, DOWN): (SLOW, UP), (1, SIDE): (FAST, UP)}
        self.links |= {end: start for start, end in self.links.items()}
        ports = {0: (DOWN,), 1: (DOWN, SIDE), SLOW: (DOWN,), FAST: (DOWN,)}
        for number, switch in enumerate(self.switches):
            action = fy.P4TableAction("to_switch", src=ROUTER_MAC, dst=mac(2))
            switch.write(
                [
                    *(
                        +fy.P4TableEntry(
                            "neighbours", match=fy.P4TableMatch({"instance": port}), action=action
                        )
                        for port in ports[number]
                    ),
                    +group_entry(100, *ports[number]),
                    +stream_entry(0, repair_group=0, agent_port=0, queue=QUEUE),
                ]
            )
            last = number in (SLOW, FAST)
            rate = line_rate(self.rates[number], PACKET_BYTES)
            branches = tuple(Branch("next", port, self.delay_ns, rate, not last) for port in ports[number])
            upstream = Upstream("before", UP, self.delay_ns, external=False) if number else None
            generators = tuple(range(len(branches)))
            part = Part(f"s{number}", bytes(6), upstream, branches, QUEUE, generators)
            entries = part_entries(1, None, part, D, Fraction(1), isolate=isolate)
            install(switch, entries)

    def counted_as(self, number: int, frame: bytes) -> int:
        del frame
        return number

    def offer(self, rate: int, until: int) -> None:
        """The sender sends evenly; time passes."""
        step = 10**9 // rate
        for due in range(self.now, until, step):
            heapq.heappush(self.wire, (due, next(self.order), 0, UP, DATA_FRAME))
        self.run(until)

    def waits(self) -> tuple[int, int, int, int]:
        """Packets waiting at the source's switch, at both branches of the node, and at the slow end."""
        queue = [
            self.switches[number].queue(port, QUEUE)["packets"]
            for number, port in ((0, DOWN), (1, DOWN), (1, SIDE), (SLOW, DOWN))
        ]
        return (queue[0], queue[1], queue[2], queue[3])


def test_strict_waits_for_the_slowest_branch() -> None:
    tree = Tree(isolate=False)
    tree.offer(600, 1000 * MS)
    source, slow, fast, end = tree.waits()
    assert tree.lost() == 0
    assert fast < 10  # it takes all that is let through
    assert max(source, slow, end) - min(source, slow, end) < 40  # evenly, up to the source's switch
    assert source + slow + end > 250
    before = dict(tree.arrived)
    tree.offer(300, 2000 * MS)
    assert tree.arrived[FAST] - before[FAST] == pytest.approx(300, abs=20)
    assert tree.arrived[SLOW] - before[SLOW] == pytest.approx(300, abs=10)


def test_isolate_sends_what_the_fastest_branch_takes() -> None:
    tree = Tree(isolate=True)
    tree.offer(600, 3000 * MS)
    source, slow, fast, _end = tree.waits()
    assert source < 10 and fast < 10
    assert slow > 250  # its queue is full, and its losses are for the cache to repair
    assert (
        tree.switches[1].queue(SIDE, QUEUE)["dropped"] == 0 < tree.switches[1].queue(DOWN, QUEUE)["dropped"]
    )
    assert tree.arrived[FAST] == pytest.approx(600 * 3, rel=0.03)
    assert tree.arrived[SLOW] == pytest.approx(300 * 3, rel=0.06)
