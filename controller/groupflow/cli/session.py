"""`groupflow session` and `groupflow session join`: sessions of a running controller, over its REST API."""

import json
import time
from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from groupflow import units
from groupflow.cli.common import Common, Row, Rows, answered, call, listed, print_json
from groupflow.cli.frame import Given
from groupflow.errors import UsageError
from groupflow.model.fields import Help, Port, Range
from groupflow.model.session import MemberTargets, SessionSettings, TcpSettings
from groupflow.model.values import Interval, Name, Seconds, SessionId

SESSION_COLUMNS = (
    *("id", "mode", "policy", "window", "senders", "receivers", "listeners", "address", "expires"),
)
WANTED = ("priority", "target", "share", "rate")
"""columns of a receiver's tuning"""
MEMBER_COLUMNS = (
    *("session", "id", "name", "role", "host", "switch"),
    *("next", "repairs", "complete", "isolated", "tcp_port"),
    *WANTED,
)
AGENT_COLUMNS = (
    *("switch", "host", "state", "bytes_in", "bytes_out"),
    *("cache", "cache_peak", "opened", "refused", "problem"),
)
STREAM_COLUMNS = ("stream", "peer", "switch", "outcome", "receipts", "failed")
BRANCH_COLUMNS = ("stream", "switch", "to", "member", "state", "sent", "acked", "lag")
RECEIPT_COLUMNS = ("stream", "member", "name", "bytes")
CLEARABLE = ("congestion", "send_buffer", "receive_buffer")
"""settings of TCP that `none` gives back to the kernel"""

_TCP = "settings of TCP sessions, which --tcp-port makes"
"""`groupflow agent set cache` bounds the caches of other sessions"""

Session: TypeAlias = Annotated[SessionId, Help("number of the session")]
Member: TypeAlias = Annotated[int, Help("number of the member", "MEMBER")]
Ports: TypeAlias = Annotated[
    tuple[Port, ...], Help("port at which TCP clients send into the session, at its address", "PORT")
]


def list_all(common: Common) -> None:
    """List the sessions."""
    listed(common, call(common, "GET", "/sessions"), SESSION_COLUMNS)


def show(common: Common, session: Session) -> None:
    """Show a session, its members and its trees."""
    found = call(common, "GET", f"/sessions/{session}")
    nodes: Rows = [
        {
            "source": stream["source"],
            "switch": node["switch"],
            "from": node["upstream"],
            "to": " ".join(branch["node"] for branch in node["branches"]),
            "cache": node["agent"],
        }
        for stream in found["streams"]
        for node in stream["tree"]
    ]
    answered(
        common,
        found,
        {key: found[key] for key in (*SESSION_COLUMNS, "created")},
        ("", list(map(member_row, found["members"])), MEMBER_COLUMNS[1:]),
        ("", nodes, ("source", "switch", "from", "to", "cache")),
    )


def create(
    common: Common,
    session: Annotated[SessionId | None, Help("number of the session (default: a free one)")] = None,
    *,
    lifetime: Annotated[
        Seconds | None, Help("time after which the session ends by itself (default: it does not)"), Range(1)
    ] = None,
    tcp_port: Ports = (),
    settings: Annotated[Row, Given(SessionSettings)],
    tcp: Annotated[Row, Given(TcpSettings, title=_TCP, clearable=CLEARABLE)],
) -> None:
    """Create a session and print its token."""
    if tcp and not tcp_port:
        option = f"--{next(iter(tcp)).removesuffix('_bytes').replace('_', '-')}"
        raise UsageError(
            f"{option} is a setting of TCP sessions, which need --tcp-port; give it, too, or bound a"
            " cache with `groupflow agent set cache NAME --bytes`"
        )
    body = settings | {key: value for key, value in (("id", session), ("lifetime", lifetime)) if value}
    if tcp_port:
        body["tcp"] = {"ports": tcp_port, **tcp}
    found = call(common, "POST", "/sessions", body)
    more: Row = {}
    if found["tcp"]:
        more["address"] = _address(found["tcp"])
        if found["tcp"]["budget"]:
            more["agents"] = found["tcp"]["agents"]
    answered(common, found, {"session": found["id"], "token": found["tokens"]["join"], **more})


def change(
    common: Common,
    session: Session,
    *,
    settings: Annotated[Row, Given(SessionSettings, changes=True)],
    tcp: Annotated[Row, Given(TcpSettings, title=_TCP, clearable=CLEARABLE, changes=True)],
) -> None:
    """Change a session while it runs."""
    body = settings | ({"tcp": tcp} if tcp else {})
    if not body:
        raise UsageError("nothing to change; give --mode, --policy or --window, or a setting of TCP sessions")
    listed(common, [call(common, "PATCH", f"/sessions/{session}", body)], SESSION_COLUMNS)


def delete(common: Common, session: Session) -> None:
    """End a session for all its members."""
    call(common, "DELETE", f"/sessions/{session}")


def token(
    common: Common,
    session: Session,
    *,
    role: Annotated[
        Literal["join", "sender", "receiver"], Help("role of the members that the token admits; join: both")
    ] = "join",
) -> None:
    """Print a session's token."""
    tokens = call(common, "GET", f"/sessions/{session}/tokens")
    if common.json:
        print_json(tokens)
    else:
        print(tokens[role])


def stats(common: Common, session: Session) -> None:
    """Show a TCP session's agents, streams and receipts."""
    found = call(common, "GET", f"/sessions/{session}/tcp")
    answered(
        common,
        found,
        {"clients connect to": _address(found["settings"])},
        ("", [{**agent, **agent["counters"]} for agent in found["agents"]], AGENT_COLUMNS),
        ("streams", _streams(found), STREAM_COLUMNS),
        ("branches", _branches(found), BRANCH_COLUMNS),
        ("receipts", [r for stream in found["streams"] for r in stream["receipts"]], RECEIPT_COLUMNS),
    )


def watch(
    common: Common,
    session: Session,
    *,
    interval: Annotated[Interval, Help("time between two questions to the controller")] = 1.0,
) -> None:
    """Follow a TCP session's streams and receipts, until Ctrl-C."""
    seen: set[tuple[str, int, str]] = set()
    last: Row = {}
    while True:
        found = call(common, "GET", f"/sessions/{session}/tcp")
        changed = [json.dumps(found)] if found != last else []
        last = found
        for line in changed if common.json else _news(found, seen):
            print(line, flush=True)
        time.sleep(interval)


def list_members(
    common: Common,
    session: Annotated[SessionId | None, Help("number of the session (default: all sessions)")] = None,
) -> None:
    """List the members of one session or of all."""
    path = "/members" if session is None else f"/sessions/{session}/members"
    _print_members(common, call(common, "GET", path))


def create_member(
    common: Common,
    session: Session,
    host: Annotated[str, Help("host where the program listens", "HOST")],
    port: Annotated[Port, Help("TCP port of the program", "PORT")],
    *,
    name: Annotated[str, Help("name of the member (default: the host's)")] = "",
    start: Annotated[
        Literal["now", "start"],
        Help("first byte of a stream under way: the next one, or the first of all"),
        Name("--from"),
    ] = "now",
) -> None:
    """Make a program that listens on a host a member of a TCP session."""
    body = {"host": host, "port": port, "name": name, "start": start}
    _print_members(common, [call(common, "POST", f"/sessions/{session}/members", body)])


def change_member(
    common: Common,
    session: Session,
    member: Member,
    *,
    targets: Annotated[Row, Given(MemberTargets, clearable=("target", "minimum"), changes=True)],
) -> None:
    """Change the rate that a receiver is to get, in a session that isolates."""
    if not targets:
        raise UsageError("nothing to change; give --target, --minimum or --priority")
    _print_members(common, [call(common, "PATCH", f"/sessions/{session}/members/{member}", targets)])


def delete_member(common: Common, session: Session, member: Member) -> None:
    """Remove a member from its session."""
    call(common, "DELETE", f"/sessions/{session}/members/{member}")


def member_row(member: Row) -> Row:
    """A member's view with rates for people; only a receiver with a target or a share has a priority."""
    is_tuned = member["target_bps"] is not None or member["share_bps"] is not None
    rates = {name: member[f"{name}_bps"] for name in ("target", "share", "rate")}
    shown = {name: units.show_rate(rate) for name, rate in rates.items()}
    return member | shown | {"priority": member["priority"] if is_tuned else None}


def _print_members(common: Common, members: Rows) -> None:
    listed(common, members, MEMBER_COLUMNS, member_row)


def _address(tcp: Row) -> str:
    """IP:PORT, or IP and several ports, to which clients connect."""
    return " ".join(f"{tcp['address']}:{port}" for port in tcp["ports"])


def _streams(found: Row) -> Rows:
    return [
        {
            **stream,
            "receipts": len(stream["receipts"]),
            "failed": "; ".join(f"{member}: {why}" for member, why in stream["failed"].items()),
        }
        for stream in found["streams"]
    ]


def _branches(found: Row) -> Rows:
    """The branches of the streams that are under way."""
    return [
        {**branch, "stream": stream["stream"], "switch": agent["switch"], "to": branch["name"]}
        for agent in found["agents"]
        for stream in agent["counters"].get("streams", [])
        for branch in stream["branches"]
    ]


def _news(found: Row, seen: set[tuple[str, int, str]]) -> Iterator[str]:
    """Lines about receipts, losses and ends that are not in `seen`, and the progress of streams under way."""
    for stream in found["streams"]:
        name = stream["stream"]
        for receipt in stream["receipts"]:
            if _new(seen, (name, receipt["member"], "receipt")):
                who = f"{receipt['name']} (member {receipt['member']})"
                yield f"{name} {who} has all {receipt['bytes']} bytes"
        for member, why in stream["failed"].items():
            if _new(seen, (name, int(member), "failed")):
                yield f"{name} member {member} failed: {why}"
        if stream["outcome"] and _new(seen, (name, 0, "outcome")):
            yield f"{name} ended: {stream['outcome']}"
    for branch in _branches(found):
        yield (
            f"{branch['stream']} {branch['switch']} to {branch['to']} {branch['state']}: "
            f"sent {branch['sent']} acked {branch['acked']} lag {branch['lag']}"
        )


def _new(seen: set[tuple[str, int, str]], what: tuple[str, int, str]) -> bool:
    if what in seen:
        return False
    seen.add(what)
    return True
