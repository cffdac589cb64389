"""`groupflow tree`: hosts that pass a stream on to each other, and the dispatchers that place the hosts."""

import asyncio
import json
import resource
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from groupflow.agents.events import Event
from groupflow.agents.options import RecvOptions, RoleOptions, SendOptions, own_name
from groupflow.cli.access import Pin, needed
from groupflow.cli.common import Common, check_output, log_to_stderr, on_stop
from groupflow.cli.transfer import check_file, report_lost, run_transfer
from groupflow.errors import UsageError
from groupflow.model.fields import FiniteRate, Help, Range
from groupflow.model.values import TOKEN_RULE, Secret, SessionId, is_token
from groupflow.tree.options import (
    DispatchOptions,
    Parallel,
    SkipOptions,
    TreeOptions,
    TreeRecvOptions,
    TreeSendOptions,
)
from groupflow.units import counted

Host = TypeVar("Host", TreeOptions, TreeSendOptions, TreeRecvOptions)
Token: TypeAlias = Annotated[str, Help("file with the tree's token"), Secret()]


def send(common: Common, *, options: TreeSendOptions, pin: Pin) -> int:
    """Send a file or stdin to all hosts of a tree."""
    check_file(options.file)
    return run_transfer(_checked(options, pin), common)


def recv(common: Common, *, options: TreeRecvOptions, pin: Pin) -> int:
    """Receive the stream of a tree, and pass it on."""
    check_output(options.output, "--output")
    return run_transfer(_checked(options, pin), common)


def _checked(options: Host, pin: Pin) -> Host:
    """The options of a host, with the certificate of the other side. Raises UsageError."""
    if not isinstance(options, SkipOptions) and options.slow == "skip":
        raise UsageError("--slow skip loses data, but a session needs every byte")
    _check_token(options.token)
    return replace(options, tls_pin=pin.given)


def _check_token(token: str) -> None:
    if not is_token(needed(token)):
        raise UsageError(f"the token: {TOKEN_RULE}")


def island(
    common: Common,
    *,
    host: TreeOptions,
    pin: Pin,
    parallel: Parallel = None,
    session: Annotated[SessionId, Help("number of the session in the island")],
    session_token: Annotated[
        str, Help("file with the session's token"), Secret("--session-token-file", "GROUPFLOW_SESSION_TOKEN")
    ] = "",
    iface: Annotated[
        str | None, Help("network interface of the island (default: the first that is up)")
    ] = None,
    members: Annotated[
        int, Help("number of receivers, or of the tree's hosts, before the stream begins", "N"), Range(1)
    ] = 1,
    rate: Annotated[FiniteRate | None, Help("highest rate in the island (default: found out)")] = None,
    outward: Annotated[bool, Help("from the session, whose sender is in the island, to the tree")] = False,
) -> int:
    """Hand a tree's stream to a session, whose switches replicate it; or the other way."""
    if outward and parallel is not None:
        raise UsageError("--parallel counts connections to a parent, and the source has none; leave it out")
    shared: dict[str, Any] = vars(_checked(host, pin))
    member: dict[str, Any] = {"session": session, "name": host.name, "token": session_token, "iface": iface}
    if outward:
        receiving: RoleOptions = RecvOptions(start="start", **member)
        sending: RoleOptions = TreeSendOptions(members=members, **shared)
    else:
        receiving = TreeRecvOptions(start="start", parallel=parallel, **shared)
        sending = SendOptions(members=members, rate=rate, **member)
    sides = ("tree", f"session {session}") if outward else (f"session {session}", "tree")
    return asyncio.run(_pass_on(receiving, sending, sides, common))


async def _pass_on(
    receiving: RoleOptions, sending: RoleOptions, sides: tuple[str, str], common: Common
) -> int:
    from groupflow.agents.display import Display, describe
    from groupflow.tree.island import Island

    into, out_of = sides
    with Display(into, json_lines=common.json, quiet=common.quiet) as display:

        def show(side: str, event: Event) -> None:
            if common.json:
                print(json.dumps({"side": side.split()[0], **event.fields}), flush=True)
            elif side == into:
                display.show(event)
            elif (line := describe(event)) is not None:
                display.say(f"from the {side}: {line}")

        passing = Island(receiving, sending, on_received=partial(show, out_of), on_sent=partial(show, into))
        async with passing:
            on_stop(passing.stop)
            complete = await passing.finish()
    return report_lost(complete)


def serve(
    common: Common,
    *,
    options: DispatchOptions,
    store: Annotated[
        Path | None,
        Help(
            "SQLite file of the tree, from which a process that is started again goes on (default: none)",
            "FILE",
        ),
    ] = None,
) -> None:
    """Run the dispatchers of a tree until stopped: they give each host its parent.

    The controller knows this process as TREE@HOST:PORT."""
    check_output(store, "--store")
    log_to_stderr(common.level)
    asyncio.run(_serve(options, store, common))


async def _serve(options: DispatchOptions, file: Path | None, common: Common) -> None:
    from groupflow.agents.controller_link import registered
    from groupflow.store.interface import MemoryStore
    from groupflow.store.sqlite import SqliteStore
    from groupflow.tree.service import Dispatch

    def show(name: str, fields: dict[str, Any]) -> None:
        if common.json:
            print(json.dumps({"event": name, "time": round(time.time(), 3), **fields}), flush=True)
        elif not common.quiet:
            print(f"tree: {_line(name, fields)}", file=sys.stderr, flush=True)

    stop = asyncio.Event()
    on_stop(stop.set)
    # Each host needs a connection, and so a file descriptor.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    store = MemoryStore() if file is None else await SqliteStore.open(file)
    try:
        async with Dispatch(options, store, on_event=show) as dispatch:
            name = f"{options.name}@{own_name()}:{dispatch.port}"
            async with registered(common.api, "dispatcher", name, dispatch.standing, dispatch.bound):
                await stop.wait()
    finally:
        await store.close()


def _line(name: str, fields: dict[str, Any]) -> str:
    match name:
        case "ready":
            pin = fields["tls_pin"]
            known = "not encrypted" if pin is None else f"hosts know it by --tls-pin {pin}"
            return f"listening at {fields['addr']}:{fields['port']}, {known}"
        case "connected":
            return f"host {fields['host']}: {'source' if fields['source'] else 'there'}"
        case "gone":
            return f"host {fields['host']}: gone"
        case "stood_still":
            return "this process stood still: it gives hosts time to come back"
        case "refused":
            return f"refused host {fields['host'] or '(unknown)'}: {fields['text']}"
        case _:
            return "the source has left: the tree has ended"


def show(
    common: Common,
    *,
    to: Annotated[str, Help("address of the dispatchers (groupflow tree serve)", "HOST:PORT")],
    token: Token = "",
    pin: Pin,
) -> None:
    """Show the hosts of a tree, each below its parent."""
    from groupflow.tree.questions import ask

    known = pin.given
    _check_token(token)
    tree = asyncio.run(ask(to, known, token))
    print(json.dumps(tree) if common.json else "\n".join(lines(tree)))


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
    text = [f"{counted(attached, 'host')} below the source, {counted(clusters, 'cluster')}"]
    if tree["bound_ms"] is not None:
        text[0] += f", delays of at most {tree['bound_ms']:g} ms"
    if beyond := sum(bool(host["is_beyond"]) for host in hosts.values()):
        text[0] += f", {counted(beyond, 'host')} beyond that"
    waiting = [(name, 0) for name in sorted(below.get(None, []), key=lambda name: name != tree["source"])]
    while waiting:
        name, depth = waiting.pop(0)
        text.append("  " * depth + _row(hosts[name], tree["source"]))
        waiting = [(child, depth + 1) for child in sorted(below.get(name, []))] + waiting
    return text


def _row(host: dict[str, Any], source: str) -> str:
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
    if host["is_slow"]:
        notes.append("slow")
    return f"{host['host']}  {host['address']}  {', '.join(notes)}"
