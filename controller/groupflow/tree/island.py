"""A host where a tree meets an island of P4 switches: passes the stream of one on to the other.

Into an island it is a host of the tree and the sender of a session, whose switches replicate; out of one it
is a receiver of the session and the source of a tree. The bytes go from one gfagent to the other through a
pipe: when one side is slow, the other waits.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Self

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import ClientError
from groupflow.agents.events import Event
from groupflow.agents.options import RoleOptions


class Island:
    """`async with` starts both sides; `finish` waits until every receiver has the stream."""

    def __init__(
        self,
        receiving: RoleOptions,
        sending: RoleOptions,
        *,
        launcher: Sequence[str] = (),
        on_received: Callable[[Event], None] | None = None,
        on_sent: Callable[[Event], None] | None = None,
    ) -> None:
        """`receiving`: a receiver without an output file. `sending`: a sender without a file.

        `on_received` and `on_sent` are called with the events of each side. Raises ClientError.
        """
        if not receiving.data_on_stdout or getattr(sending, "file", ...) is not None:
            raise ClientError("an island has no files: the stream goes on from a receiver to a sender")
        self._options = (receiving, sending)
        self._launcher = launcher
        self._heard = (on_received, on_sent)
        self._stack = AsyncExitStack()
        self._write_end: int | None = None
        self.receiving: AgentProcess
        self.sending: AgentProcess

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            read_end, write_end = os.pipe()
            stack.callback(self._close)
            self._write_end = write_end
            try:
                (receiving, sending), (on_received, on_sent) = self._options, self._heard
                self.sending = AgentProcess(
                    sending, launcher=self._launcher, on_event=on_sent, input_from=read_end
                )
                await stack.enter_async_context(self.sending)
            finally:
                os.close(read_end)
            self.receiving = AgentProcess(
                receiving, launcher=self._launcher, on_event=on_received, output_to=write_end
            )
            await stack.enter_async_context(self.receiving)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._stack:
            await AgentProcess.stop_all((self.receiving, self.sending))

    async def finish(self) -> Event:
        """Waits for both sides. The sending side's `complete` event. Raises AgentError of a failed side."""
        received = asyncio.create_task(self._received())
        sent = asyncio.create_task(self.sending.finish())
        try:
            await asyncio.wait({received, sent}, return_when=asyncio.FIRST_EXCEPTION)
            for task in (received, sent):
                if task.done():
                    task.result()
            return await sent
        finally:
            received.cancel()
            sent.cancel()

    def stop(self) -> None:
        """Makes both sides leave; `finish` raises InterruptedSessionError."""
        self.receiving.signal(signal.SIGTERM)
        self.sending.signal(signal.SIGTERM)

    async def _received(self) -> None:
        """Ends the pipe after a whole stream only, so that a broken stream does not look complete."""
        await self.receiving.finish()
        self._close()

    def _close(self) -> None:
        if self._write_end is not None:
            os.close(self._write_end)
            self._write_end = None
