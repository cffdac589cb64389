"""Control messages to and from bytes: the only use of the compiled wire format."""

from typing import Literal, TypeAlias

from groupflow import _native
from groupflow._native import Address, Alive, Control, Delegated, Joined, Left, Notice, Refused, Unknown

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


def parse_control(frame: bytes) -> Control:
    """The control message in a punted frame. Raises ValueError naming the field that is wrong."""
    return _native.parse_control(frame)


def reply_frame(
    address: Address, reply: Reply, *, session: int, source: int = 0, member: int = 0, request_id: int = 0
) -> bytes:
    """The frame that carries a reply; request_id 0: the host did not ask."""
    return _native.build_reply(address, session, source, member, request_id, reply)


def reset_frame(session: int, source: int, branch: int) -> bytes:
    """A frame that resets a branch's register to `nothing acknowledged`."""
    return _native.build_reset(session, source, branch)
