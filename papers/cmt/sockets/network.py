"""Two hosts, two routers, and the path between them.

florida - r0 ======= r1 - virginia
"""

from dataclasses import dataclass
from typing import Any

import yaml

from groupflow import sim
from groupflow.files.topology import parse
from groupflow.sim.runner import build
from groupflow.study import RunFailedError
from groupflow.study.pool import end_when_told
from papers.cmt.sockets.paper import FILE, Case

SECOND, MILLISECOND = 10**9, 10**6
PACKET, MSS, FRAME = 1500, 1448, 1514
"""bytes of a full segment: as an IP packet, its payload (with time stamps), and on the wire"""
LONGEST_S = 2000
STEP_NS = MILLISECOND
"""resolution of the end of a transfer"""
WALL_MS = 100
ACCESS_NS = 100_000
DELAYED_ACK_NS: int | None = 40 * MILLISECOND
"""delay after which a single segment is acknowledged"""
NO_LIMIT = 10_000
"""packets; the buffer limits a connection, not the window"""


@dataclass(frozen=True)
class Path:
    """Parameters of the path that carries the file."""

    rtt_s: float
    """round trip without queues"""
    loss: float
    """probability that a packet is lost"""
    rate_bps: float
    """rate of frames at the narrowest link"""

    @property
    def in_flight(self) -> int:
        """The bandwidth-delay product: bytes of payload on the way at full rate."""
        return round(self.rate_bps / 8 * self.rtt_s * MSS / FRAME)

    @property
    def packets(self) -> int:
        """The bandwidth-delay product in packets."""
        return max(1, round(self.in_flight / MSS))


@dataclass(frozen=True)
class Measured:
    """Measurements of one transfer."""

    seconds: float
    """time until the last byte of the last connection has arrived"""
    lost: int
    """packets that were missing when later ones came"""
    packet_hops: int


def transfer(case: Case, path: Path, seed: int) -> Measured:
    """Transfers the file in equal parts, one for each connection. Raises RunFailedError."""
    network = build(_scenario(case, path, seed))
    sockets = [_socket(number) for number in range(case.connections)]
    whole = case.connections * (FILE // case.connections)
    now = lost = 0
    while True:
        readings = [network.read_receiver(socket) for socket in sockets]
        left = whole - sum(reading[0] for reading in readings)
        lost = sum(reading[2] for reading in readings)
        if left == 0:
            return Measured(now / SECOND, lost, network.hops())
        # The remaining bytes take at least this long: the end is passed by one of the shortest steps at most.
        until = now + max(STEP_NS, int(left * 8 / path.rate_bps * SECOND))
        if until > LONGEST_S * SECOND:
            raise RunFailedError(f"{case}: {left} bytes were not there after {LONGEST_S} s")
        while now < until:
            now, _, _ = network.step(WALL_MS, until)
            end_when_told(None)


def _scenario(case: Case, path: Path, seed: int) -> sim.Scenario:
    traffic = sim.TcpTraffic(
        "newreno",
        NO_LIMIT,
        packet=PACKET,
        size=FILE // case.connections,
        delayed_ack_ns=DELAYED_ACK_NS,
        receive_window=case.buffer,
    )
    return sim.Scenario(
        name=f"{case.buffer}-{case.connections}-{seed}",
        topology=parse(yaml.safe_dump(_topology(case, path), sort_keys=False), "cmt"),
        flows=tuple(
            sim.Flow(_socket(number), "florida", "virginia", traffic) for number in range(case.connections)
        ),
        duration_ns=LONGEST_S * SECOND,
        sample_ns=LONGEST_S * SECOND,
        seed=seed,
        kinds={"r0": "fifo", "r1": "fifo"},
    )


def _socket(number: int) -> str:
    return f"socket{number}"


def _topology(case: Case, path: Path) -> dict[str, Any]:
    delay_ns = max(0, round(path.rtt_s / 2 * SECOND) - 2 * ACCESS_NS)
    access = {"rate": "1gbit", "delay": f"{ACCESS_NS}ns", "queue": 5000}
    narrow = {
        "rate": f"{round(path.rate_bps)}bit",
        "delay": f"{delay_ns}ns",
        "queue": case.queue or path.packets,
        "loss": f"{path.loss:.9f}",
    }
    return {
        "name": "cmt",
        "switches": {f"r{n}": {"device_id": n + 1, "grpc": 9600 + n} for n in range(2)},
        "hosts": {"florida": {"ip": "10.0.1.1/24"}, "virginia": {"ip": "10.0.2.1/24"}},
        "links": [
            {"ends": ["florida", "r0"]} | access,
            {"ends": ["r0", "r1"]} | narrow,
            {"ends": ["r1", "virginia"]} | access,
        ],
    }
