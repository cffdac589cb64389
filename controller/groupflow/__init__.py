"""groupflow: group communication in the data plane.

`groupflow.Session` is a member of a session, for programs that send or receive. `groupflow.Switch` is a P4
switch in this process, for tests. Both are loaded when first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupflow.client.session import Session
    from groupflow.switch import Switch

__all__ = ["Session", "Switch"]

_HOMES = {"Session": "groupflow.client.session", "Switch": "groupflow.switch"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'groupflow' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
