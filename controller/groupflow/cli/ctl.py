"""`groupflow ctl`: shows and changes the state of a running controller, over its REST API."""

import argparse
import json
import os
from collections.abc import Iterator
from typing import Any

from groupflow.cli import agents, diffusion, gather_ctl, placement, status, tcp
from groupflow.cli.command import OK, USAGE, CommandError, Parser, Subparsers, add_command, add_group
from groupflow.cli.rest_client import (
    DEFAULT_API,
    Rows,
    call,
    check,
    client,
    deletion,
    given,
    leaf,
    listing,
    print_json,
    print_line,
    print_rows,
    session_leaf,
    unreachable,
)
from groupflow.cli.status import WANTED, member_row
from groupflow.cli.tables import print_pairs, print_table

SESSION_COLUMNS = (
    *("id", "mode", "policy", "window", "senders", "receivers", "listeners", "address", "expires"),
)
MEMBER_COLUMNS = (
    *("session", "id", "name", "role", "host", "switch"),
    *("next", "repairs", "complete", "isolated", "tcp_port"),
    *WANTED,
)
SWITCH_COLUMNS = ("name", "device_id", "grpc", "state", "agent", "streams", "entries", "problem")


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "ctl", "show and change the state of a running controller",
        example="groupflow ctl sessions list",
    )  # fmt: skip
    parser.add_argument(
        "--api", default=os.environ.get("GROUPFLOW_API", DEFAULT_API), metavar="URL",
        help=f"the controller's API (default: $GROUPFLOW_API or {DEFAULT_API})",
    )  # fmt: skip
    groups = parser.add_subparsers(metavar="WHAT", required=True, parser_class=Parser)
    status.add(groups)
    _sessions(groups)
    _members(groups)
    _switches(groups)
    diffusion.add(_group(groups, "diffusion", "flows under diffusion-type flow control"))
    placement.add(groups)
    gathering = "tuning of a server that gathers, and its clients"
    gather_ctl.add(_group(groups, "gather", f"{gathering} (also with --api of a server without controller)"))
    agents.add(groups)
    counters = leaf(
        groups, "counters", "show the counters of a switch", "counters s1 --counter drops", _counters
    )
    counters.add_argument("switch")
    counters.add_argument("--counter", metavar="NAME", help="one counter (default: all)")
    events = leaf(groups, "events", "follow all events, until Ctrl-C", "events --recent 20", _events)
    events.add_argument("--recent", type=int, default=0, metavar="N", help="begin with the latest N")
    token = leaf(groups, "token", "print a session's token", "token 7 --role receiver", _token)
    token.add_argument("session", type=int)
    token.add_argument("--role", choices=("join", "sender", "receiver"), default="join")


def _sessions(groups: Subparsers) -> None:
    sessions = _group(groups, "sessions", "the sessions")
    leaf(sessions, "list", "list the sessions", "sessions list", listing("/sessions", SESSION_COLUMNS))
    session_leaf(sessions, "show", "show a session, its members and its trees", _show_session)
    create = leaf(
        sessions, "create", "create a session and print its token",
        "sessions create 7 --mode n2n --policy isolate", _create_session,
    )  # fmt: skip
    create.add_argument("session", type=int, nargs="?", help="the session's id (default: a free one)")
    create.add_argument("--lifetime", type=int, metavar="SECONDS", help="time to its end (default: endless)")
    tcp.add_port(create)
    tcp.add(sessions)
    session_leaf(sessions, "delete", "end a session for all its members", deletion("/sessions/{session}"))
    change = session_leaf(
        sessions, "set", "change a session while it runs", _change_session, " --policy isolate"
    )
    for parser in (create, change):
        parser.add_argument("--mode", choices=("e2e", "n2n"), help="acknowledge at receivers, or caches")
        parser.add_argument("--policy", choices=("strict", "isolate"), help="treatment of slow receivers")
        parser.add_argument("--window", type=int, metavar="PACKETS", help="packets outstanding at most")
        tcp.add_settings(parser)


def _members(groups: Subparsers) -> None:
    members = _group(groups, "members", "the members of sessions")
    listing = leaf(members, "list", "list members, of one session or of all", "members list 7", _list_members)
    listing.add_argument("session", type=int, nargs="?")
    add = leaf(
        members, "add", "make a program that listens on a host a member of a TCP session",
        "members add 7 h2 9000", _add_member,
    )  # fmt: skip
    add.add_argument("session", type=int)
    add.add_argument("host")
    add.add_argument("port", type=int)
    add.add_argument("--name", default="", help="the member's name (default: the host's)")
    add.add_argument("--from", dest="start", choices=("now", "start"), default="now")
    change = leaf(
        members, "set", "change what a receiver is to get, in a session that isolates",
        "members set 7 3 --target 20mbit --priority 1", _change_member,
    )  # fmt: skip
    remove = leaf(
        members, "remove", "remove a member from its session", "members remove 7 3",
        deletion("/sessions/{session}/members/{member}"),
    )  # fmt: skip
    for parser in (change, remove):
        parser.add_argument("session", type=int)
        parser.add_argument("member", type=int)
    gather_ctl.add_targets(change, clearable=True)


def _switches(groups: Subparsers) -> None:
    switches = _group(groups, "switches", "the switches")
    leaf(switches, "list", "list the switches", "switches list", listing("/switches", SWITCH_COLUMNS))
    show = leaf(
        switches, "show", "show a switch, and with --table the entries it holds",
        "switches show s1 --table streams", _show_switch,
    )  # fmt: skip
    show.add_argument("switch")
    show.add_argument("--table", metavar="NAME", help="also list this table's entries, or `groups`")


def _group(groups: Subparsers, name: str, what: str) -> Subparsers:
    return add_group(groups, name, f"show and change {what}", example=f"groupflow ctl {name} list")


def _show_session(args: argparse.Namespace) -> int:
    session = call(args, "GET", f"/sessions/{args.session}")
    if args.json:
        return print_json(session)
    print_pairs({key: session[key] for key in (*SESSION_COLUMNS, "created")})
    if session["members"]:
        print()
        print_table(map(member_row, session["members"]), MEMBER_COLUMNS[1:])
    nodes: Rows = [
        {
            "source": stream["source"],
            "switch": node["switch"],
            "from": node["upstream"],
            "to": " ".join(branch["node"] for branch in node["branches"]),
            "cache": node["agent"],
        }
        for stream in session["streams"]
        for node in stream["tree"]
    ]
    if nodes:
        print()
        print_table(nodes, ("source", "switch", "from", "to", "cache"))
    return OK


def _create_session(args: argparse.Namespace) -> int:
    body = given(id=args.session, lifetime=args.lifetime, tcp=tcp.new_settings(args), **_settings(args))
    session = call(args, "POST", "/sessions", body)
    if args.json:
        return print_json(session)
    more: dict[str, Any] = {}
    if session["tcp"]:
        more["address"] = tcp.address(session["tcp"])
        if session["tcp"]["budget"]:
            more["agents"] = session["tcp"]["agents"]
    print_pairs({"session": session["id"], "token": session["tokens"]["join"], **more})
    return OK


def _change_session(args: argparse.Namespace) -> int:
    settings = given(tcp=tcp.settings(args) or None, **_settings(args))
    if not settings:
        raise CommandError(
            "nothing to change; give --mode, --policy or --window, or a setting of TCP sessions", USAGE
        )
    return print_rows(args, [call(args, "PATCH", f"/sessions/{args.session}", settings)], SESSION_COLUMNS)


def _list_members(args: argparse.Namespace) -> int:
    path = "/members" if args.session is None else f"/sessions/{args.session}/members"
    return _print_members(args, call(args, "GET", path))


def _add_member(args: argparse.Namespace) -> int:
    body = {"host": args.host, "port": args.port, "name": args.name, "start": args.start}
    return _print_members(args, [call(args, "POST", f"/sessions/{args.session}/members", body)])


def _change_member(args: argparse.Namespace) -> int:
    path = f"/sessions/{args.session}/members/{args.member}"
    return _print_members(args, [call(args, "PATCH", path, gather_ctl.changed_targets(args))])


def _print_members(args: argparse.Namespace, members: Rows) -> int:
    return print_rows(args, members, MEMBER_COLUMNS, member_row)


def _show_switch(args: argparse.Namespace) -> int:
    switch = call(args, "GET", f"/switches/{args.switch}")
    entries: Rows = []
    if args.table:
        entries = call(args, "GET", f"/switches/{args.switch}/entries", params={"table": args.table})
    if args.json:
        return print_json({**switch, "entries": entries} if args.table else switch)
    print_pairs(switch)
    for entry in entries:
        copies = entry["replicas"]
        action = f"{entry['action']}({_join(entry['params'])})" if entry["action"] else "replicate"
        targets = " ".join(f"{copy['port']}:{copy['instance']}" for copy in copies)
        print(f"{entry['table']}[{_join(entry['match'])}] {action} {targets}".rstrip())
    return OK


def _counters(args: argparse.Namespace) -> int:
    params = {"counter": args.counter} if args.counter else {}
    counters = call(args, "GET", f"/switches/{args.switch}/counters", params=params)
    if args.json:
        return print_json(counters)
    rows: Rows = [{"counter": name, **count} for name, counts in counters.items() for count in counts]
    return print_rows(args, rows, ("counter", "index", "packets", "bytes"))


def _token(args: argparse.Namespace) -> int:
    tokens = call(args, "GET", f"/sessions/{args.session}/tokens")
    return print_json(tokens) if args.json else print_line(tokens[args.role])


def _events(args: argparse.Namespace) -> int:
    from time import localtime, strftime

    for event in _follow(args):
        if args.json:
            print(json.dumps(event), flush=True)
            continue
        rest = " ".join(f"{key}={value}" for key, value in event.items() if key not in ("time", "event"))
        print(strftime("%H:%M:%S", localtime(event["time"])), event["event"], rest, flush=True)
    raise CommandError("the controller ended the stream of events; is it still running?")


def _follow(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    import httpx

    with client(args.api) as http:
        try:
            with http.stream("GET", "/events", params={"recent": args.recent}, timeout=None) as response:
                if response.is_error:
                    response.read()
                    check(response)
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))
        except httpx.HTTPError as error:
            raise unreachable(args.api, error) from None


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    return {"mode": args.mode, "policy": args.policy, "window": args.window}


def _join(values: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())
