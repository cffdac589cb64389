"""The far side of a probe: takes bytes over as many connections as a client asks for, and counts them.

It serves one client at a time, one that has the token; connections, time and memory are bounded.
"""

import asyncio
import hmac
import logging
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from groupflow.errors import reason
from groupflow.probe import wire
from groupflow.probe.model import (
    LEAST_BUFFER,
    LEAST_CELL_S,
    MOST_BUFFER,
    MOST_CELL_S,
    MOST_CONNECTIONS,
    PORT,
    ProbeError,
)
from groupflow.probe.sockets import BACKLOG, CHUNK, gives_way, granted, listen, reset

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServeOptions:
    """Address, token and limits of a server."""

    host: str = "0.0.0.0"
    port: int = PORT
    """0: any free port"""
    token: str = field(default_factory=wire.new_token, repr=False)
    answer_s: float = 5.0
    """seconds that a client may take for any step"""
    session_s: float = 600.0
    """seconds that one client may measure"""
    pending: int = 2 * MOST_CONNECTIONS
    """connections that have not yet said what they are for"""


@dataclass
class _Cell:
    """The connections of the cell that is measured now."""

    ticket: str
    wanted: int
    sockets: list[socket.socket] = field(default_factory=list[socket.socket])
    complete: asyncio.Event = field(default_factory=asyncio.Event)


class Server:
    """`async with Server(options) as server`: listens, and serves until the end of the block."""

    def __init__(self, options: ServeOptions) -> None:
        self.options = options
        self.port = options.port
        self._listener: socket.socket | None = None
        self._greetings: set[asyncio.Task[None]] = set()
        self._silent: dict[asyncio.Task[None], str] = {}
        """those of connections that have not proved anything yet, oldest first, and their sources"""
        self.measuring = False
        """whether a client is being served"""
        self._cell: _Cell | None = None

    async def __aenter__(self) -> Self:
        """Begins to listen. Raises ProbeError where it cannot."""
        self._listen(None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await _end(*self._greetings)
        self._deafen()

    def _listen(self, buffer: int | None) -> None:
        """Listens anew: a listener whose buffer was set once cannot let the kernel adapt it again."""
        if self._listener is not None:
            self._accept(self._listener)  # the kernel resets connections that wait when their listener closes
        self._deafen()
        self._listener = listen(self.options.host, self.port, buffer)
        self.port = self._listener.getsockname()[1]
        self._hear(self._listener)

    def _hear(self, listener: socket.socket) -> None:
        if listener is self._listener:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _deafen(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def _accept(self, listener: socket.socket) -> None:
        """Greets the connections that wait."""
        loop = asyncio.get_running_loop()
        for _ in range(BACKLOG + 1):
            try:
                sock, address = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:  # e.g. no descriptor is left
                log.warning("not accepted reason=%s", reason(error))
                loop.remove_reader(listener)
                loop.call_later(self.options.answer_s, self._hear, listener)
                return
            if len(self._silent) >= self.options.pending and (oldest := gives_way(self._silent)):
                del self._silent[oldest]
                oldest.cancel()
            sock.setblocking(False)
            task = asyncio.create_task(self._greet(sock, str(address[0])))
            self._greetings.add(task)
            self._silent[task] = str(address[0])
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._greetings.discard(task)
        self._silent.pop(task, None)

    def _has_proved(self) -> None:
        """The connection of this task gives way to nobody any more."""
        if (task := asyncio.current_task()) is not None:
            self._silent.pop(task, None)

    async def _greet(self, sock: socket.socket, peer: str) -> None:
        """Reads the purpose of a connection. One that carries data is left open for the cell."""
        kept = False
        try:
            async with asyncio.timeout(self.options.answer_s):
                hello = await _first_line(sock)
            if "data" in hello:
                kept = self._take(sock, wire.word(hello, "data"))
            else:
                await self._session(sock, peer, hello)
        except (ProbeError, OSError, TimeoutError) as error:
            log.info("ended peer=%s reason=%s", peer, error or type(error).__name__)
        finally:
            if not kept:
                sock.close()

    def _take(self, sock: socket.socket, ticket: str) -> bool:
        """Whether the connection belongs to the cell that is measured."""
        cell = self._cell
        if cell is None or len(cell.sockets) == cell.wanted:
            return False
        if not hmac.compare_digest(ticket.encode(), cell.ticket.encode()):
            return False
        cell.sockets.append(sock)
        if len(cell.sockets) == cell.wanted:
            cell.complete.set()
        return True

    async def _session(self, sock: socket.socket, peer: str, hello: dict[str, Any]) -> None:
        reader, writer = await asyncio.open_connection(sock=sock, limit=wire.LONGEST_LINE)
        try:
            async with asyncio.timeout(self.options.answer_s):
                refusal, ticket = await self._admit(reader, writer, hello)
            if refusal:
                log.info("refused peer=%s reason=%s", peer, refusal)
                writer.write(wire.encode({"refused": refusal}))
                return
            try:
                self._has_proved()
                self.measuring = True
                async with asyncio.timeout(self.options.session_s):
                    await self._serve(reader, writer, ticket, peer)
            finally:
                self.measuring = False
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _admit(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hello: dict[str, Any]
    ) -> tuple[str, str]:
        """Reason to refuse the client, if there is one, and its connections' ticket. Raises LineError."""
        if hello.get("groupflow_probe") != wire.VERSION:
            return "version", ""
        client, server = wire.word(hello, "nonce"), wire.nonce()
        writer.write(wire.encode({"groupflow_probe": wire.VERSION, "nonce": server}))
        answer = await wire.read(reader) or {}
        token = self.options.token
        if not wire.proves(answer.get("proof"), token, "client", client, server):
            return "token", ""
        if self.measuring:
            return "busy", ""
        ticket = wire.nonce()
        writer.write(wire.encode({"proof": wire.proof(token, "server", client, server), "ticket": ticket}))
        return "", ticket

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ticket: str, peer: str
    ) -> None:
        log.info("measuring peer=%s", peer)
        while True:
            async with asyncio.timeout(self.options.answer_s + MOST_CELL_S):
                request = await wire.read(reader)
            if request is None:
                log.info("done peer=%s", peer)
                return
            if "limits" in request:
                writer.write(wire.encode({"granted": granted(socket.SO_RCVBUF, _buffers(request))}))
            else:
                writer.write(wire.encode(await self._measure(writer, ticket, request)))

    async def _measure(
        self, writer: asyncio.StreamWriter, ticket: str, request: dict[str, Any]
    ) -> dict[str, Any]:
        """Measures one cell. Raises LineError, ProbeError, TimeoutError."""
        buffer = None if request.get("buffer") is None else _bytes(request["buffer"])
        wanted = int(wire.number(request, "connections", 1, MOST_CONNECTIONS))
        warm_up = wire.number(request, "warm_up", 0, MOST_CELL_S)
        seconds = wire.number(request, "seconds", LEAST_CELL_S / 2, MOST_CELL_S)
        cell = self._cell = _Cell(ticket, wanted)
        self._listen(buffer)
        try:
            writer.write(wire.encode({"ready": True}))
            async with asyncio.timeout(self.options.answer_s):
                await cell.complete.wait()
            return await _count(cell.sockets, warm_up, seconds)
        finally:
            self._cell = None
            for sock in cell.sockets:
                reset(sock)


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _count(sockets: list[socket.socket], warm_up: float, seconds: float) -> dict[str, Any]:
    """Bytes that come over all connections, from the end of the warm-up on, and their time."""
    taken = [0] * len(sockets)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_drain(sock, taken, place)) for place, sock in enumerate(sockets)]
            await asyncio.sleep(warm_up)
            begin, before, busy = time.monotonic(), sum(taken), time.process_time()
            await asyncio.sleep(seconds)
            end, after, busy = time.monotonic(), sum(taken), time.process_time() - busy
            for task in tasks:
                task.cancel()
    except ExceptionGroup:
        raise ProbeError("a connection ended before all was measured") from None
    return {"bytes": after - before, "seconds": end - begin, "busy": busy / (end - begin)}


async def _drain(sock: socket.socket, taken: list[int], place: int) -> None:
    loop = asyncio.get_running_loop()
    room = bytearray(CHUNK)
    while count := await loop.sock_recv_into(sock, room):
        taken[place] += count
        await asyncio.sleep(0)  # a fast sender does not keep the others waiting
    raise ProbeError("a connection ended before all was measured")


async def _first_line(sock: socket.socket) -> dict[str, Any]:
    """The first line of a connection. Bytes that follow are not counted. Raises LineError, OSError."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=wire.LONGEST_LINE)
    said = b""
    while b"\n" not in said:
        more = await loop.sock_recv(sock, wire.LONGEST_LINE - len(said))
        if not more:
            raise wire.LineError("nothing, or a line that is too long")
        said += more
    reader.feed_data(said[: said.index(b"\n") + 1])
    return await wire.read(reader) or {}


def _buffers(request: dict[str, Any]) -> list[int]:
    buffers: Any = request["limits"]
    if not isinstance(buffers, list) or len(buffers) > MOST_CONNECTIONS:  # pyright: ignore[reportUnknownArgumentType]
        raise wire.LineError("limits: not a list of buffers")
    return [_bytes(buffer) for buffer in buffers]  # pyright: ignore[reportUnknownVariableType]


def _bytes(value: Any) -> int:
    return int(wire.number({"buffer": value}, "buffer", LEAST_BUFFER, MOST_BUFFER))
