"""Depths and drops of BMv2's queues, from the counters of its interfaces."""

from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from experiments.diffusion import on_bmv2
from experiments.diffusion.on_bmv2 import Queues
from groupflow.control.diffusion.plan import QUEUES
from groupflow.files import variants
from groupflow.lab.network import Network
from groupflow.study import RunFailedError

TOPOLOGY = on_bmv2.slowed(variants.named("chain"))
DEPTH = 64


class FakeClient:
    """BMv2 whose queues 1 and 2 have left packets behind."""

    def __init__(self, host: str, port: int) -> None: ...

    def set_queue_rate(self, port: int, priority: int, packets_per_second: int) -> None:
        assert packets_per_second == 6_000_000 // (1514 * 8)

    def set_queue_depth(self, port: int, priority: int, packets: int) -> None:
        assert packets == DEPTH

    def read_registers(self, cells: list[tuple[str, int]]) -> list[int]:
        return [{1: 5, 2: 7}.get(index % QUEUES, 0) for _, index in cells]


class Interfaces:
    """The kernel's counters of packets."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = {
            switch.interface(port): [0, 0] for switch in TOPOLOGY.switches.values() for port in switch.ports
        }
        self.move()

    def move(self, switch: str = "s3", came: int = 0, left: int = 0) -> None:
        """Packets come from the host at a switch, and leave for the next one."""
        ports = TOPOLOGY.switches[switch]
        self._rows[ports.interface(TOPOLOGY.port_to(switch, "h3"))][0] += came
        self._rows[ports.interface(TOPOLOGY.port_to(switch, "s4"))][1] += left
        lines = [f"{name}: 0 {rx} 0 0 0 0 0 0 0 {tx} 0" for name, (rx, tx) in self._rows.items()]
        self._path.write_text("\n".join(["a head", "of two lines", *lines]))


@pytest.fixture
def interfaces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Interfaces:
    monkeypatch.setattr(on_bmv2, "ThriftClient", FakeClient)
    monkeypatch.setattr(on_bmv2, "COUNTERS", tmp_path / "dev")
    return Interfaces(tmp_path / "dev")


def queues(*, controlled: bool) -> Queues:
    return Queues(cast(Network, SimpleNamespace(topology=TOPOLOGY)), controlled=controlled)


def test_a_full_queue_has_dropped_what_came_beyond_its_depth(interfaces: Interfaces) -> None:
    subject = queues(controlled=False)
    interfaces.move(came=50, left=10)
    assert subject.waiting() == [0, 0, 40, 0, 0]
    interfaces.move(came=60, left=10)  # 90 have not left: 26 of them are gone
    assert subject.waiting() == [0, 0, DEPTH, 0, 0]
    interfaces.move(left=34)
    assert subject.waiting() == [0, 0, DEPTH - 34, 0, 0]
    interfaces.move(left=30)
    assert subject.dropped() == {"s1": 0, "s2": 0, "s3": 26, "s4": 0, "s5": 0}


def test_controlled_queues_tell_their_depth(interfaces: Interfaces) -> None:
    interfaces.move(came=3)
    assert queues(controlled=True).waiting() == [12] * 5


@pytest.mark.parametrize("end", [[4, 2, 0], None])
def test_drops_are_told_once_nothing_waits(
    interfaces: Interfaces, monkeypatch: pytest.MonkeyPatch, end: list[int] | None
) -> None:
    subject, leaving = queues(controlled=False), iter(end or repeat(1))

    def sleep(seconds: float) -> None:
        interfaces.move(left=next(leaving))

    monkeypatch.setattr(on_bmv2.time, "sleep", sleep)
    interfaces.move(came=9)
    if end:
        assert subject.dropped()["s3"] == 3
    else:
        with pytest.raises(RunFailedError, match="packets still pass"):
            subject.dropped()
