"""One switch, kept as desired: connects for ever, reconciles, then pushes each change as it comes."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias, cast

from finsy import P4ClientError
from finsy.proto import p4r

from groupflow._native import build_reset, parse_control
from groupflow.errors import UnavailableError
from groupflow.p4rt.connection import (
    Connection,
    ConnectionFailedError,
    PacketIn,
    PacketOut,
    TakenError,
    describe,
)
from groupflow.p4rt.entries import Change, Entries, Key
from groupflow.p4rt.reconcile import DesiredState, Reset, plan

log = logging.getLogger(__name__)

State: TypeAlias = Literal["down", "syncing", "up"]

FIRST_BACKOFF_SECONDS = 0.1
LAST_BACKOFF_SECONDS = 1.0
_GONE_SECONDS = 0.4
"""a former controller's connection may outlive it this long"""

PACKET_QUEUE = 16384
"""Most packets waiting in each direction."""

PUNT_CONTROL = 1
PUNT_RESET = 2
PUNT_PROBE = 3

RESETS_AT_ONCE = 64
"""Most RESETs on the way: far below a switch's queue towards its controller, so that none is lost."""
RESET_TIMEOUT_SECONDS = 0.1
RESET_TRIES = 20


class ApplyError(UnavailableError):
    """The switch refused an entry that a request waits for. The text is one line."""


class Device:
    """The task and the state of one switch."""

    def __init__(
        self,
        name: str,
        connect: Callable[[], Awaitable[Connection]],
        *,
        on_packet: Callable[[str, int, bytes], None],
        on_state: Callable[[str, State], None],
        on_probe: Callable[[bytes], None],
    ) -> None:
        self.name = name
        self.desired = DesiredState()
        self.state: State = "down"
        self.problem = "not connected yet"
        """why the switch is not up, in one line"""
        self.held = False
        """whether this controller was ever primary"""
        self.packets_dropped = 0
        self._connect = connect
        self._connection: Connection | None = None
        self._on_packet = on_packet
        self._on_state = on_state
        self._on_probe = on_probe
        self._installed: Entries = {}
        self._refused: dict[Key, str] = {}
        self._applied = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        """futures, each with the generation that it waits for, in that order"""
        self._outbox: asyncio.Queue[PacketOut] = asyncio.Queue(PACKET_QUEUE)
        self._inbox: asyncio.Queue[PacketIn] = asyncio.Queue(PACKET_QUEUE)
        self._resets: dict[Reset, asyncio.Future[None]] = {}

    async def run(self) -> None:
        """Serves the switch until cancelled, through any number of connections.

        Raises TakenError when another controller has the switch from the start; later it waits for its turn.
        """
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            try:
                self._connection = await self._connect()
                self.held = True
                backoff = FIRST_BACKOFF_SECONDS
                await self._serve(self._connection)
            except* TakenError as errors:
                self.problem = _first_line(errors)
                if not self.held and backoff > _GONE_SECONDS:
                    raise TakenError(f"switch {self.name}: {self.problem}") from None
            except* (UnavailableError, P4ClientError, OSError) as errors:
                problem = _first_line(errors)
                if problem != self.problem:
                    log.warning("switch=%s state=down problem=%r", self.name, problem)
                self.problem = problem
            except* Exception as errors:
                log.exception("switch=%s state=down: unexpected failure", self.name)
                self.problem = _first_line(errors)
            finally:
                await self._disconnected()
            await asyncio.sleep(backoff)
            backoff = min(2 * backoff, LAST_BACKOFF_SECONDS)

    @property
    def has_traffic_manager(self) -> bool:
        """Whether queues and packet generators can be set; a switch that is down counts as one with them."""
        return self._connection is None or self._connection.has_traffic_manager

    def send(self, port: int, frame: bytes) -> None:
        """Queues a frame for one port of the switch; while the switch is down the frame is lost."""
        self._enqueue(PacketOut(port, False, frame))

    async def settled(self, keys: Sequence[Key] = ()) -> None:
        """Waits until the switch holds the entries desired now, or is not connected.

        Raises ApplyError if it refused one of `keys`.
        """
        generation = self.desired.generation
        if self._applied < generation and self.state != "down":
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((generation, future))
            await future
        for key in keys:
            if key in self._refused:
                raise ApplyError(f"switch {self.name} refused {key}: {self._refused[key]}")

    async def query(self, entities: Sequence[p4r.Entity]) -> list[p4r.Entity]:
        """Reads entities from the switch. Raises ConnectionFailedError."""
        if self._connection is None or self.state == "down":
            raise ConnectionFailedError(f"switch {self.name} is down: {self.problem}")
        try:
            return await self._connection.query(entities)
        except P4ClientError as error:
            raise ConnectionFailedError(f"switch {self.name}: {describe(error)}") from None

    async def _serve(self, connection: Connection) -> None:
        self._applied = -1
        self._become("syncing")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._receive(connection))
            tasks.create_task(self._transmit(connection))
            tasks.create_task(self._handle_packets())
            await self._synchronise(connection)

    async def _receive(self, connection: Connection) -> None:
        async for packet in connection.packets():
            if packet.reason == PUNT_RESET:
                self._reset_done(packet.frame)
                continue
            if packet.reason == PUNT_PROBE:
                self._on_probe(packet.frame)
                continue
            try:
                self._inbox.put_nowait(packet)
            except asyncio.QueueFull:
                self._count_drop("packet-in")
        raise ConnectionFailedError("the switch closed the stream")

    async def _handle_packets(self) -> None:
        while True:
            packet = await self._inbox.get()
            try:
                self._on_packet(self.name, packet.port, packet.frame)
            except Exception:
                # No single message, however malformed, may end the service of a switch.
                log.exception("switch=%s port=%d: packet-in failed", self.name, packet.port)

    async def _transmit(self, connection: Connection) -> None:
        while True:
            await connection.send(await self._outbox.get())

    async def _synchronise(self, connection: Connection) -> None:
        self._installed = await connection.read()
        self.desired.mark({*self._installed, *self.desired.entries})
        while True:
            generation = self.desired.generation
            keys = self.desired.take_changes()
            if keys:
                await self._apply(connection, keys)
            self._applied = generation
            self._release(generation)
            if self.state == "syncing":
                log.info("switch=%s state=up entries=%d", self.name, len(self._installed))
                self._become("up")
            await self.desired.changed.wait()

    def _release(self, generation: int) -> None:
        """Resolves the futures that wait for a generation up to this."""
        while self._waiting and self._waiting[0][0] <= generation:
            future = self._waiting.popleft()[1]
            if not future.done():
                future.set_result(None)

    async def _apply(self, connection: Connection, keys: set[Key]) -> None:
        steps = plan(self._installed, self.desired.entries, keys)
        for key in keys:
            self._refused.pop(key, None)
        await self._write(connection, steps.first)
        await self._reset(steps.resets)
        await self._write(connection, steps.then)

    async def _write(self, connection: Connection, changes: Sequence[Change]) -> None:
        if not changes:
            return
        refused = await connection.write(changes)
        for change in changes:
            if change.key in refused:
                self._refused[change.key] = refused[change.key]
                log.error("switch=%s refused key=%s reason=%r", self.name, change.key, refused[change.key])
            elif change.value is None:
                self._installed.pop(change.key, None)
            else:
                self._installed[change.key] = change.value

    async def _reset(self, resets: Sequence[Reset]) -> None:
        for start in range(0, len(resets), RESETS_AT_ONCE):
            waiting: dict[Reset, asyncio.Future[None]] = {
                reset: asyncio.get_running_loop().create_future()
                for reset in resets[start : start + RESETS_AT_ONCE]
            }
            self._resets.update(waiting)
            try:
                await self._confirm(waiting)
            finally:
                for reset in waiting:
                    self._resets.pop(reset, None)

    async def _confirm(self, waiting: dict[Reset, asyncio.Future[None]]) -> None:
        """Sends RESETs until the pipeline has confirmed each."""
        for _ in range(RESET_TRIES):
            for reset in waiting:
                self._enqueue(PacketOut(0, True, build_reset(*reset)))
            await asyncio.wait(waiting.values(), timeout=RESET_TIMEOUT_SECONDS)
            waiting = {reset: future for reset, future in waiting.items() if not future.done()}
            if not waiting:
                return
        # A stream that the switch refused cannot be reset; its refusal is reported already.
        unconfirmed = [r for r in waiting if Key("streams", (r.session, r.source)) not in self._refused]
        if unconfirmed:
            raise ConnectionFailedError(f"the pipeline confirmed no reset of {unconfirmed[0]}")

    def _reset_done(self, frame: bytes) -> None:
        try:
            message = parse_control(frame)
        except ValueError as error:
            log.warning("switch=%s: bad reset confirmation: %s", self.name, error)
            return
        future = self._resets.get(Reset(message.session, message.source, message.member))
        if future is not None and not future.done():
            future.set_result(None)

    def _enqueue(self, packet: PacketOut) -> None:
        if self.state == "down":
            return
        try:
            self._outbox.put_nowait(packet)
        except asyncio.QueueFull:
            self._count_drop("packet-out")

    def _count_drop(self, what: str) -> None:
        self.packets_dropped += 1
        if self.packets_dropped & (self.packets_dropped - 1) == 0:  # 1, 2, 4, 8, ...: a flood logs little
            log.warning("switch=%s dropped=%s total=%d", self.name, what, self.packets_dropped)

    def _become(self, state: State) -> None:
        if state != self.state:
            self.state = state
            self._on_state(self.name, state)

    async def _disconnected(self) -> None:
        connection, self._connection = self._connection, None
        self._become("down")
        self._refused.clear()
        for queue in (self._inbox, self._outbox):
            while not queue.empty():
                queue.get_nowait()
        self._release(self.desired.generation)
        if connection is not None:
            await connection.close()


def _first_line(errors: BaseExceptionGroup[BaseException]) -> str:
    error = errors.exceptions[0]
    if isinstance(error, BaseExceptionGroup):
        return _first_line(cast(BaseExceptionGroup[BaseException], error))
    text = describe(error) if isinstance(error, P4ClientError) else str(error)
    return (text or type(error).__name__).splitlines()[0]
