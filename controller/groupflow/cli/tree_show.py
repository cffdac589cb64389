"""`groupflow tree show`: the hosts of a tree and the parent of each, as the dispatchers know them."""

import argparse
import asyncio
import json
from typing import Any

from groupflow.cli.command import OK, REFUSED, Subparsers, add_command, failing_with


def register(commands: Subparsers) -> None:
    from groupflow.cli.tree import add_access_arguments

    show = add_command(
        commands, "show", "show the hosts of a tree, each below its parent", run,
        example="groupflow tree show --to 10.0.0.1:26495 --tls-pin $PIN",
    )  # fmt: skip
    add_access_arguments(show)
    show.add_argument("--json", action="store_true", help="print the tree as JSON")


def run(args: argparse.Namespace) -> int:
    from groupflow.cli.tree import check_access
    from groupflow.tree.errors import TreeError, TreeRefusedError

    check_access(args)
    with failing_with(TreeError), failing_with(TreeRefusedError, code=REFUSED):
        tree = asyncio.run(_ask(args.to, None if args.plain else args.tls_pin, args.token))
    if args.json:
        print(json.dumps(tree))
    else:
        print("\n".join(lines(tree)))
    return OK


async def _ask(to: str, tls_pin: str | None, token: str) -> dict[str, Any]:
    """A snapshot of the tree, asked of the dispatchers. Raises TreeError."""
    from groupflow.tree.questions import ask

    answer = await ask(to, tls_pin, token, "hosts")
    return answer["tree"]


def lines(tree: dict[str, Any]) -> list[str]:
    """A snapshot as text: a line for each host, below its parent and farther right."""
    hosts: dict[str, dict[str, Any]] = {host["host"]: host for host in tree["hosts"]}
    if not hosts:
        return ["no source has joined, so there is no tree"]
    below: dict[str | None, list[str]] = {}
    for name, host in hosts.items():
        parent = host["parent"] if host["parent"] in hosts and name != tree["source"] else None
        below.setdefault(parent, []).append(name)
    clusters = len({host["cluster"] for host in hosts.values()})
    attached = sum(bool(host["attached"]) for host in hosts.values()) - 1
    text = [f"{_count(attached, 'host')} below the source, {_count(clusters, 'cluster')}"]
    if tree["bound_ms"] is not None:
        text[0] += f", delays of at most {tree['bound_ms']:g} ms"
    if beyond := sum(bool(host["is_beyond"]) for host in hosts.values()):
        text[0] += f", {_count(beyond, 'host')} beyond that"
    waiting = [(name, 0) for name in sorted(below.get(None, []), key=lambda name: name != tree["source"])]
    while waiting:
        name, depth = waiting.pop(0)
        text.append("  " * depth + _line(hosts[name], tree["source"]))
        waiting = [(child, depth + 1) for child in sorted(below.get(name, []))] + waiting
    return text


def _line(host: dict[str, Any], source: str) -> str:
    """The host's name, address, distance from its parent, and children of those it offers to serve."""
    notes = [f"cluster {host['cluster']}"]
    if host["host"] == source:
        notes.append("source")
    elif not host["attached"]:
        notes.append("without a parent")
    else:
        notes.append(f"{host['latency_ms']:.2f} ms")
        if host["delay_ms"] is not None:
            beyond = ", beyond the bound" if host["is_beyond"] else ""
            notes.append(f"{host['delay_ms']:.2f} ms from the source{beyond}")
    if host["is_head"]:
        notes.append("head")
    notes.append(f"serves {host['children']} of {host['capacity']}")
    if host["slow_reports"]:
        notes.append(f"slow {host['slow_reports']} times, last {host['slow_seconds_ago']:.0f} s ago")
    return f"{host['host']}  {host['address']}  {', '.join(notes)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
