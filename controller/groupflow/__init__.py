"""groupflow: group communication in the data plane.

`groupflow.Session` is a member of a session, `groupflow.TreeSession` a host of a tree, and
`groupflow.GatherSender` a client of a server that gathers, for programs that send or receive.
`groupflow.Switch` is a P4 switch in this process, for tests. Each name is loaded when it is first used. What
fails raises a `groupflow.errors.Error`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupflow.agents.gather.sender import GatherSender
    from groupflow.agents.session import Session
    from groupflow.switch import Switch
    from groupflow.tree.session import TreeSession

__all__ = ["GatherSender", "Session", "Switch", "TreeSession"]

_HOMES = {
    "GatherSender": "groupflow.agents.gather.sender",
    "Session": "groupflow.agents.session",
    "Switch": "groupflow.switch",
    "TreeSession": "groupflow.tree.session",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'groupflow' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
