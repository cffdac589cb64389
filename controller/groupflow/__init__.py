"""groupflow: group communication in the data plane.

    Session, TreeSession, GatherSender   a member of a session, a host of a tree, a client of a server that
                                         gathers: for programs that send or receive
    api                                  sessions, tokens and members of a running controller
    Topology, Network                    a network of names and links; the same as running programs (root)
    sim                                  scenarios in virtual time
    Switch                               a P4 switch in this process, for tests
    placement, probe                     where split agents cost least; what a path can carry
    errors                               what fails raises a `groupflow.errors.Error`

For example, a P4 switch and a simulation, neither of which needs root:

    groupflow.Switch.groupflow(links=["2:rate=10mbit"]).run(1, bytes(64))
    groupflow.sim.run("transfer.yaml").flows

Each name is loaded when it is first used.
"""

import os as _os
from pkgutil import resolve_name as _resolve_name
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from groupflow import api, errors, placement, probe, sim
    from groupflow.agents.gather.sender import GatherSender
    from groupflow.agents.session import Session
    from groupflow.files.topology import topology as Topology  # noqa: N812 (it returns one)
    from groupflow.network import Network
    from groupflow.switch import Switch
    from groupflow.tree.session import TreeSession

# gRPC's own handlers of fork() crash the child while another thread is in gRPC. A child of groupflow runs
# another program or computes, and makes no call.
_os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

__all__ = [
    "GatherSender", "Network", "Session", "Switch", "Topology", "TreeSession", "api", "errors", "placement",
    "probe", "sim",
]  # fmt: skip

_HOMES = {
    "GatherSender": "groupflow.agents.gather.sender:GatherSender",
    "Network": "groupflow.network:Network",
    "Session": "groupflow.agents.session:Session",
    "Switch": "groupflow.switch:Switch",
    "Topology": "groupflow.files.topology:topology",
    "TreeSession": "groupflow.tree.session:TreeSession",
    **{name: f"groupflow.{name}" for name in ("api", "errors", "placement", "probe", "sim")},
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'groupflow' has no attribute {name!r}")
    return _resolve_name(_HOMES[name])


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
