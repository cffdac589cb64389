"""The async Python API: one member of a session, as sender or receiver."""

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from groupflow.agents.arguments import ArgumentError, check, checked
from groupflow.agents.errors import ClientError
from groupflow.agents.options import RecvOptions, SendOptions, Start, own_name
from groupflow.agents.stream import MemberStream, OnEvent, Role

Kind: TypeAlias = Literal["stream", "datagrams"]

MAX_DATAGRAM = 16 << 20
_LENGTH = struct.Struct(">I")


class Session(MemberStream):
    """A member of a session, from `async with` to its end.

        async with groupflow.Session(7, role="sender", token=token, members=2) as session:
            await session.send_file("big.iso")
        print(session.result.seconds, session.result.lost)

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
        rate: int | str | None = None,
        start: Start = "now",
        source: int | None = None,
        join_timeout: int | None = None,
        on_event: OnEvent | None = None,
        launcher: Sequence[str] = (),
    ) -> None:
        """Nothing happens before `async with`. Raises ArgumentError.

        `token`: the session's (default: $GROUPFLOW_TOKEN). `name`: of this member (default: the host's).
        `members`, `rate`: a sender begins when so many receivers have joined, and keeps to `rate`, "10mbit"
        or bit/s. `start`, `source`: first byte and sender of a receiver's stream. `on_event` is called with
        every event, progress above all.
        """
        if session == 0:
            raise ArgumentError("session: it is missing; pass its number, or open a groupflow.TreeSession")
        check("role", Role, role)
        self.kind: Kind = check("kind", Kind, kind)
        common: dict[str, Any] = {
            "session": session, "name": name or own_name(), "token": token, "iface": iface,
            "join_timeout": join_timeout, "datagrams": kind == "datagrams",
        }  # fmt: skip
        options: SendOptions | RecvOptions
        if role == "sender":
            if start != "now" or source is not None:
                raise ArgumentError("start= and source= are of a receiver; leave them out for a sender")
            options = checked(SendOptions, members=members, rate=rate, **common)
        else:
            if members != 1 or rate is not None:
                raise ArgumentError("members= and rate= are of a sender; leave them out for a receiver")
            options = checked(RecvOptions, start=start, source=source, **common)
        super().__init__(options, role, launcher=launcher, on_event=on_event)

    async def send(self, data: bytes) -> None:
        """Appends to the stream, as fast as the group takes it; with kind="datagrams", sends one datagram."""
        if self.kind == "datagrams":
            if len(data) > MAX_DATAGRAM:
                raise ClientError(f"a datagram of {len(data)} bytes is too long; send at most {MAX_DATAGRAM}")
            data = _LENGTH.pack(len(data)) + data
        await super().send(data)

    async def send_file(self, path: str | Path) -> None:
        """Appends a file to the stream."""
        self._carries("stream")
        await super().send_file(path)

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
