"""`groupflow controller`: runs the controller of a network."""

import argparse
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

from groupflow.cli import command, values
from groupflow.data import P4_JSON, P4INFO
from groupflow.network import ports

DEFAULT_API = f"127.0.0.1:{ports.API}"

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from typing import TypeAlias

    Where: TypeAlias = tuple[str, int] | int | Path
    from groupflow.control.split.service import SplitOptions


def register(subparsers: command.Subparsers) -> None:
    commands = command.add_group(
        subparsers, "controller", "run the controller of a network of switches",
        example="groupflow controller run --topology fig5",
    )  # fmt: skip
    run = command.add_command(
        commands, "run", "connect to every switch of a topology and serve its sessions, until stopped",
        run_controller,
        example="groupflow controller run --topology net.yaml --store groupflow.db",
    )  # fmt: skip
    add = run.add_argument
    add("--topology", required=True, metavar="FILE", help="the network: YAML or a name: fig5")
    add("--store", type=Path, metavar="FILE", help="SQLite file of the controller's state (default: none)")
    add(
        "--api", action="append", type=values.api, metavar="HOST:PORT",
        help=f"address of the REST API; unix:PATH; or fd:N, a listening socket that this process inherits; "
        f"repeatable (default: {DEFAULT_API})",
    )  # fmt: skip
    add("--tls-cert", type=Path, metavar="FILE", help="the API's certificate, PEM: it is served over HTTPS")
    add("--tls-key", type=Path, metavar="FILE", help="the certificate's key, PEM")
    add(
        "--insecure", action="store_true",
        help="serve the API beyond this machine without TLS: its token can be read on the way",
    )  # fmt: skip
    for option, own, what in (
        ("--p4info", P4INFO, "P4Info of the P4 program"),
        ("--p4-json", P4_JSON, "the P4 program as p4c wrote it"),
    ):
        add(option, type=Path, default=own, metavar="FILE", help=f"{what} (default: groupflow's own)")
    values.add_token(
        run, "the token that agents must show", option="--agent-token-file", variable="GROUPFLOW_AGENT_TOKEN",
        default=None, dest="agent_token",
    )  # fmt: skip
    add(
        "--cache-bytes", type=int, default=0, metavar="N",
        help="bound of a stream's cache (default: the agent's own bound)",
    )  # fmt: skip
    add(
        "--tcp-prefix", type=_prefix, default="10.200.0.0/16", metavar="PREFIX",
        help="addresses of TCP sessions; switches refuse those that have no session (default: %(default)s)",
    )  # fmt: skip
    add(
        "--agent-control", action="append", default=[], metavar="WHERE",
        help="split agents' control sockets: a FOLDER with HOST.split.sock of each (default: "
        "/run/groupflow), or HOST=PATH or HOST=IP:PORT of one; repeatable",
    )  # fmt: skip
    add(
        "--policy-file", type=Path, action="append", default=[], metavar="FILE",
        help="Python file with tuning policies of one's own, for `ctl gather configure`; repeatable",
    )  # fmt: skip
    add(
        "--switch-sockets", type=Path, metavar="FOLDER",
        help="folder with NAME.sock of each gfswitch: the page then shows links, queues and lateness",
    )  # fmt: skip
    add("--record", type=Path, metavar="FILE", help="record what the page shows, for `groupflow play FILE`")
    add("--take-over", action="store_true", help="take the switches from a controller that runs already")
    add("--log-level", default="info", choices=("debug", "info", "warning", "error"))


def run_controller(args: argparse.Namespace) -> int:
    import asyncio

    from groupflow.control.api.server import ApiError
    from groupflow.control.live.recording import RecordingError
    from groupflow.control.split.service import SplitError
    from groupflow.endpoint.api_token import TokenFileError
    from groupflow.network.topology import TopologyError
    from groupflow.p4rt.connection import TakenError
    from groupflow.p4rt.program import ProgramError
    from groupflow.store.interface import StoreError
    from groupflow.tuning.plugin import PolicyFileError

    tls = values.certificate(args)
    if args.cache_bytes < 0:
        raise command.CommandError(
            f"--cache-bytes {args.cache_bytes} is negative; give a number of bytes, or 0", command.USAGE
        )
    command.log_to_stderr(args.log_level)
    unusable = (TopologyError, ProgramError, PolicyFileError, RecordingError)
    with (
        command.failing_with(StoreError, ApiError, TokenFileError, SplitError, TakenError),
        command.failing_with(*unusable, code=command.REFUSED),
    ):
        asyncio.run(_serve(args, tls))
    return command.OK


async def _serve(args: argparse.Namespace, tls: tuple[Path, Path] | None) -> None:
    import asyncio

    from groupflow.control.api.access import Guard
    from groupflow.control.api.rest import make_app
    from groupflow.control.api.server import names_of, serve_app, url_of
    from groupflow.control.controller import Controller, open_store
    from groupflow.control.live.recording import Recorder
    from groupflow.control.live.sampler import Live
    from groupflow.control.live.sockets import SwitchSockets
    from groupflow.control.sessions.requests import Options
    from groupflow.endpoint import api_token
    from groupflow.network import topology
    from groupflow.p4rt.program import Program
    from groupflow.tuning.plugin import load_policies

    policies = load_policies(args.policy_file)
    network = topology.load(args.topology)
    program = Program.load(args.p4info, args.p4_json)
    apis: list[Where] = args.api or [values.api(DEFAULT_API)]
    with ExitStack() as stack:
        sockets = [stack.enter_context(_listen(where, args)) for where in apis]
        urls = [url_of(each, tls=tls is not None) for each in sockets]
        token = stack.enter_context(api_token.published([url for url in urls if url[:5] != "unix:"]))
        store = await open_store(args.store)
        try:
            options = Options(
                agent_token=args.agent_token, cache_bytes=args.cache_bytes, tcp_prefix=args.tcp_prefix
            )
            controller = await Controller.open(
                network, program, store, options,
                split=_split_options(args.agent_control), policies=policies,
                api=_reached_at(sockets), take_over=args.take_over,
            )  # fmt: skip
            live = Live(controller, SwitchSockets(args.switch_sockets) if args.switch_sockets else None)
            recorder = stack.enter_context(Recorder(args.record, live.topology)) if args.record else None
            stopped = asyncio.Event()
            command.on_stop(stopped.set)
            async with asyncio.TaskGroup() as tasks:
                names = [where[0] for where in apis if isinstance(where, tuple)] + names_of(tls)
                guard = Guard(make_app(controller, live), token, agents=args.agent_token, names=names)
                work = [
                    tasks.create_task(controller.run(), name="controller"),
                    tasks.create_task(serve_app(guard, *sockets, tls=tls), name="api"),
                ]
                if recorder:
                    work.append(tasks.create_task(recorder.follow(live.frames()), name="recorder"))
                at = urls[0].partition("://")[2] or urls[0]
                print(f"groupflow controller ready api={at} switches={len(network.switches)}", flush=True)
                if "://" in urls[0]:
                    print(f"page: {api_token.page(urls[0])}", flush=True)
                await stopped.wait()
                for task in work:
                    task.cancel()
        finally:
            await store.close()


def _reached_at(sockets: "Sequence[socket.socket]") -> tuple[str, int] | None:
    """The address that another controller names when it finds this one; a Unix socket has none."""
    from socket import AF_UNIX

    reached = [each for each in sockets if each.family != AF_UNIX]
    return reached[-1].getsockname()[:2] if reached else None


def _listen(where: "Where", args: argparse.Namespace) -> "socket.socket":
    """The API's socket. Raises ApiError, CommandError."""
    from groupflow.control.api.server import inherit, is_beyond, listen, listen_privately

    if isinstance(where, Path):
        return listen_privately(where)
    api = inherit(where) if isinstance(where, int) else listen(*where)
    if is_beyond(api) and not args.tls_cert and not args.insecure:
        raise command.CommandError(
            f"--api {api.getsockname()[0]}: other machines reach it; pass --tls-cert and --tls-key,"
            " or --insecure to let the token be read on the way",
            command.USAGE,
        )
    return api


def _prefix(text: str) -> IPv4Network:
    try:
        prefix = IPv4Network(text)
    except ValueError:
        prefix = None
    if prefix is None or not 8 <= prefix.prefixlen <= 30:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no prefix of 8 to 30 bits; write one like 10.200.0.0/16"
        )
    return prefix


def _split_options(places: list[str]) -> "SplitOptions":
    from groupflow.control.split.control_socket import control_address
    from groupflow.control.split.service import SplitOptions

    options = SplitOptions()
    for text in places:
        host, found, where = text.partition("=")
        if not found:
            options = replace(options, folder=Path(text))
            continue
        try:
            options = replace(options, places={**options.places, host: control_address(where)})
        except ValueError as error:
            raise command.CommandError(f"--agent-control {text}: {error}") from None
    return options
