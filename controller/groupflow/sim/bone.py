"""Round multicast between caches (docs/results/amcb.md): a hub's file to many rims, over a satellite."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from groupflow.model.topology import Topology

Method: TypeAlias = Literal["scheduled", "unscheduled", "unicast"]
Repair: TypeAlias = Literal["go_back_n", "selective"]

PORT = 7000
GROUP = "239.192.0.1"
_SETTINGS = (
    *("method", "repair", "packet", "per_round", "interval_ns", "join_wait_ns", "result_wait_ns"),
    *("grace_ns", "crowd", "per_answer_ns", "patience"),
)
"""of a bone, which its hub has by the same names without units"""


@dataclass(frozen=True)
class Bone:
    """A file from a hub to rims. Times in ns, sizes in bytes of payload."""

    name: str
    hub: str
    """the hub's host"""
    rims: tuple[str, ...]
    """the rims' hosts"""
    size: int
    interval_ns: int
    """time from one packet to the next"""
    result_wait_ns: int
    """time in which reception results are gathered, after a round's last packet"""
    join_wait_ns: int
    method: Method = "scheduled"
    repair: Repair = "go_back_n"
    packet: int = 1000
    """size of every packet; scheduled: of the first round's packets"""
    packets: tuple[int, int] = (64, 1400)
    """bounds of the packet size, where it is adapted"""
    per_round: int = 64
    """packets of a round"""
    grace_ns: int = 500_000_000
    """delay that a packet may have after its expected time"""
    crowd: int = 16
    """number of rims above which not all answer"""
    per_answer_ns: int = 20_000_000
    """time between answers of a crowd"""
    patience: int = 20
    """number of requests to a rim that does not answer, before it is given up"""
    forgets: bool = False
    """with Go-Back-N, rims forget the packets from the position to which the hub goes back"""
    spans_ns: Mapping[str, tuple[int, int | None]] = field(default_factory=dict[str, tuple[int, int | None]])
    """times of rims that come late or leave: of their arrival, and of their departure"""

    def rim(self, host: str) -> str:
        """The name under which a rim is measured; the hub is measured under the bone's name."""
        return f"{self.name}-{host}"


@dataclass(frozen=True)
class BoneResult:
    """A finished transfer, as its hub saw it."""

    done: bool
    duration_s: float
    """from the first signal until the hub knows the end"""
    sent_bytes: int
    """payload, with bytes that are sent again"""
    packets: int
    rounds: int
    answers: int
    """reception results that arrived"""
    complete: int
    """rims that reported the whole file"""
    lost: int
    """rims that were given up"""


def specs(topology: "Topology", bones: tuple[Bone, ...]) -> list[dict[str, Any]]:
    """The bones as the core reads them (dataplane/netsim/src/spec/traffic.rs)."""
    found: list[dict[str, Any]] = []
    for bone in bones:
        config = {name.removesuffix("_ns"): getattr(bone, name) for name in _SETTINGS} | {
            "group": f"{GROUP}:{PORT}",
            "sizes": bone.packets,
            "max_rims": max(1, len(bone.rims)),
            "targets": [f"{topology.hosts[rim].ip}:{PORT}" for rim in bone.rims],
        }
        hub = {"kind": "hub", "bytes": bone.size, "config": config}
        found.append({"name": bone.name, "host": bone.hub, "udp_port": PORT, "role": hub})
        for rim in bone.rims:
            start, stop = bone.spans_ns.get(rim, (0, None))
            span = {"start_ns": start, "stop_ns": stop}
            role = {"kind": "rim", "forgets": bone.forgets}
            found.append({"name": bone.rim(rim), "host": rim, "udp_port": PORT, **span, "role": role})
    return found
