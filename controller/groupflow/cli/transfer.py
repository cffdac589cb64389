"""`groupflow session send`, `recv` and `join`; and runs of gfagent to their end, for other commands."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from signal import SIGTERM

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.events import Event
from groupflow.agents.options import MemberOptions, RecvOptions, RoleOptions, SendOptions
from groupflow.cli.access import needed
from groupflow.cli.common import Common, check_output, on_stop
from groupflow.cli.session import Session
from groupflow.errors import InvalidError, Kind


def send(common: Common, session: Session, *, options: SendOptions) -> int:
    """Send a file or stdin to every receiver of a session."""
    check_file(options.file)
    _check_token(options)
    return run_transfer(options, common)


def recv(common: Common, session: Session, *, options: RecvOptions) -> int:
    """Receive the stream of a session."""
    if str(options.output) == "-":
        options = replace(options, output=None)
    check_output(options.output, "--output")
    _check_token(options)
    return run_transfer(options, common)


def join(common: Common, session: Session, *, options: MemberOptions) -> None:
    """Let a program that listens on this host take the streams of a TCP session, until stopped."""
    _check_token(options)
    asyncio.run(_stay(options, common))


def _check_token(options: SendOptions | RecvOptions | MemberOptions) -> None:
    needed(options.token, f"`groupflow session token {options.session}`")


async def _stay(options: MemberOptions, common: Common) -> None:
    from groupflow.agents.display import Display

    with Display(f"session {options.session}", json_lines=common.json, quiet=common.quiet) as display:
        async with AgentProcess(options, on_event=display.show) as agent:
            on_stop(lambda: agent.signal(SIGTERM))
            await agent.wait_for("left")  # or the error that ended it


def check_file(path: Path | None, *, pipes: bool = False) -> None:
    """Raises InvalidError for a file that cannot be sent; `path` None stands for stdin."""
    if path is not None and not (path.is_file() or (pipes and path.exists() and not path.is_dir())):
        problem = "not a regular file" if path.exists() else "no such file"
        raise InvalidError(f"{path}: {problem}; name a file to send")


def run_transfer(options: RoleOptions, common: Common) -> int:
    """Runs gfagent until the stream is complete. Returns the command's exit code."""
    return asyncio.run(_transfer(options, common))


async def _transfer(options: RoleOptions, common: Common) -> int:
    from groupflow.agents.display import Display

    to_stdout = options.data_on_stdout
    from_stdin = getattr(options, "file", ...) is None
    session = getattr(options, "session", None)
    label = "tree" if session is None else f"session {session}"
    with Display(label, json_lines=common.json, events_to_stderr=to_stdout, quiet=common.quiet) as display:
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
        return Kind.LOST.exit_code
    return 0
