"""`groupflow ctl diffusion`: flows under diffusion-type flow control."""

import argparse
import sys
from typing import Any

from groupflow.cli.command import OK, USAGE, CommandError, Subparsers
from groupflow.cli.rest_client import Row, call, deletion, given, leaf, listing, print_json
from groupflow.cli.tables import print_pairs, print_table

FLOW_COLUMNS = ("flow", "kind", "name", "d", "alpha", "path", "warning")
HOP_COLUMNS = ("switch", "to", "port", "queue", "delay", "delay_from", "d_i", "d_i_error", "period")


def add(group: Subparsers) -> None:
    _add_install(group)
    end, flows = deletion("/diffusion/{flow}"), listing("/diffusion", FLOW_COLUMNS, _row)
    remove = leaf(group, "remove", "end the control of a flow", "diffusion remove 1", end)
    leaf(group, "list", "list the controlled flows", "diffusion list", flows)
    show = leaf(group, "show", "show a flow and its hops", "diffusion show 1", _show)
    for parser in (remove, show):
        parser.add_argument("flow", type=int)
    leaf(group, "delays", "measure the links between switches", "diffusion delays", _delays)


def _add_install(group: Subparsers) -> None:
    install = leaf(
        group, "install", "control a flow, a session or a link",
        "diffusion install --flow h1 h2 --protocol tcp --dst-port 5001 --d 0.1", _install,
    )  # fmt: skip
    what = install.add_mutually_exclusive_group(required=True)
    what.add_argument("--flow", nargs=2, metavar=("SRC", "DST"), help="the packets from one host to another")
    what.add_argument("--session", type=int, metavar="ID", help="the stream of a session, down its tree")
    what.add_argument(
        "--link", nargs=2, metavar=("FROM", "TO"), help="all packets from one switch to the next"
    )
    add = install.add_argument
    add("--source", type=int, help="the session's sender (default: the only sender)")
    add("--protocol", choices=("tcp", "udp"), help="protocol of the flow (default: any)")
    add("--src-port", type=int, metavar="N")
    add("--dst-port", type=int, metavar="N")
    add("--d", default="0.1", metavar="D", help="diffusion coefficient (default: %(default)s)")
    add("--alpha", default="1", metavar="A", help="flow intensity multiplier (default: %(default)s)")
    add("--external", action="store_true", help="the sending host shapes its packets to the rate it is told")
    add("--packet-bytes", type=int, default=1514, metavar="N", help="a nominal packet (default: %(default)s)")
    add("--no-measure", action="store_true", help="take link delays from the topology")


def _install(args: argparse.Namespace) -> int:
    flow = call(args, "POST", "/diffusion", _request(args))
    if flow["warning"]:
        print(f"groupflow: warning: {flow['warning']}", file=sys.stderr)
    return _print_flow(args, flow)


def _row(flow: Row) -> Row:
    return flow | {"path": " ".join(f"{hop['switch']}>{hop['to']}" for hop in flow["hops"])}


def _show(args: argparse.Namespace) -> int:
    return _print_flow(args, call(args, "GET", f"/diffusion/{args.flow}"))


def _delays(args: argparse.Namespace) -> int:
    delays = call(args, "GET", "/diffusion/delays")
    if args.json:
        return print_json(delays)
    print_table([{"link": name, "delay": delay} for name, delay in delays.items()], ("link", "delay"))
    return OK


def _print_flow(args: argparse.Namespace, flow: dict[str, Any]) -> int:
    if args.json:
        return print_json(flow)
    print_pairs({name: value for name, value in flow.items() if name != "hops"})
    print()
    print_table(map(_rounded, flow["hops"]), HOP_COLUMNS)
    return OK


def _request(args: argparse.Namespace) -> dict[str, Any]:
    """The body of an installation. Raises CommandError for options that do not belong together."""
    body: dict[str, Any] = {"d": args.d, "alpha": args.alpha, "external": args.external}
    body |= {"packet_bytes": args.packet_bytes, "measure": not args.no_measure}
    rule = given(protocol=args.protocol, src_port=args.src_port, dst_port=args.dst_port)
    if args.flow is None and rule:
        raise CommandError(f"--{next(iter(rule)).replace('_', '-')} belongs to --flow; leave it out", USAGE)
    if args.session is None and args.source is not None:
        raise CommandError("--source belongs to --session; leave it out", USAGE)
    if args.session is not None:
        return body | {"kind": "session", "session": args.session} | given(source=args.source)
    src, dst = args.flow or args.link
    return body | {"kind": "flow" if args.flow else "link", "src": src, "dst": dst} | rule


def _rounded(hop: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in hop.items()}
