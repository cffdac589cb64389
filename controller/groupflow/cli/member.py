"""`groupflow member`: gives a listening program of this host the streams of a TCP session."""

import argparse
import asyncio
import signal

from groupflow.cli.command import OK, CommandError, Subparsers, add_command, of_agent
from groupflow.cli.transfer import add_member_arguments
from groupflow.client.agent_process import AgentProcess
from groupflow.client.errors import AgentError, ClientError
from groupflow.client.options import MemberOptions


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "member",
        "let a program that listens on this host take the streams of a TCP session, until stopped",
        example="groupflow member 7 --token $TOKEN --listen 9000",
    )
    add_member_arguments(parser)
    parser.add_argument(
        "--listen", type=_port, required=True, metavar="PORT", help="the TCP port where the program listens"
    )
    parser.add_argument(
        "--from",
        dest="start",
        choices=("now", "start"),
        default="now",
        help="of a stream under way - now: what is sent from now on; start: all of it, from the caches",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    options = MemberOptions(
        session=args.session,
        name=args.name,
        token=args.token,
        iface=args.iface,
        join_timeout=args.join_timeout,
        listen=args.listen,
        start=args.start,
    )
    try:
        return asyncio.run(_stay(options, json_lines=args.json))
    except AgentError as error:
        raise CommandError(str(error), of_agent(error.exit_code)) from None
    except ClientError as error:
        raise CommandError(str(error)) from None


async def _stay(options: MemberOptions, *, json_lines: bool) -> int:
    from groupflow.client.display import Display

    with Display(f"session {options.session}", json_lines=json_lines) as display:
        async with AgentProcess(options, on_event=display.show) as agent:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, agent.signal, signal.SIGTERM)
            await agent.wait_for("left")  # or the error that ended it
    return OK


def _port(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; write a number from 1 to 65535")
    return number
