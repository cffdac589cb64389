"""The async Python API: one member of a session, as sender or receiver."""

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from groupflow.agents.errors import ClientError
from groupflow.agents.options import RecvOptions, SendOptions, Start, own_name
from groupflow.agents.stream import MemberStream, OnEvent, Role

Kind: TypeAlias = Literal["stream", "datagrams"]

MAX_DATAGRAM = 16 << 20
_LENGTH = struct.Struct(">I")


class Session(MemberStream):
    """A member of a session, from `async with` to its end.

    A sender's data is complete when the `async with` block ends: the block waits until every receiver has it.
    A receiver joins at the beginning of the block and gets the bytes sent from then on (`start="start"`: all
    bytes).
    """

    def __init__(
        self,
        session: int = 0,
        *,
        role: Role,
        token: str = "",
        name: str | None = None,
        iface: str | None = None,
        kind: Kind = "stream",
        members: int = 1,
        rate: int | None = None,
        start: Start = "now",
        source: int | None = None,
        join_timeout: int | None = None,
        on_event: OnEvent | None = None,
        launcher: Sequence[str] = (),
    ) -> None:
        """Nothing happens before `async with`. Raises ClientError for arguments that do not go together.

        `name`: of this member (default: the host's). `members`, `rate`: a sender begins when so many
        receivers have joined, and keeps to `rate` bit/s. `start`, `source`: first byte and sender of a
        receiver's stream. `on_event` is called with every event, progress above all.
        """
        if session == 0:
            raise ClientError("session: there is none; pass its number, or open a groupflow.TreeSession")
        self.kind: Kind = kind
        datagrams, name = kind == "datagrams", name or own_name()
        options: SendOptions | RecvOptions
        if role == "sender":
            options = SendOptions(
                session=session, name=name, token=token, iface=iface, join_timeout=join_timeout,
                datagrams=datagrams, members=members, rate=rate,
            )  # fmt: skip
        else:
            options = RecvOptions(
                session=session, name=name, token=token, iface=iface, join_timeout=join_timeout,
                datagrams=datagrams, start=start, source=source,
            )  # fmt: skip
        super().__init__(options, role, launcher=launcher, on_event=on_event)

    async def send(self, data: bytes) -> None:
        """Appends to the stream, as fast as the group takes it; with kind="datagrams", sends one datagram."""
        if self.kind == "datagrams":
            if len(data) > MAX_DATAGRAM:
                raise ClientError(f"a datagram of {len(data)} bytes is too long; send at most {MAX_DATAGRAM}")
            data = _LENGTH.pack(len(data)) + data
        await self._write(data)

    async def send_file(self, path: str | Path) -> None:
        """Appends a file to the stream."""
        self._carries("stream")
        await self._write_file(path)

    def stream(self) -> AsyncIterator[bytes]:
        """The stream in order, in chunks. Ends with the stream; raises AgentError when it ends early."""
        self._carries("stream")
        return super().stream()

    async def datagrams(self) -> AsyncIterator[bytes]:
        """The stream's datagrams, in order."""
        self._require("receiver")
        self._carries("datagrams")
        while True:
            try:
                (length,) = _LENGTH.unpack(await self._agent.data_out.readexactly(_LENGTH.size))
                yield await self._agent.data_out.readexactly(length)
            except asyncio.IncompleteReadError:
                break
        await self._agent.finish()

    def _carries(self, kind: Kind) -> None:
        if self.kind != kind:
            raise ClientError(f"the session carries {self.kind}; open it with kind={kind!r}")
