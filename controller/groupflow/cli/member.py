"""`groupflow member`: gives a listening program of this host the streams of a TCP session."""

import argparse
from signal import SIGTERM

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.options import MemberOptions
from groupflow.cli import values
from groupflow.cli.command import Subparsers, add_command, on_stop
from groupflow.cli.transfer import add_member_arguments, add_start, ended


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "member",
        "let a program that listens on this host take the streams of a TCP session, until stopped", run,
        example="groupflow member 7 --listen 9000",
    )  # fmt: skip
    add_member_arguments(parser)
    what = "the TCP port where the program listens"
    parser.add_argument("--listen", type=values.port, required=True, metavar="PORT", help=what)
    add_start(
        parser, "of a stream under way - now: the bytes sent from now on; start: all bytes, from the caches"
    )


def run(args: argparse.Namespace) -> int:
    return ended(_stay(values.options(MemberOptions, args), json_lines=args.json))


async def _stay(options: MemberOptions, *, json_lines: bool) -> None:
    from groupflow.agents.display import Display

    with Display(f"session {options.session}", json_lines=json_lines) as display:
        async with AgentProcess(options, on_event=display.show) as agent:
            on_stop(lambda: agent.signal(SIGTERM))
            await agent.wait_for("left")  # or the error that ended it
