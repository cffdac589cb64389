"""`groupflow ctl sessions`: TCP sessions, their counters and receipts."""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

from groupflow.cli import values
from groupflow.cli.command import OK, USAGE, CommandError, Parser, Subparsers
from groupflow.cli.rest_client import Rows, call, given, print_json, session_leaf
from groupflow.cli.tables import print_pairs, print_table

AGENT_COLUMNS = (
    *("switch", "host", "state", "bytes_in", "bytes_out"),
    *("cache", "cache_peak", "opened", "refused", "problem"),
)
STREAM_COLUMNS = ("stream", "peer", "switch", "outcome", "receipts", "failed")
BRANCH_COLUMNS = ("stream", "switch", "to", "member", "state", "sent", "acked", "lag")
RECEIPT_COLUMNS = ("stream", "member", "name", "bytes")


def add_port(parser: Parser) -> None:
    """Adds the option that makes a new session one for TCP."""
    parser.add_argument(
        "--tcp-port", type=values.port, action="append", metavar="PORT",
        help="let TCP clients send into the session, at its address and this port; repeatable",
    )  # fmt: skip


def add_settings(parser: Parser) -> None:
    """Adds the settings of a TCP session, new or running."""
    add = parser.add_argument_group("settings of TCP sessions").add_argument
    for option, what in (
        ("--cache", "bound of a stream's cache at each agent (default: 64MiB)"),
        ("--history", "bytes that agents keep for members that join late (default: 0)"),
    ):
        add(option, type=values.size, metavar="SIZE", help=what)
    add("--congestion", metavar="NAME", help="congestion control (default: the kernel's)")
    for option, whose in (("--send-buffer", "to receivers"), ("--receive-buffer", "of senders")):
        add(option, type=values.size, metavar="SIZE", help=f"{whose} (default: kernel adapts it)")
    add("--replies", choices=("leader", "merge", "drop"), help="answers of members (default: drop)")
    add(
        "--agents", type=_agents, default={}, metavar="K|SWITCH,...",
        help="highest number of agents, placed where they cost least; or their switches (default: all)",
    )  # fmt: skip


def new_settings(args: argparse.Namespace) -> dict[str, Any] | None:
    """The `tcp` of a new session; None: none. Raises CommandError where --tcp-port is missing."""
    chosen = settings(args)
    if chosen and not args.tcp_port:
        raise CommandError("settings of TCP sessions need --tcp-port; give it, too", USAGE)
    return {"ports": args.tcp_port, **chosen} if args.tcp_port else None


def settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that are given on the command line."""
    same = ("congestion", "send_buffer", "receive_buffer", "replies")
    return given(
        cache_bytes=args.cache,
        history_bytes=args.history,
        **{name: getattr(args, name) for name in same},
        **args.agents,
    )


def address(tcp: dict[str, Any]) -> str:
    """IP:PORT, or IP and several ports, to which clients connect."""
    return " ".join(f"{tcp['address']}:{port}" for port in tcp["ports"])


def add(sessions: Subparsers) -> None:
    """Adds the subcommands that show the work of agents in a session."""
    session_leaf(sessions, "stats", "show a TCP session's agents, streams and receipts", _stats)
    follow = session_leaf(
        sessions, "watch", "follow a TCP session's streams and receipts, until Ctrl-C", _watch
    )
    follow.add_argument(
        "--interval", type=_seconds, default=1.0, metavar="SECONDS", help="(default: %(default)g)"
    )


def _stats(args: argparse.Namespace) -> int:
    told = call(args, "GET", f"/sessions/{args.session}/tcp")
    if args.json:
        return print_json(told)
    _show(told)
    return OK


def _watch(args: argparse.Namespace) -> int:
    seen: set[tuple[str, int, str]] = set()
    last: dict[str, Any] = {}
    while True:
        told = call(args, "GET", f"/sessions/{args.session}/tcp")
        changed = [json.dumps(told)] if told != last else []
        last = told
        for line in changed if args.json else _news(told, seen):
            print(line, flush=True)
        time.sleep(args.interval)


def _show(told: dict[str, Any]) -> None:
    print_pairs({"clients connect to": address(told["settings"])})
    print()
    print_table([{**agent, **agent["counters"]} for agent in told["agents"]], AGENT_COLUMNS)
    for title, rows, columns in (
        ("streams", _streams(told), STREAM_COLUMNS),
        ("branches", list(_branches(told)), BRANCH_COLUMNS),
        ("receipts", [r for stream in told["streams"] for r in stream["receipts"]], RECEIPT_COLUMNS),
    ):
        if rows:
            print(f"\n{title}")
            print_table(rows, columns)


def _streams(told: dict[str, Any]) -> Rows:
    return [
        {
            **stream,
            "receipts": len(stream["receipts"]),
            "failed": "; ".join(f"{member}: {why}" for member, why in stream["failed"].items()),
        }
        for stream in told["streams"]
    ]


def _branches(told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The branches of the streams that are under way."""
    for agent in told["agents"]:
        for stream in agent["counters"].get("streams", []):
            for branch in stream["branches"]:
                yield {**branch, "stream": stream["stream"], "switch": agent["switch"], "to": branch["name"]}


def _news(told: dict[str, Any], seen: set[tuple[str, int, str]]) -> Iterator[str]:
    """Lines about receipts, losses and ends that are not in `seen`, and the progress of streams under way."""
    for stream in told["streams"]:
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
    for branch in _branches(told):
        yield (
            f"{branch['stream']} {branch['switch']} to {branch['to']} {branch['state']}: "
            f"sent {branch['sent']} acked {branch['acked']} lag {branch['lag']}"
        )


def _new(seen: set[tuple[str, int, str]], what: tuple[str, int, str]) -> bool:
    if what in seen:
        return False
    seen.add(what)
    return True


def _agents(text: str) -> dict[str, object]:
    """The fields for a number of agents, or for a list of switches."""
    if text.isdecimal():
        if int(text) < 1:
            raise argparse.ArgumentTypeError(f"the number of agents is {text}; write 1 or more, or switches")
        return {"budget": int(text)}
    return {"agents": [name for name in text.split(",") if name]}


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.05 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is out of range; write 0.05 to 3600 seconds")
    return seconds
