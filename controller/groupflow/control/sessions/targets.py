"""The conditions under which a receiver can have a target: whether its link can be divided, and by what."""

from groupflow import units
from groupflow.control.sessions.model import RefusalError, SessionRecord
from groupflow.model.topology import Topology

FRAME, PAYLOAD = 1514, 1448
"""bytes of a full packet on the wire, and of the stream in it"""
USABLE = 0.95 * PAYLOAD / FRAME
"""share of a link's rate that is divided: agents leave 5 % to acknowledgements and others"""


def link_rate(topology: Topology, host: str) -> int:
    """bit/s of a host's link; 0: it has no rate."""
    return topology.link_between(topology.hosts[host].switch, host).spec.rate or 0


def check_targets(
    topology: Topology, record: SessionRecord, host: str, name: str, target: int | None
) -> None:
    """Raises RefusalError if a receiver of this name at a host can have no target, or not this one."""

    def refuse(problem: str) -> None:
        raise RefusalError("bad_request", problem)

    if record.policy != "isolate":
        refuse(
            f"session {record.id} waits for its receivers (policy strict); set its policy to isolate first"
        )
    rate, switch = link_rate(topology, host), topology.hosts[host].switch
    if not rate:
        refuse(f"the link of {host} has no rate to divide; give it one in the topology")
    if topology.switches[switch].agent is None:
        problem = f"no cache agent beside {switch} can feed {name}"
        refuse(f"{problem}; give the switch one in the topology")
    if target is not None and target > rate * USABLE:
        most = units.format_rate(int(rate * USABLE))
        refuse(f"target_bps: {units.format_rate(target)} is beyond the link's {most}; write less")
