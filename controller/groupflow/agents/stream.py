"""The common part of all streams that gfagent carries for a Python program."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Literal, Self, TypeAlias, cast

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.arguments import ArgumentError, in_python
from groupflow.agents.errors import ClientError
from groupflow.agents.events import Complete, Event, Joined, Progress
from groupflow.agents.options import RoleOptions
from groupflow.errors import reason

Role: TypeAlias = Literal["sender", "receiver"]
OnEvent: TypeAlias = Callable[[Event], None]

_CHUNK = 1 << 16


class AgentStream:
    """A stream, from `async with` to its end. A sender's bytes have arrived when the block ends."""

    begins_with = "joined"
    """name of the event with which gfagent is admitted"""
    argument_names: Mapping[str, str] = MappingProxyType({})
    """of options whose argument has another name"""

    def __init__(
        self, options: RoleOptions, role: Role, *, launcher: Sequence[str], on_event: OnEvent | None
    ) -> None:
        self.role: Role = role
        if on_event is not None and not callable(on_event):
            raise ArgumentError(f"on_event: {on_event!r} cannot be called; pass a function of one event")
        if isinstance(launcher, str):
            raise ArgumentError(f"launcher: {launcher!r} is one text; pass a list of words")
        self._on_event = on_event
        self._given = 0
        self._total: int | None = None
        """bytes to be sent, while a file is"""
        self._agent = AgentProcess(
            options,
            launcher=launcher,
            on_event=self._hear,
            piped_input=role == "sender",
            words=in_python(options, self.argument_names),
        )
        self._stack = AsyncExitStack()

    def _hear(self, event: Event) -> None:
        if isinstance(event, Progress) and event.total is None and self._total is not None:
            event = replace(event, fields={**event.fields, "total_bytes": self._total})
            self._agent.latest[event.name] = event
        if self._on_event is not None:
            self._on_event(event)

    async def __aenter__(self) -> Self:
        """Raises AgentError when the stream cannot begin."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._agent)
            await self._agent.wait_for(self.begins_with)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._stack:
            if self.role == "sender" and kind is None:
                await self.finish()

    @property
    def progress(self) -> Progress | None:
        """The latest progress event, at most 0.5 s old while data flows."""
        return cast(Progress | None, self._agent.latest.get("progress"))

    @property
    def result(self) -> Complete | None:
        """The final event, once the stream is complete."""
        return cast(Complete | None, self._agent.latest.get("complete"))

    async def finish(self) -> Complete:
        """Ends the stream, and waits until it has arrived. The final event; `lost`: members without it."""
        self._require("sender")
        self._agent.data_in.close()
        return cast(Complete, await self._agent.finish())

    async def send(self, data: bytes) -> None:
        """Appends to the stream, as fast as the far side takes it. Raises AgentError when it has ended."""
        self._require("sender")
        self._given += len(data)
        if self._total is not None and self._given > self._total:
            self._total = None  # a program adds to what a file was
        try:
            self._agent.data_in.write(data)
            await self._agent.data_in.drain()
        except ConnectionError:
            await self._agent.finish()  # raises the reason of its end
            raise

    async def send_file(self, path: str | Path) -> None:
        """Appends a file to the stream. Raises ClientError if it cannot be read."""
        self._require("sender")
        try:
            file = await asyncio.to_thread(Path(path).open, "rb")
        except OSError as error:
            raise ClientError(f"{path}: {reason(error)}") from None
        with file:
            self._total = self._given + os.fstat(file.fileno()).st_size
            while chunk := await asyncio.to_thread(file.read, 4 * _CHUNK):
                await AgentStream.send(self, chunk)

    def _require(self, role: Role) -> None:
        if self.role != role:
            raise ClientError(f"a {self.role} cannot do this; open the session with role={role!r}")


class MemberStream(AgentStream):
    """A sender's or a receiver's stream."""

    @property
    def joined(self) -> Joined:
        """The event with which this member was admitted."""
        return cast(Joined, self._agent.latest["joined"])

    async def stream(self) -> AsyncIterator[bytes]:
        """The stream in order, in chunks. Ends with the stream; raises AgentError when it ends early."""
        self._require("receiver")
        while chunk := await self._agent.data_out.read(_CHUNK):
            yield chunk
        await self._agent.finish()
