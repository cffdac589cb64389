"""Control messages to and from bytes: the only use of the compiled wire format."""

from typing import Literal, TypeAlias

from groupflow._native import Address, Alive, Control, Delegated, Joined, Left, Notice, Refused, Unknown
from groupflow._native import build_reply as reply_frame
from groupflow._native import build_reset as reset_frame
from groupflow._native import parse_control as parse_control

__all__ = [
    "Address",
    "Alive",
    "Control",
    "Delegated",
    "Joined",
    "Left",
    "Notice",
    "NoticeKind",
    "RefusalCode",
    "Refused",
    "Reply",
    "Unknown",
    "parse_control",
    "reply_frame",
    "reset_frame",
]

RefusalCode: TypeAlias = Literal[
    "unknown_session", "wrong_token", "full", "bad_request", "no_source", "expired", "unavailable"
]
NoticeKind: TypeAlias = Literal[
    "joined", "left", "lost", "deleted", "switch_lost", "switch_back", "agent_lost", "agent_back", "complete"
]
Reply: TypeAlias = Joined | Refused | Alive | Unknown | Notice | Delegated | Left
