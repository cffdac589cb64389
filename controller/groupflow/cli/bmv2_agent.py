"""`groupflow bmv2-agent`: the rate agent beside a BMv2 switch."""

import argparse
import os
from typing import TYPE_CHECKING, Any

from groupflow.cli import values
from groupflow.cli.command import OK, REFUSED, USAGE, CommandError, Subparsers, add_command
from groupflow.cli.rest_client import DEFAULT_API, client
from groupflow.errors import reason

if TYPE_CHECKING:
    import httpx

_ETH_P_ALL = 0x0003


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "bmv2-agent",
        "ticks and queue rates for diffusion-type flow control on BMv2, until Ctrl-C", run,
        example="groupflow bmv2-agent s1 --thrift 127.0.0.1:9091 --interface s1-tick",
    )  # fmt: skip
    parser.add_argument("switch", help="the switch's name in the topology")
    parser.add_argument(
        "--thrift", type=values.to_address, required=True, metavar="HOST:PORT", help="BMv2's --thrift-port"
    )
    parser.add_argument(
        "--interface", required=True, metavar="NAME", help="the far end of the veth pair at BMv2's port 0"
    )
    parser.add_argument(
        "--api", default=os.environ.get("GROUPFLOW_API", DEFAULT_API), metavar="URL", help="the controller's"
    )
    parser.add_argument("--refresh", type=float, default=1.0, metavar="SECONDS", help="time between looks")


def run(args: argparse.Namespace) -> int:
    import socket

    import httpx

    from groupflow.control.diffusion.bmv2_agent import RateAgent
    from groupflow.control.diffusion.thrift_client import ThriftClient, ThriftError

    if args.refresh <= 0:
        raise CommandError(f"--refresh {args.refresh:g} must be above 0 seconds", USAGE)
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
            wire.bind((args.interface, _ETH_P_ALL))
            switch = ThriftClient(*args.thrift)
            agent = RateAgent(switch, wire.send)
            print(f"groupflow bmv2-agent ready switch={args.switch}", flush=True)
            with client(args.api) as http:
                agent.run(lambda: _wanted(args, http), int(args.refresh * 1e9))
    except ThriftError as error:
        raise CommandError(str(error)) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise CommandError(f"no controller at {args.api} ({reason(error)}); name it with --api") from None
    except OSError as error:
        raise CommandError(f"--interface {args.interface}: {reason(error)}; name a veth, as root") from None
    return OK


def _wanted(args: argparse.Namespace, http: "httpx.Client") -> tuple[list[Any], list[Any]]:
    """The switch's controlled queues and ticks, asked of the controller. Raises CommandError and
    httpx.HTTPError."""
    from groupflow.control.diffusion.bmv2_agent import RegisterCell, Tick

    answer = http.get(f"/diffusion/switches/{args.switch}")
    if answer.is_error:
        raise CommandError(str(answer.json().get("error", answer.status_code)), REFUSED)
    body = answer.json()
    cells = [RegisterCell(cell["port"], cell["queue"], cell["line_rate"]) for cell in body["cells"]]
    ticks = [Tick(tick["period_ns"], bytes.fromhex(tick["frame"])) for tick in body["ticks"]]
    return cells, ticks
