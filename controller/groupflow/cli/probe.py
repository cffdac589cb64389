"""`groupflow probe`: measures the best socket buffers and number of TCP connections for the way to a host."""

import argparse
import asyncio
import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from groupflow.cli import command, values
from groupflow.network import units
from groupflow.probe.model import BUFFERS, CONNECTIONS, PORT, ProbeOptions

if TYPE_CHECKING:
    from groupflow.probe.model import Cell, Probe


def register(subparsers: command.Subparsers) -> None:
    parser = command.add_command(
        subparsers, "probe",
        "measure the best socket buffers and number of connections for the way to a host", run,
        example="groupflow probe --serve                      (there; it prints its token)\n"
        "         GROUPFLOW_TOKEN=c0ffee groupflow probe 10.0.2.1     (here)",
    )  # fmt: skip
    add = parser.add_argument
    what = "the host that runs `groupflow probe --serve`"
    add("host", nargs="?", type=_host, metavar="HOST[:PORT]", help=what)
    values.add_token(parser, "the server's token, if it is not to make and print one,")
    add("--json", action="store_true", help="print the result as JSON")
    _measure_arguments(parser)
    serve = parser.add_argument_group("the far side")
    serve.add_argument(
        "--serve", action="store_true", help="let clients measure, one at a time, until stopped"
    )
    serve.add_argument("--listen", default="0.0.0.0", metavar="IP", help="(default: all)")
    serve.add_argument("--port", type=int, default=PORT, help="(default: %(default)s)")


def _measure_arguments(parser: command.Parser) -> None:
    group = parser.add_argument_group("the measurement")
    add = group.add_argument
    add(
        "--buffers", type=_sizes, default=BUFFERS, metavar="SIZE,...",
        help="buffers of a connection; kernel: the kernel adapts them (default: 16 KiB to 4 MiB by fours)",
    )  # fmt: skip
    add(
        "--connections", type=_numbers, default=CONNECTIONS, metavar="N,...",
        help="(default: 1,2,4,8,16)",
    )  # fmt: skip
    add("--seconds", type=float, default=30.0, help="time for the whole measurement (default: %(default)g)")
    add(
        "--within", type=float, default=10.0, metavar="PERCENT",
        help="the cheapest choice at most so much slower than the fastest is best (default: %(default)g)",
    )  # fmt: skip
    add("--timeout", type=float, default=5.0, metavar="SECONDS", help="for any answer (default: %(default)g)")


def run(args: argparse.Namespace) -> int:
    from groupflow.probe.errors import ProbeError, RefusedError

    if args.serve == (args.host is not None):
        raise command.CommandError(
            "name a HOST to measure the way to, or --serve to be measured", command.USAGE
        )
    with command.failing_with(ProbeError), command.failing_with(RefusedError, code=command.REFUSED):
        return asyncio.run(_serve(args)) if args.serve else _probe(args)


async def _serve(args: argparse.Namespace) -> int:
    from groupflow.probe.server import ServeOptions, Server
    from groupflow.probe.wire import new_token

    command.log_to_stderr()
    stop = asyncio.Event()
    command.on_stop(stop.set)
    made = "" if args.token else new_token()
    async with Server(ServeOptions(args.listen, args.port, args.token or made)) as server:
        told = {"event": "ready", "listen": args.listen, "port": server.port} | (
            {"token": made} if made else {}
        )
        if args.json:
            print(json.dumps(told), flush=True)
        else:
            known = f"clients need GROUPFLOW_TOKEN={made}" if made else "clients need its token"
            print(f"probe: listening at {args.listen}:{server.port}, {known}", flush=True)
        await stop.wait()
    return command.OK


def _probe(args: argparse.Namespace) -> int:
    if not args.token:
        raise command.CommandError(
            "the token is missing: the one that the server printed, in GROUPFLOW_TOKEN or a --token-file",
            command.USAGE,
        )
    host, port = args.host
    probe = asyncio.run(_measure(host, port, args.token, _options(args)))
    if args.json:
        print(json.dumps(asdict(probe) | {"in_flight": probe.in_flight}))
    else:
        _show(probe)
    return command.OK


def _options(args: argparse.Namespace) -> ProbeOptions:
    from groupflow.probe.errors import ProbeError

    adapted, buffers = args.buffers == (), args.buffers or BUFFERS
    with command.failing_with(ProbeError, code=command.USAGE):
        return ProbeOptions(buffers, args.connections, args.seconds, args.within / 100, args.timeout, adapted)


async def _measure(host: str, port: int, token: str, options: ProbeOptions) -> "Probe":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from groupflow.probe.client import measure

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{host}:{port}", total=None)

        def told(done: int, of: int, cell: "Cell") -> None:
            bar.update(task, completed=done, total=of, description=_cell(cell))

        return await measure(host, port, token=token, options=options, on_cell=told)


def _show(probe: "Probe") -> None:
    from groupflow.cli.tables import print_pairs, print_table

    numbers = sorted({cell.connections for cell in probe.cells})
    rows = [
        {"buffer": units.format_size(buffer)}
        | {str(c.connections): f"{c.bps / 1e6:.1f}" for c in probe.cells if c.buffer == buffer}
        for buffer in sorted({cell.buffer for cell in probe.cells if cell.buffer is not None})
    ]
    kernels = [probe.kernel, *(cell for cell in probe.cells if cell.buffer is None)]
    rows.append({"buffer": "kernel's"} | {str(c.connections): f"{c.bps / 1e6:.1f}" for c in kernels})
    buffer = units.format_size(probe.buffer) if probe.buffer else "buffers that the kernel adapts"
    print("Mb/s by socket buffer and number of connections")
    print_table(rows, ["buffer", *map(str, numbers)])
    print()
    print_pairs(
        {
            "recommended": f"{probe.connections} connections, {buffer} each",
            "throughput": f"{probe.bps / 1e6:.1f} Mb/s",
            "round trip": f"{1000 * probe.rtt_s:.2f} ms",
            "in flight": f"{units.format_size(probe.in_flight)} at that throughput",
        }
    )
    for warning in probe.warnings:
        print(f"warning: {warning}")


def _cell(cell: "Cell") -> str:
    buffer = "the kernel's" if cell.buffer is None else units.format_size(cell.buffer)
    return f"{cell.connections} connections, {buffer}: {cell.bps / 1e6:.1f} Mb/s"


_host = values.value(partial(units.parse_host, port=PORT))


def _sizes(text: str) -> tuple[int, ...]:
    if text == "kernel":
        return ()
    return tuple(values.size(item) for item in text.split(","))


def _numbers(text: str) -> tuple[int, ...]:
    if not all(item.isdecimal() for item in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers; write one like 1,2,4")
    return tuple(int(item) for item in text.split(","))
