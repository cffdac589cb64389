"""`groupflow controller run` and `watch`: the controller of a network, and its events."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from time import localtime, strftime
from typing import TYPE_CHECKING, Annotated, TypeAlias

from groupflow import units
from groupflow.cli.access import Certificate
from groupflow.cli.common import Common, check_folder, check_output, client, log_to_stderr, on_stop
from groupflow.data import P4_JSON, P4INFO, RUN_FOLDER
from groupflow.errors import UnavailableError, UsageError
from groupflow.model import ports
from groupflow.model.fields import Help, Range, Size, Written, text_like
from groupflow.model.session import DEFAULT_PREFIX
from groupflow.model.values import Name, Secret

if TYPE_CHECKING:
    import socket

    from groupflow.model.topology import Topology

Where: TypeAlias = tuple[str, int] | int | Path
DEFAULT_LISTEN = ("127.0.0.1", ports.API)


def _where(text: object) -> Where:
    """An address to listen at; a Unix socket's path, written `unix:PATH`; or, written `fd:3`, the descriptor
    of a socket that listens already."""
    kind, _, number = str(text).partition(":")
    if kind == "unix" and number:
        return Path(number)
    if kind == "fd":
        if not number.isdecimal():
            raise units.UnitError(f"{text!r} is no descriptor; write one like fd:3")
        return int(number)
    return units.parse_address(str(text), lowest_port=0)


def _prefix(text: object) -> IPv4Network:
    try:
        prefix = IPv4Network(str(text))
    except ValueError:
        prefix = None
    if prefix is None or not 8 <= prefix.prefixlen <= 30:
        raise units.UnitError(f"{text!r} is no prefix of 8 to 30 bits; write one like 10.200.0.0/16")
    return prefix


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of a controller."""

    topology: Annotated[str, Help("the network: YAML or a name: fig5", "FILE")]
    store: Annotated[Path | None, Help("SQLite file of the controller's state (default: none)")] = None
    listen: Annotated[
        tuple[Annotated[Where, Written(_where, "HOST:PORT", text_like(".+"), "HOST:PORT")], ...],
        Help("address of the REST API; unix:PATH; or fd:N, a socket that this process inherits"
             " (default: 127.0.0.1:9580)"),
    ] = ()  # fmt: skip
    insecure: Annotated[
        bool, Help("serve the API beyond this machine without TLS: its token can be read on the way")
    ] = False
    agent_token: Annotated[
        str | None,
        Help("file with the token that agents must show"),
        Secret("--agent-token-file", "GROUPFLOW_AGENT_TOKEN"),
    ] = None
    cache_bytes: Annotated[
        Size | None,
        Help("bound of a stream's cache (default: the agent's own bound)"),
        Name("--cache"),
        Range(0),
    ] = None
    tcp_prefix: Annotated[
        IPv4Network,
        Help("addresses of TCP sessions; switches refuse those that have no session"),
        Written(_prefix, "a prefix like 10.200.0.0/16", text_like(".+"), "PREFIX"),
    ] = DEFAULT_PREFIX
    sockets: Annotated[
        Path,
        Help("folder with the control sockets: SWITCH.sock of each gfswitch, HOST.split.sock of each split"
             " agent", "FOLDER"),
    ] = RUN_FOLDER  # fmt: skip
    policy_file: Annotated[
        tuple[Path, ...], Help("Python file with tuning policies of your own, for `groupflow gather set`")
    ] = ()
    record: Annotated[
        Path | None, Help("file that records what the page shows, for `groupflow net play`")
    ] = None
    take_over: Annotated[bool, Help("take the switches from a controller that runs already")] = False


def run(common: Common, *, settings: Settings, certificate: Certificate) -> None:
    """Connect to every switch of a topology and serve its sessions, until stopped."""
    check_output(settings.store, "--store")
    check_output(settings.record, "--record")
    check_folder(settings.sockets, "--sockets", is_written=False)
    log_to_stderr(common.level)
    asyncio.run(_serve(settings, certificate.given))


async def _serve(args: Settings, tls: tuple[Path, Path] | None) -> None:
    from groupflow.agents import api_token
    from groupflow.control.api.access import Guard
    from groupflow.control.api.rest import make_app
    from groupflow.control.api.server import names_of, serve_app, url_of
    from groupflow.control.controller import Controller, open_store
    from groupflow.control.gather.plugin import load_policies
    from groupflow.control.live.recording import Recorder
    from groupflow.control.live.sampler import Live
    from groupflow.control.live.sockets import SwitchSockets
    from groupflow.control.sessions.admission import Options
    from groupflow.files.topology import load
    from groupflow.p4rt.program import Program

    policies = load_policies(args.policy_file)
    network = load(args.topology)
    program = Program.load(*_program(network))
    places: Sequence[Where] = args.listen or (DEFAULT_LISTEN,)
    with ExitStack() as stack:
        sockets = [stack.enter_context(_listen(where, args, tls)) for where in places]
        urls = [url_of(each, tls=tls is not None) for each in sockets]
        token = stack.enter_context(api_token.published([url for url in urls if url[:5] != "unix:"]))
        store = await open_store(args.store)
        try:
            options = Options(
                agent_token=args.agent_token, cache_bytes=args.cache_bytes or 0, tcp_prefix=args.tcp_prefix
            )
            controller = await Controller.open(
                network, program, store, options,
                sockets=args.sockets, policies=policies,
                api=_reached_at(sockets), take_over=args.take_over,
            )  # fmt: skip
            live = Live(controller, SwitchSockets(args.sockets))
            recorder = stack.enter_context(Recorder(args.record, live.topology)) if args.record else None
            stopped = asyncio.Event()
            on_stop(stopped.set)
            async with asyncio.TaskGroup() as tasks:
                names = [where[0] for where in places if isinstance(where, tuple)] + names_of(tls)
                guard = Guard(make_app(controller, live), token, agents=args.agent_token, names=names)
                work = [
                    tasks.create_task(controller.run(), name="controller"),
                    tasks.create_task(serve_app(guard, *sockets, tls=tls), name="api"),
                ]
                if recorder:
                    recording = recorder.follow(live.frames(), controller.events)
                    work.append(tasks.create_task(recording, name="recorder"))
                at = urls[0].partition("://")[2] or urls[0]
                print(f"groupflow controller ready api={at} switches={len(network.switches)}", flush=True)
                if "://" in urls[0]:
                    print(f"page: {api_token.page(urls[0])}", flush=True)
                await stopped.wait()
                for task in work:
                    task.cancel()
            if recorder and recorder.problem:
                raise recorder.problem
        finally:
            await store.close()


def _program(network: "Topology") -> tuple[Path, Path]:
    """P4Info and program of all switches, as the topology names them. Raises UsageError, CompileError."""
    from groupflow.compiler import compiled_files
    from groupflow.lab.own_program import p4info_of

    switches = list(network.switches.values())
    if len({(switch.p4info, switch.program) for switch in switches}) > 1:
        raise UsageError("the switches have different programs, and a controller has one; give them one")
    program = switches[0].program
    if program is None:
        return P4INFO, P4_JSON
    if program.suffix == ".p4":
        program = compiled_files(program)[0]
    p4info = p4info_of(switches[0], program)
    if p4info is None:
        raise UsageError(f"{program}: its P4Info is missing; write `p4info: FILE` beside it in the topology")
    return p4info, program


def _reached_at(sockets: "Sequence[socket.socket]") -> tuple[str, int] | None:
    """The address that another controller names when it finds this one; a Unix socket has none."""
    from socket import AF_UNIX

    reached = [each for each in sockets if each.family != AF_UNIX]
    return reached[-1].getsockname()[:2] if reached else None


def _listen(where: Where, args: Settings, tls: tuple[Path, Path] | None) -> "socket.socket":
    """The API's socket. Raises ApiError, UsageError."""
    from groupflow.control.api.server import inherit, is_beyond, listen, listen_privately

    if isinstance(where, Path):
        return listen_privately(where)
    api = inherit(where) if isinstance(where, int) else listen(*where, option="--listen")
    if is_beyond(api) and not tls and not args.insecure:
        raise UsageError(
            f"--listen {api.getsockname()[0]}: other machines reach it; pass --tls-cert and --tls-key,"
            " or --insecure to let the token be read on the way"
        )
    return api


def watch(
    common: Common,
    *,
    recent: Annotated[int, Help("number of the latest events to begin with", "N"), Range(0)] = 0,
) -> None:
    """Follow all events, until Ctrl-C."""
    with client(common) as api:
        for event in api.events(recent):
            if common.json:
                print(json.dumps(event), flush=True)
                continue
            rest = " ".join(f"{key}={value}" for key, value in event.items() if key not in ("time", "event"))
            print(strftime("%H:%M:%S", localtime(event["time"])), event["event"], rest, flush=True)
    raise UnavailableError("the controller ended the stream of events; is it still running?")
