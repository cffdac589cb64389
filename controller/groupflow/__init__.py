"""groupflow: group communication in the data plane.

`groupflow.Session` is a member of a session, `groupflow.TreeSession` a host of a tree, and
`groupflow.GatherSender` a client of a server that gathers, for programs that send or receive.
`groupflow.Topology` makes a network of names and links, as a topology's file does. `groupflow.Switch` is a
P4 switch in this process, for tests. Each name is loaded when it is first used. What fails raises a
`groupflow.errors.Error`.
"""

import os
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupflow.agents.gather.sender import GatherSender
    from groupflow.agents.session import Session
    from groupflow.files.topology import topology as Topology  # noqa: N812 (it returns one)
    from groupflow.switch import Switch
    from groupflow.tree.session import TreeSession

# gRPC's own handlers of fork() crash the child while another thread is in gRPC. A child of groupflow runs
# another program or computes, and makes no call.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

__all__ = ["GatherSender", "Session", "Switch", "Topology", "TreeSession"]

_HOMES = {
    "GatherSender": "groupflow.agents.gather.sender:GatherSender",
    "Session": "groupflow.agents.session:Session",
    "Switch": "groupflow.switch:Switch",
    "Topology": "groupflow.files.topology:topology",
    "TreeSession": "groupflow.tree.session:TreeSession",
    **{name: f"groupflow.{name}" for name in ("errors", "placement", "probe", "sim")},
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'groupflow' has no attribute {name!r}")
    return resolve_name(_HOMES[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
