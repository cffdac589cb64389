"""Arguments of a member, and runs of gfagent to their end, for the commands that need them."""

import argparse
import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from signal import SIGTERM
from typing import Any

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError, ClientError, InterruptedSessionError
from groupflow.agents.events import Event
from groupflow.agents.options import RoleOptions, own_name
from groupflow.cli import values
from groupflow.cli.command import INTERRUPTED, LOST, OK, REFUSED, CommandError, of_agent, on_stop


def add_member_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", type=values.session, metavar="SESSION", help="the session's number")
    values.add_token(parser, "the session's token")
    parser.add_argument("--name", default=own_name(), help="this member's name (default: the host's)")
    parser.add_argument("--iface", help="network interface (default: the first that is up)")
    parser.add_argument(
        "--join-timeout", type=int, metavar="SECONDS", help="give up joining after so long (default 10)"
    )
    parser.add_argument("--json", action="store_true", help="print events as JSON lines")


def add_start(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds where in a stream a member begins; `what` is text for its help."""
    parser.add_argument("--from", dest="start", choices=("now", "start"), default="now", help=what)


def check_file(path: Path | None) -> None:
    """Raises CommandError for a file that cannot be sent; `path` None stands for stdin."""
    if path is not None and not path.is_file():
        problem = "not a regular file" if path.exists() else "no such file"
        raise CommandError(f"{path}: {problem}; name a file to send", REFUSED)


def run_transfer(options: RoleOptions, *, json_lines: bool) -> int:
    """Runs gfagent until the stream is complete. Returns the command's exit code."""
    return ended(_transfer(options, json_lines))


def ended(work: Coroutine[Any, Any, int | None]) -> int:
    """Runs work that starts agents to its end. Returns the exit code, 0 for None. Raises CommandError."""
    try:
        return asyncio.run(work) or OK
    except InterruptedSessionError:
        return INTERRUPTED
    except AgentError as error:
        raise CommandError(str(error), of_agent(error.exit_code)) from None
    except ClientError as error:
        raise CommandError(str(error)) from None


async def _transfer(options: RoleOptions, json_lines: bool) -> int:
    from groupflow.agents.display import Display

    to_stdout = options.data_on_stdout
    from_stdin = getattr(options, "file", ...) is None
    session = getattr(options, "session", None)
    label = "tree" if session is None else f"session {session}"
    with Display(label, json_lines=json_lines, events_to_stderr=to_stdout) as display:
        agent = AgentProcess(
            options, on_event=display.show, inherit_input=from_stdin, inherit_output=to_stdout
        )
        async with agent:
            on_stop(lambda: agent.signal(SIGTERM))
            complete = await agent.finish()
    return report_lost(complete)


def report_lost(complete: Event) -> int:
    """Names the members that died before the end of the stream, on stderr. Returns the exit code."""
    lost = complete.texts("lost")
    if lost:
        print(f"groupflow: complete without {', '.join(lost)}: lost on the way", file=sys.stderr)
        return LOST
    return OK
