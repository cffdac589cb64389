"""A program in a host of a network, never left behind."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

from groupflow.endpoint.processes import STOP_SECONDS, tied


@asynccontextmanager
async def program(
    launcher: Sequence[str], command: Sequence[str], *, piped_input: bool = False
) -> AsyncGenerator[Process]:
    """Runs a program with a pipe as its stdout; if this process is killed, the kernel ends the program."""
    process = await asyncio.create_subprocess_exec(
        *launcher, *tied(command), stdin=PIPE if piped_input else DEVNULL, stdout=PIPE, stderr=DEVNULL
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.communicate()  # throws its last output away, and closes its pipes
        except TimeoutError:
            process.kill()
            await process.communicate()
