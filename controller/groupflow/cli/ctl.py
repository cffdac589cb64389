"""`groupflow ctl`: shows and changes what a running controller has, over its REST API."""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from groupflow.cli import diffusion, gather_ctl, placement, tcp
from groupflow.cli.command import OK, REFUSED, CommandError, Parser, Subparsers, add_command
from groupflow.cli.tables import print_pairs, print_table

if TYPE_CHECKING:
    import httpx

DEFAULT_API = "http://127.0.0.1:9580"

Rows = list[dict[str, Any]]

SESSION_COLUMNS = (
    "id",
    "mode",
    "policy",
    "window",
    "senders",
    "receivers",
    "listeners",
    "address",
    "expires",
)
MEMBER_COLUMNS = (
    "session",
    "id",
    "name",
    "role",
    "host",
    "switch",
    "next",
    "repairs",
    "complete",
    "isolated",
    "tcp_port",
)
SWITCH_COLUMNS = ("name", "device_id", "grpc", "state", "agent", "streams", "entries", "problem")
SPLIT_COLUMNS = (
    *("switch", "host", "control", "state", "sessions", "streams", "cache_used", "cache_limit", "problem"),
)
AGENT_COLUMNS = ("switch", "host", "id", "udp_port", "cached_bytes", "repairs", "full", "streams")


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "ctl",
        "show and change what a running controller has",
        example="groupflow ctl sessions list",
    )
    parser.add_argument(
        "--api",
        default=os.environ.get("GROUPFLOW_API", DEFAULT_API),
        metavar="URL",
        help="the controller's API (default: $GROUPFLOW_API or " + DEFAULT_API + ")",
    )
    groups = parser.add_subparsers(metavar="WHAT", required=True, parser_class=Parser)
    _sessions(groups)
    _members(groups)
    _switches(groups)
    controlled = _group(groups, "diffusion", "flows under diffusion-type flow control")
    diffusion.add(controlled, _leaf, _call, _print_json)
    placement.add(groups, _leaf, _call, _print_json)
    gather = _group(
        groups,
        "gather",
        "clients of a server that gathers (--api: its own, or a controller's)",
    )
    gather_ctl.add(gather, _leaf, _call, _print_json)
    agents = _group(groups, "agents", "the cache agents")
    _leaf(agents, "list", "list the cache agents that are there", "agents list", _list_agents)
    _leaf(agents, "split", "list the session agents that split TCP connections", "agents split", _list_split)
    counters = _leaf(
        groups, "counters", "show what a switch has counted", "counters s1 --counter drops", _counters
    )
    counters.add_argument("switch")
    counters.add_argument("--counter", metavar="NAME", help="one counter (default: all)")
    events = _leaf(groups, "events", "follow what happens, until Ctrl-C", "events --recent 20", _events)
    events.add_argument("--recent", type=int, default=0, metavar="N", help="begin with the latest N")
    token = _leaf(groups, "token", "print a session's token", "token 7 --role receiver", _token)
    token.add_argument("session", type=int)
    token.add_argument("--role", choices=("join", "sender", "receiver"), default="join")


def _sessions(groups: Subparsers) -> None:
    sessions = _group(groups, "sessions", "the sessions")
    _leaf(sessions, "list", "list the sessions", "sessions list", _list_sessions)
    _session_leaf(sessions, "show", "show a session, its members and its trees", _show_session)
    create = _leaf(
        sessions,
        "create",
        "create a session and print its token",
        "sessions create 7 --mode n2n --policy isolate",
        _create_session,
    )
    create.add_argument("session", type=int, nargs="?", help="its id (default: chosen)")
    create.add_argument("--lifetime", type=int, metavar="SECONDS", help="when it expires (default: never)")
    tcp.add_port(create)
    tcp.add(sessions, _session_leaf, _call)
    _session_leaf(sessions, "delete", "end a session for all its members", _delete_session)
    change = _session_leaf(
        sessions, "set", "change a session while it runs", _change_session, " --policy isolate"
    )
    for parser in (create, change):
        parser.add_argument("--mode", choices=("e2e", "n2n"), help="who acknowledges")
        parser.add_argument("--policy", choices=("strict", "isolate"), help="what a slow receiver does")
        parser.add_argument("--window", type=int, metavar="PACKETS", help="packets outstanding at most")
        tcp.add_settings(parser)


def _session_leaf(
    sessions: Subparsers,
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int],
    options: str = "",
) -> Parser:
    """A command about one session; `options` of its example."""
    parser = _leaf(sessions, name, summary, f"sessions {name} 7{options}", run)
    parser.add_argument("session", type=int)
    return parser


def _members(groups: Subparsers) -> None:
    members = _group(groups, "members", "the members of sessions")
    listing = _leaf(
        members, "list", "list members, of one session or of all", "members list 7", _list_members
    )
    listing.add_argument("session", type=int, nargs="?")
    add = _leaf(
        members,
        "add",
        "make a program that listens on a host a member of a TCP session",
        "members add 7 h2 9000",
        _add_member,
    )
    add.add_argument("session", type=int)
    add.add_argument("host")
    add.add_argument("port", type=int)
    add.add_argument("--name", default="", help="its name (default: the host's)")
    add.add_argument("--from", dest="start", choices=("now", "start"), default="now")
    remove = _leaf(
        members, "remove", "remove a member from its session", "members remove 7 3", _remove_member
    )
    remove.add_argument("session", type=int)
    remove.add_argument("member", type=int)


def _switches(groups: Subparsers) -> None:
    switches = _group(groups, "switches", "the switches")
    _leaf(switches, "list", "list the switches", "switches list", _list_switches)
    show = _leaf(
        switches,
        "show",
        "show a switch, and with --table what it holds",
        "switches show s1 --table streams",
        _show_switch,
    )
    show.add_argument("switch")
    show.add_argument("--table", metavar="NAME", help="also list this table's entries, or `groups`")


def _group(groups: Subparsers, name: str, what: str) -> Subparsers:
    parser = add_command(groups, name, f"show and change {what}", example=f"groupflow ctl {name} list")
    return parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)


def _leaf(
    group: Subparsers, name: str, summary: str, example: str, run: Callable[[argparse.Namespace], int]
) -> Parser:
    parser = add_command(group, name, summary, example=f"groupflow ctl {example}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def _list_sessions(args: argparse.Namespace) -> int:
    return _print_rows(args, _call(args, "GET", "/sessions"), SESSION_COLUMNS)


def _show_session(args: argparse.Namespace) -> int:
    session = _call(args, "GET", f"/sessions/{args.session}")
    if args.json:
        return _print_json(session)
    print_pairs({key: session[key] for key in (*SESSION_COLUMNS, "created")})
    if session["members"]:
        print()
        print_table(session["members"], MEMBER_COLUMNS[1:])
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
    body = _given(id=args.session, lifetime=args.lifetime, tcp=tcp.new_settings(args), **_settings(args))
    session = _call(args, "POST", "/sessions", body)
    if args.json:
        return _print_json(session)
    more: dict[str, Any] = {}
    if session["tcp"]:
        more["address"] = tcp.address(session["tcp"])
        if session["tcp"]["budget"]:
            more["agents"] = session["tcp"]["agents"]
    print_pairs({"session": session["id"], "token": session["tokens"]["join"], **more})
    return OK


def _change_session(args: argparse.Namespace) -> int:
    settings = _given(tcp=tcp.settings(args) or None, **_settings(args))
    if not settings:
        raise CommandError(
            "nothing to change; give --mode, --policy or --window, or a setting of TCP sessions"
        )
    return _print_rows(args, [_call(args, "PATCH", f"/sessions/{args.session}", settings)], SESSION_COLUMNS)


def _delete_session(args: argparse.Namespace) -> int:
    _call(args, "DELETE", f"/sessions/{args.session}")
    return OK


def _list_members(args: argparse.Namespace) -> int:
    path = "/members" if args.session is None else f"/sessions/{args.session}/members"
    return _print_rows(args, _call(args, "GET", path), MEMBER_COLUMNS)


def _add_member(args: argparse.Namespace) -> int:
    body = {"host": args.host, "port": args.port, "name": args.name, "start": args.start}
    return _print_rows(args, [_call(args, "POST", f"/sessions/{args.session}/members", body)], MEMBER_COLUMNS)


def _remove_member(args: argparse.Namespace) -> int:
    _call(args, "DELETE", f"/sessions/{args.session}/members/{args.member}")
    return OK


def _list_switches(args: argparse.Namespace) -> int:
    return _print_rows(args, _call(args, "GET", "/switches"), SWITCH_COLUMNS)


def _show_switch(args: argparse.Namespace) -> int:
    switch = _call(args, "GET", f"/switches/{args.switch}")
    entries: Rows = []
    if args.table:
        entries = _call(args, "GET", f"/switches/{args.switch}/entries", params={"table": args.table})
    if args.json:
        return _print_json({**switch, "entries": entries} if args.table else switch)
    print_pairs(switch)
    for entry in entries:
        copies = entry["replicas"]
        action = f"{entry['action']}({_join(entry['params'])})" if entry["action"] else "replicate"
        targets = " ".join(f"{copy['port']}:{copy['instance']}" for copy in copies)
        print(f"{entry['table']}[{_join(entry['match'])}] {action} {targets}".rstrip())
    return OK


def _list_agents(args: argparse.Namespace) -> int:
    return _print_rows(args, _call(args, "GET", "/agents"), AGENT_COLUMNS)


def _list_split(args: argparse.Namespace) -> int:
    return _print_rows(args, _call(args, "GET", "/split-agents"), SPLIT_COLUMNS)


def _counters(args: argparse.Namespace) -> int:
    params = {"counter": args.counter} if args.counter else {}
    counters = _call(args, "GET", f"/switches/{args.switch}/counters", params=params)
    if args.json:
        return _print_json(counters)
    rows: Rows = [{"counter": name, **count} for name, counts in counters.items() for count in counts]
    print_table(rows, ("counter", "index", "packets", "bytes"))
    return OK


def _token(args: argparse.Namespace) -> int:
    tokens = _call(args, "GET", f"/sessions/{args.session}/tokens")
    return _print_json(tokens) if args.json else _print_line(tokens[args.role])


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

    with _client(args.api) as client:
        try:
            with client.stream("GET", "/events", params={"recent": args.recent}, timeout=None) as response:
                if response.is_error:
                    response.read()
                    _check(response)
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))
        except httpx.HTTPError as error:
            raise _unreachable(args.api, error) from None


def _call(
    args: argparse.Namespace,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    params: dict[str, str] | None = None,
) -> Any:
    """One request to the controller. Raises CommandError."""
    import httpx

    try:
        with _client(args.api) as client:
            response = client.request(method, path, json=body, params=params)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _unreachable(args.api, error) from None
    _check(response)
    return response.json() if response.content else None


def _client(url: str) -> "httpx.Client":
    import httpx

    return httpx.Client(base_url=f"{url.rstrip('/')}/v1", timeout=15.0, trust_env=False)


def _check(response: "httpx.Response") -> None:
    if response.is_error:
        try:
            text = response.json()["error"]
        except (ValueError, KeyError, TypeError):
            text = f"the API answered {response.status_code}; is it a groupflow controller?"
        raise CommandError(str(text), REFUSED if response.is_client_error else 1)


def _unreachable(url: str, error: Exception) -> CommandError:
    reason = str(error).splitlines()[0].lower() if str(error) else type(error).__name__
    return CommandError(
        f"no controller at {url} ({reason}); run `groupflow controller run`, or set GROUPFLOW_API"
    )


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    return {"mode": args.mode, "policy": args.policy, "window": args.window}


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _join(values: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


def _print_rows(args: argparse.Namespace, rows: Rows, columns: tuple[str, ...]) -> int:
    if args.json:
        return _print_json(rows)
    print_table(rows, columns)
    return OK


def _print_json(value: object) -> int:
    return _print_line(json.dumps(value, indent=2))


def _print_line(text: str) -> int:
    print(text)
    return OK
