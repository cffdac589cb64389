"""The async Python API: one host of a tree, as its source or as a receiver that passes the stream on."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from groupflow.agents.arguments import ArgumentError, check, checked
from groupflow.agents.errors import ClientError
from groupflow.agents.options import Start, own_name
from groupflow.agents.stream import MemberStream, OnEvent, Role
from groupflow.tree.options import Slow, TreeRecvOptions, TreeSendOptions


class TreeSession(MemberStream):
    """A host of a tree, from `async with` to its end: hosts pass the stream on to each other.

        async with groupflow.TreeSession(to, role="receiver", token=token, tls_pin=pin) as session:
            async for chunk in session.stream(): ...

    The source's data is complete when the `async with` block ends: the block waits until every host has it.
    """

    def __init__(
        self,
        to: str,
        *,
        role: Role,
        token: str = "",
        tls_pin: str | None = None,
        plain: bool = False,
        name: str | None = None,
        members: int = 1,
        delay_ms: float | None = None,
        start: Start = "now",
        slow: Slow = "wait",
        align: int | None = None,
        parallel: int | None = None,
        children: int | None = None,
        cache: int | str | None = None,
        on_event: OnEvent | None = None,
        launcher: Sequence[str] = (),
    ) -> None:
        """Nothing happens before `async with`. Raises ArgumentError.

        `to`, `tls_pin`: IP:PORT of the tree's dispatchers, and their certificate's fingerprint; `plain=True`
        instead goes without encryption. `name`: of this host (default: its own). `members`: number of hosts
        that must have joined before the source begins. `delay_ms`: a source's bound on the latencies from it
        to each host in sum, one way (None: that of the dispatchers); a host beyond it has an event `delay`.
        `start`: first byte of a receiver. `slow`, `align`: treatment of a slow host. `parallel`: connections
        to the parent. `children`: the most that this host serves. `cache`: bytes of the stream that it holds.
        `on_event` is called with every event.
        """
        check("role", Role, role)
        if (tls_pin is None) != plain:
            raise ArgumentError("no way to check the dispatchers: pass either tls_pin= or plain=True")
        if role != "sender" and (delay_ms is not None or members != 1):
            raise ArgumentError("delay_ms= and members= are of the whole stream; pass them to its sender")
        if role != "receiver" and (parallel is not None or start != "now"):
            raise ArgumentError("parallel= and start= are of a receiver; leave them out for a sender")
        self._align = align
        host: dict[str, Any] = {
            "to": to, "name": name or own_name(), "token": token, "tls_pin": tls_pin, "slow": slow,
            "align": align, "children": children, "cache": cache,
        }  # fmt: skip
        options = (
            checked(TreeSendOptions, members=members, delay_ms=delay_ms, **host)
            if role == "sender"
            else checked(TreeRecvOptions, start=start, parallel=parallel, **host)
        )
        super().__init__(options, role, launcher=launcher, on_event=on_event)

    async def records(self) -> AsyncIterator[bytes]:
        """The stream in records of `align` bytes; the last may be shorter. With slow="skip" records may be
        missing, but none is cut."""
        self._require("receiver")
        if self._align is None:
            raise ClientError("the size of records is missing; open the session with align=")
        while True:
            try:
                yield await self._agent.data_out.readexactly(self._align)
            except asyncio.IncompleteReadError as error:
                if error.partial:
                    yield error.partial
                break
        await self._agent.finish()
