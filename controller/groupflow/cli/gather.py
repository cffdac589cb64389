"""`groupflow gather serve` and `groupflow gather send`: many clients, and one server that tunes them."""

import argparse
import asyncio
import sys
from pathlib import Path
from signal import SIGTERM
from typing import TYPE_CHECKING

from groupflow.cli import values
from groupflow.cli.command import (
    FAILURE,
    OK,
    REFUSED,
    USAGE,
    CommandError,
    Subparsers,
    add_command,
    add_group,
    failing_with,
    log_to_stderr,
    of_agent,
    on_stop,
)
from groupflow.cli.transfer import ended

if TYPE_CHECKING:
    from groupflow.endpoint.events import Event
    from groupflow.endpoint.gather.director import Director
    from groupflow.endpoint.gather.options import GatherSendOptions, ServeOptions

DEFAULT_API = "127.0.0.1:9590"
"""not the controller's default: a server that gathers may run on another machine"""
DEFAULT_LISTEN = "0.0.0.0:26490"


def register(subparsers: Subparsers) -> None:
    commands = add_group(
        subparsers, "gather",
        "gather streams of many clients on a server that gives each client its target throughput",
        example="groupflow gather serve --clients clients.yaml --out gathered",
    )  # fmt: skip
    _serve_arguments(commands)
    _send_arguments(commands)


def _serve_arguments(commands: Subparsers) -> None:
    serve = add_command(
        commands, "serve", "take the streams of listed clients and tune them, until stopped", run_serve,
        example="groupflow gather serve --clients clients.yaml --out gathered --policy sakajiri",
    )  # fmt: skip
    add = serve.add_argument
    told = serve.add_mutually_exclusive_group(required=True)
    told.add_argument("--clients", type=Path, metavar="FILE", help="YAML list of clients and targets")
    told.add_argument(
        "--controller", type=values.url, metavar="URL",
        help="API of the controller that has the clients and tunes them; its token in $GROUPFLOW_AGENT_TOKEN",
    )  # fmt: skip
    add(
        "--max-clients", type=values.count, metavar="N",
        help="most clients, which share the memory (default: as many as --clients has, but at least 64)",
    )  # fmt: skip
    where = serve.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, metavar="FOLDER", help="folder where streams are written")
    where.add_argument("--discard", action="store_true", help="count the streams' bytes and keep nothing")
    add("--listen", default=DEFAULT_LISTEN, metavar="IP:PORT", help="clients' address (default: %(default)s)")
    add(
        "--tls-cert", type=Path, metavar="FILE",
        help="certificate, PEM (default: the list of clients as .crt, or gather.crt; made if there is none)",
    )  # fmt: skip
    add("--tls-key", type=Path, metavar="FILE", help="the certificate's key, PEM (default: the same, .key)")
    add("--plain", action="store_true", help="do not encrypt: tokens and data can be read on the way")
    add("--policy", metavar="NAME", help="tuning of the clients of --clients (default: sakajiri)")
    add(
        "--policy-file", type=Path, action="append", default=[], metavar="FILE",
        help="Python file with policies of one's own; repeatable",
    )  # fmt: skip
    add(
        "--api", type=_api, default=DEFAULT_API, metavar="HOST:PORT",
        help="address of the REST API with --clients; none: no API (default: %(default)s)",
    )  # fmt: skip
    add("--json", action="store_true", help="print events as JSON lines, also those of every round")


def _send_arguments(commands: Subparsers) -> None:
    send = add_command(
        commands, "send", "send a file, or stdin, to a server that gathers", run_send,
        example="groupflow gather send --to 10.0.0.1:26490 --client cam1 --file video.mp4",
    )  # fmt: skip
    add = send.add_argument
    add("--to", required=True, metavar="IP:PORT", help="the server")
    add(
        "--client", dest="name", required=True, metavar="NAME", help="this client's name in the server's list"
    )
    values.add_token(send, "this client's token")
    values.add_pin(send, "the server")
    add("--tls-ca", type=Path, metavar="FILE", help="authority that signed the server's certificate, PEM")
    add("--tls-name", metavar="NAME", help="the server's name in its certificate (default: its address)")
    add("--file", type=Path, help="file to send (default: stdin)")
    add("--duration", type=int, metavar="SECONDS", help="time after which the stream ends")
    add("--congestion", metavar="NAME", help="the kernel's congestion control, e.g. reno (default: its own)")
    add("--retry", type=int, metavar="SECONDS", help="time to keep looking for a lost server")
    add("--json", action="store_true", help="print events as JSON lines")


def run_serve(args: argparse.Namespace) -> int:
    from groupflow.control.api.server import ApiError
    from groupflow.endpoint.api_token import TokenFileError
    from groupflow.endpoint.errors import AgentError, ClientError
    from groupflow.endpoint.gather.clients import ClientListError
    from groupflow.tuning.plugin import PolicyFileError

    if args.controller and (args.policy or args.policy_file):
        raise CommandError("--policy and --policy-file are the controller's; leave them out", USAGE)
    log_to_stderr()

    with (
        failing_with(ApiError, TokenFileError, ClientError),
        failing_with(AgentError, code=lambda error: of_agent(getattr(error, "exit_code", FAILURE))),
        failing_with(ClientListError, PolicyFileError, code=REFUSED),
    ):
        asyncio.run(_serve_controlled(args) if args.controller else _serve_alone(args))
    return OK


async def _serve_controlled(args: argparse.Namespace) -> None:
    from groupflow.endpoint.gather.director import ControllerDirector

    options = _options(args, args.max_clients)
    async with ControllerDirector(args.controller) as director:
        await _serve(director, options, json_lines=args.json)


async def _serve_alone(args: argparse.Namespace) -> None:
    from groupflow.control.api.access import Guard
    from groupflow.control.api.gather import make_gather_app
    from groupflow.control.api.server import ApiError, is_beyond, listen, serve_app, url_of
    from groupflow.control.events import Events
    from groupflow.control.gather import DEFAULT_POLICY, Gathering
    from groupflow.endpoint.api_token import published
    from groupflow.endpoint.gather import clients
    from groupflow.store.memory import MemoryStore
    from groupflow.tuning.plugin import load_policies

    policies, policy = load_policies(args.policy_file), args.policy or DEFAULT_POLICY
    if policy not in policies:
        raise CommandError(f"--policy {policy}: unknown; the policies are {', '.join(policies)}", REFUSED)
    listed = clients.load(args.clients)
    options = _options(args, args.max_clients or max(64, len(listed.clients)))
    gathering = Gathering(MemoryStore(), Events(), policies, listed=listed, policy=policy)
    if args.api is None:
        await _serve(gathering, options, json_lines=args.json)
        return
    api = listen(*args.api)
    if is_beyond(api):
        raise ApiError(f"--api {args.api[0]}: it is not encrypted; write 127.0.0.1:{args.api[1]}")
    with published([url_of(api)]) as token:
        serving = asyncio.create_task(serve_app(Guard(make_gather_app(gathering), token), api))
        try:
            await _serve(gathering, options, json_lines=args.json)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


def _options(args: argparse.Namespace, max_clients: int | None) -> "ServeOptions":
    """Raises CommandError."""
    from groupflow.endpoint.gather.options import ServeOptions

    tls = _certificate(args)
    return ServeOptions(listen=args.listen, out=args.out, tls=tls, max_clients=max_clients)


async def _serve(director: "Director", options: "ServeOptions", *, json_lines: bool) -> None:
    from groupflow.endpoint.gather.service import GatherService

    stop = asyncio.Event()
    on_stop(stop.set)
    show = _print_json if json_lines else _print_line
    async with GatherService(director, options, on_event=show) as service:
        await service.ready()
        await service.agent.until(stop)


def _certificate(args: argparse.Namespace) -> tuple[Path, Path] | None:
    """Paths of certificate and key, which need not exist yet; None: no encryption. Raises CommandError."""
    named = values.certificate(args)
    if args.plain and named:
        raise CommandError("--plain and --tls-cert exclude each other; leave one out", USAGE)
    beside = args.clients or Path("gather")
    return named or (None if args.plain else (beside.with_suffix(".crt"), beside.with_suffix(".key")))


def _print_json(event: "Event") -> None:
    print(event.json(), flush=True)


def _print_line(event: "Event") -> None:
    """Prints a line for each event that is news for a person."""
    match event.name:
        case "ready":
            pin = event.fields.get("tls_pin")
            known = "not encrypted" if pin is None else f"clients know it by --tls-pin {pin}"
            line = f"listening at {event.text('addr')}:{event.integer('port')}, {known}"
        case "stream_started":
            line = f"{event.text('client')}: stream {event.text('stream')} from byte {event.integer('from')}"
        case "stream_ended":
            line = f"{event.text('client')}: {event.text('outcome')}, {event.integer('bytes')} bytes"
        case "refused":
            line = f"refused {event.text('peer')}: {event.text('text')}"
        case _:
            return
    print(f"gather: {line}", file=sys.stderr, flush=True)


def run_send(args: argparse.Namespace) -> int:
    from groupflow.endpoint.gather.options import GatherSendOptions

    if args.file is not None and not args.file.exists():
        raise CommandError(f"{args.file}: no such file", REFUSED)
    if not args.plain and args.tls_pin is None and args.tls_ca is None:
        raise CommandError(
            "no way to check the server: pass the fingerprint it prints with --tls-pin, or pass --tls-ca,"
            " or --plain to send without encryption",
            USAGE,
        )
    pin = None if args.plain or args.tls_ca is not None else args.tls_pin
    options = values.options(GatherSendOptions, args, tls_pin=pin, **({"tls_ca": None} if args.plain else {}))
    return ended(_send(options, json_lines=args.json))


async def _send(options: "GatherSendOptions", *, json_lines: bool) -> None:
    from groupflow.endpoint.agent_process import AgentProcess

    def show(event: "Event") -> None:
        if json_lines:
            _print_json(event)
        elif event.name == "complete":
            seconds = event.number("seconds")
            print(f"gather: complete, {event.integer('bytes')} bytes in {seconds:.2f} s", file=sys.stderr)

    async with AgentProcess(options, on_event=show, inherit_input=options.file is None) as agent:
        on_stop(lambda: agent.signal(SIGTERM))
        await agent.finish()


def _api(text: str) -> tuple[str, int] | None:
    return None if text == "none" else values.listen_address(text)
