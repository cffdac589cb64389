"""What `groupflow send` and `groupflow recv` share: arguments of a member, and running gfagent to its end."""

import argparse
import asyncio
import os
import signal
import socket
import sys
from collections.abc import Coroutine
from typing import Any

from groupflow import units
from groupflow.cli.command import INTERRUPTED, CommandError, of_agent
from groupflow.client.agent_process import MEMBERS_LOST, AgentProcess, RoleOptions
from groupflow.client.errors import AgentError, ClientError, InterruptedSessionError
from groupflow.client.events import Event

MAX_SESSION = (1 << 24) - 1
"""Session ids are the low 24 bits of a group address."""


def add_member_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", type=session_number, metavar="SESSION", help="the session's number")
    parser.add_argument(
        "--token",
        default=os.environ.get("GROUPFLOW_TOKEN", ""),
        help="the session's token (default: $GROUPFLOW_TOKEN)",
    )
    parser.add_argument(
        "--name", default=socket.gethostname(), help="this member's name (default: the host's)"
    )
    parser.add_argument("--iface", help="network interface (default: the first that is up)")
    parser.add_argument(
        "--join-timeout", type=float, metavar="SECONDS", help="give up joining after so long (default 10)"
    )
    parser.add_argument("--json", action="store_true", help="print events as JSON lines")


def rate(text: str) -> int:
    """A rate on the command line, e.g. `50mbit`."""
    try:
        value = units.parse_rate(text)
    except units.UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if value is None:
        raise argparse.ArgumentTypeError("'unlimited' is no rate to send at; leave --rate out")
    return value


def run_transfer(options: RoleOptions, *, json_lines: bool) -> int:
    """Runs gfagent until the stream is complete; the command's exit code."""
    return ended(_transfer(options, json_lines))


def ended(transfer: Coroutine[Any, Any, int]) -> int:
    """Runs a transfer to its end; the command's exit code. Raises CommandError."""
    try:
        return asyncio.run(transfer)
    except InterruptedSessionError:
        return INTERRUPTED
    except AgentError as error:
        raise CommandError(str(error), of_agent(error.exit_code)) from None
    except ClientError as error:
        raise CommandError(str(error)) from None


async def _transfer(options: RoleOptions, json_lines: bool) -> int:
    from groupflow.client.display import Display

    to_stdout = bool(getattr(options, "data_on_stdout", False))
    from_stdin = getattr(options, "file", ...) is None
    session = getattr(options, "session", None)
    label = "tree" if session is None else f"session {session}"
    with Display(label, json_lines=json_lines, events_to_stderr=to_stdout) as display:
        agent = AgentProcess(
            options, on_event=display.show, inherit_input=from_stdin, inherit_output=to_stdout
        )
        async with agent:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, agent.signal, signal.SIGTERM)
            complete = await agent.finish()
    return report_lost(complete)


def report_lost(complete: Event) -> int:
    """Says who did not live to see the end; the exit code."""
    lost = complete.texts("lost")
    if lost:
        print(f"groupflow: complete without {', '.join(lost)}: lost on the way", file=sys.stderr)
        return MEMBERS_LOST
    return 0


def session_number(text: str) -> int:
    """A session on the command line."""
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= MAX_SESSION:
        raise argparse.ArgumentTypeError(f"{text!r} is no session; write a number from 1 to {MAX_SESSION}")
    return number
