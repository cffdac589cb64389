"""The async Python API: one member of a session, as sender or receiver."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

from groupflow.client.agent_process import AgentProcess, RoleOptions
from groupflow.client.errors import ClientError
from groupflow.client.events import Event
from groupflow.client.options import RecvOptions, SendOptions, Start
from groupflow.tree.members import EDGES, Edges, Parallel, Slow, tree_member

Kind: TypeAlias = Literal["stream", "datagrams"]

MAX_DATAGRAM = 16 << 20
_LENGTH = struct.Struct(">I")
_CHUNK = 1 << 16


class Session:
    """A member of a session, from `async with` to its end.

    A sender's data is complete when the `async with` block ends: that waits until every receiver has it all.
    A receiver joins at the beginning of the block and hears what is sent from then on (`start="start"`: all
    of it).
    """

    def __init__(
        self,
        session: int = 0,
        *,
        role: Literal["sender", "receiver"],
        token: str = "",
        name: str | None = None,
        iface: str | None = None,
        kind: Kind = "stream",
        members: int = 1,
        rate: int | None = None,
        start: Start = "now",
        source: int | None = None,
        join_timeout: float | None = None,
        on_event: Callable[[Event], None] | None = None,
        launcher: Sequence[str] = (),
        over: Literal["switches", "tree"] = "switches",
        to: str | None = None,
        tls_pin: str | None = None,
        slow: Slow = "wait",
        align: int | None = None,
        parallel: Parallel | None = None,
        children: int | None = None,
        cache: int | None = None,
        edges: Edges = "stream",
    ) -> None:
        """Nothing happens before `async with`.

        `name`: of this member (default: the host's). `members`, `rate`: a sender starts when so many
        receivers have joined, and keeps to `rate` bit/s. `start`, `source`: what a receiver hears.
        `on_event`: is told everything, progress above all.

        `over="tree"`: hosts pass the stream on to each other. The session is then the tree whose dispatchers
        are at `to` (IP:PORT) and known by `tls_pin` (without it nothing is encrypted); `slow`, `align`: what
        becomes of who is slow; `parallel`: connections to the parent, "auto": as many as are measured to be
        needed (event `parallel`); `children`: that this host serves at most; `cache`: bytes of the stream
        that it holds; `edges`: how data come from the parent: "stream" (TCP), "quic" (TCP where UDP is
        blocked), or "datagrams": what is lost or late is skipped (it needs slow="skip"). It carries streams.
        Raises ClientError for what does not go together.
        """
        self.role = role
        self.kind: Kind = kind
        self._align = align
        name = name or socket.gethostname()
        datagrams = kind == "datagrams"
        options: RoleOptions
        if over == "tree":
            if to is None:
                raise ClientError("over='tree' needs to=, where its dispatchers are")
            if parallel == "auto" and launcher:
                raise ClientError("parallel='auto' measures from this process; it cannot go with launcher=")
            if kind != "stream":
                raise ClientError("over='tree' carries streams only; frame your data")
            if edges == "datagrams" and slow != "skip":
                raise ClientError("edges='datagrams' needs slow='skip': what is lost is not sent again")
            if edges not in EDGES:
                raise ClientError(f"edges={edges!r}: write one of {', '.join(EDGES)}")
            if edges != "stream" and tls_pin is None:
                raise ClientError(f"edges={edges!r} is always encrypted; pass tls_pin=, or leave edges out")
            options = tree_member(
                role,
                start,
                members,
                to=to,
                name=name,
                token=token,
                tls_pin=tls_pin,
                slow=slow,
                align=align,
                parallel=parallel,
                children=children,
                cache=cache,
                edges=edges,
            )
        elif session == 0:
            raise ClientError("session: there is none; pass its number, or over='tree'")
        elif role == "sender":
            options = SendOptions(
                session=session,
                name=name,
                token=token,
                iface=iface,
                join_timeout=join_timeout,
                datagrams=datagrams,
                members=members,
                rate=rate,
            )
        else:
            options = RecvOptions(
                session=session,
                name=name,
                token=token,
                iface=iface,
                join_timeout=join_timeout,
                datagrams=datagrams,
                start=start,
                source=source,
            )
        self._agent = AgentProcess(
            options, launcher=launcher, on_event=on_event, piped_input=role == "sender"
        )
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._agent)
            await self._agent.wait_for("joined")
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._stack:
            if self.role == "sender" and kind is None:
                await self.finish()

    @property
    def joined(self) -> Event:
        """How the controller let this member in: member id, mode, policy, window."""
        return self._agent.latest["joined"]

    @property
    def progress(self) -> Event | None:
        """The latest progress, at most 0.2 s old while data flows."""
        return self._agent.latest.get("progress")

    @property
    def result(self) -> Event | None:
        """The summary, once the stream is complete."""
        return self._agent.latest.get("complete")

    async def send(self, data: bytes) -> None:
        """Appends to the stream, as fast as the group takes it; with kind="datagrams", sends one datagram."""
        self._require("sender")
        if self.kind == "datagrams":
            if len(data) > MAX_DATAGRAM:
                raise ClientError(f"a datagram of {len(data)} bytes is too long; send at most {MAX_DATAGRAM}")
            data = _LENGTH.pack(len(data)) + data
        try:
            self._agent.data_in.write(data)
            await self._agent.data_in.drain()
        except ConnectionError:
            await self._agent.finish()  # says why it ended
            raise

    async def send_file(self, path: str | Path) -> None:
        """Appends a file to the stream."""
        self._require("sender", "stream")
        try:
            file = await asyncio.to_thread(Path(path).open, "rb")
        except OSError as error:
            raise ClientError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
        with file:
            while chunk := await asyncio.to_thread(file.read, 4 * _CHUNK):
                await self.send(chunk)

    async def finish(self) -> Event:
        """Ends the stream and waits until every receiver has all of it. The summary; `lost`: who has not."""
        self._require("sender")
        self._agent.data_in.close()
        return await self._agent.finish()

    async def stream(self) -> AsyncIterator[bytes]:
        """The stream in order, in chunks. Ends with the stream; raises AgentError when it ends early."""
        self._require("receiver", "stream")
        while chunk := await self._agent.data_out.read(_CHUNK):
            yield chunk
        await self._agent.finish()

    async def records(self) -> AsyncIterator[bytes]:
        """The stream in records of `align` bytes; the last may be shorter. With slow="skip" some may be
        missing between two, none is cut."""
        self._require("receiver", "stream")
        if self._align is None:
            raise ClientError("of which size are records? open the session with align=")
        while True:
            try:
                yield await self._agent.data_out.readexactly(self._align)
            except asyncio.IncompleteReadError as error:
                if error.partial:
                    yield error.partial
                break
        await self._agent.finish()

    async def datagrams(self) -> AsyncIterator[bytes]:
        """One item a datagram, in order."""
        self._require("receiver", "datagrams")
        while True:
            try:
                (length,) = _LENGTH.unpack(await self._agent.data_out.readexactly(_LENGTH.size))
                yield await self._agent.data_out.readexactly(length)
            except asyncio.IncompleteReadError:
                break
        await self._agent.finish()

    def _require(self, role: str, kind: Kind | None = None) -> None:
        if self.role != role:
            raise ClientError(f"a {self.role} cannot do this; open the session with role={role!r}")
        if kind is not None and self.kind != kind:
            raise ClientError(f"the session carries {self.kind}; open it with kind={kind!r}")
