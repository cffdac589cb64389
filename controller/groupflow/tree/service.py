"""The dispatchers' service: hosts connect, and are told their place in the tree."""

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias

from groupflow._native import ToHost
from groupflow.agents.controller_link import Standing
from groupflow.store.interface import Store
from groupflow.tree.connection import (
    HELLO_SECONDS,
    NONSENSE,
    Connection,
    address_of,
    gives_way,
    host_name,
    listen,
)
from groupflow.tree.forest import Forest
from groupflow.tree.options import DispatchOptions, check_time

log = logging.getLogger(__name__)

MOST_HOSTS = 4096
"""connections, where no controller sets another bound"""
_FORGETS_EVERY = 600.0
_ENDED = "the tree that it was in has ended"
_LOOKS_EVERY = 0.25
"""seconds between two looks for the source"""
_WAITING = 1024
"""events that wait to be carried out; who adds another one waits"""

Event: TypeAlias = Callable[[], list[ToHost]]
"""carries out the event, and returns the messages that follow"""


class Dispatch:
    """`async with` serves one tree, as the only process.

    Raises TreeError, StoreError, ValueError.
    """

    def __init__(
        self,
        options: DispatchOptions,
        store: Store,
        *,
        on_event: Callable[[str, dict[str, Any]], None] = lambda _name, _fields: None,
    ) -> None:
        self.options = options
        self._store = store
        self._on_event = on_event
        self._max_hosts = MOST_HOSTS
        self._hosts: dict[str, Connection] = {}
        self._open: set[Connection] = set()
        self._silent: dict[Connection, str] = {}
        """those that have not shown the token yet, oldest first, and their sources"""
        self._events: asyncio.Queue[Event] = asyncio.Queue(_WAITING)
        self._turn = asyncio.Lock()
        """held by the one that uses the forest"""
        self._begun = asyncio.Event()
        self._source_seen: str | None = None
        """the root of the tree whose source this process has seen"""
        self._absent_since: float | None = None
        """time since when the source is away"""
        self._alive_every = max(0.001, min(options.patience / 6, 1.0))
        """seconds between two signs of life; hosts that miss four come back before their patience is over"""
        self._signed = 0.0
        """time when hosts were last told that this process is alive"""
        self._signed_late = False
        """one of the signs since the last step came too late"""
        self._closing = False
        self._tasks: asyncio.TaskGroup
        self._running: set[asyncio.Task[None]] = set()
        self.forest: Forest

    async def __aenter__(self) -> Self:
        self.forest = await Forest.open(self._store, self.options, time.monotonic_ns)
        identity = self.forest.identity
        self._server = await listen(self.options.listen, self._accept, identity and identity.context())
        self._tasks = asyncio.TaskGroup()
        await self._tasks.__aenter__()
        await self.forest.enter()
        self._watch_hosts()
        self._run(self._work())
        self._run(self._watch())
        self._run(self._send_alive())
        self._run(self._forget_hosts())
        pin = identity.pin if identity else None
        self._on_event("ready", {"addr": self.options.listen[0], "port": self.port, "tls_pin": pin})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._server.close()
        for task in self._running:
            task.cancel()
        await self._tasks.__aexit__(kind, error, trace)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    @property
    def port(self) -> int:
        """The port at which it listens."""
        return address_of(self._server)[1]

    @property
    def connected(self) -> int:
        """Number of hosts that have a connection."""
        return len(self._hosts)

    def standing(self) -> Standing:
        """This process for a controller: the connected hosts, and the hosts of the tree."""
        holds = {"hosts": self.connected, "members": self.forest.attached}
        return Standing(f"{self.options.listen[0]}:{self.port}", holds, self._max_hosts)

    def bound(self, max_hosts: int | None) -> None:
        """Sets the most connections from now on, of hosts that come; None: as without a controller."""
        self._max_hosts = max_hosts or MOST_HOSTS

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closing:
            writer.transport.abort()
        else:
            self._run(self._connected(Connection(reader, writer)))

    async def _connected(self, host: Connection) -> None:
        if len(self._open) >= self._max_hosts and (stranger := gives_way(self._silent)):
            self._forget(stranger)
            stranger.writer.transport.abort()
        if len(self._open) >= self._max_hosts:
            return host.refuse("full", f"{len(self._open)} hosts are connected, the most allowed")
        self._open.add(host)
        self._silent[host] = str(host.writer.get_extra_info("peername")[0])
        try:
            await self._serve(host)
        except (OSError, asyncio.IncompleteReadError) as error:
            log.debug("host=%s lost: %s", host.name, error)
        except NONSENSE as error:
            self._refuse_line(host, error)
        finally:
            self._forget(host)
            if not host.is_refused or self._closing:
                host.writer.close()
            if self._hosts.get(host.name) is host:
                del self._hosts[host.name]
                if not self._closing:
                    self._on_event("gone", {"host": host.name})
                    await self._events.put(partial(self._lose, host, self.forest.process))

    def _refuse_line(self, host: Connection, error: Exception) -> None:
        # The error may quote what the host wrote.
        text = "".join(sign for sign in f"a line makes no sense: {error}" if sign.isprintable())[:200]
        self._on_event("refused", {"host": host.name, "text": text})
        host.refuse("bad_message", text)

    def _forget(self, host: Connection) -> None:
        self._open.discard(host)
        self._silent.pop(host, None)

    async def _serve(self, host: Connection) -> None:
        async with asyncio.timeout(HELLO_SECONDS):
            line = await host.line()
        if line is None:
            return
        form: Any = json.loads(line)
        if "ask" in form:
            self._answer(host, form["ask"])
            return
        hello = form["hello"]
        if not await self._greet(host, hello):
            return
        await self._begun.wait()
        if hello.get("root") not in (None, self.forest.root):
            host.refuse("ended", _ENDED)  # the tree ended since the host was greeted
            return
        self._welcome(host)
        while (line := await host.line()) is not None:
            if not host.is_refused:
                await self._events.put(partial(self._hear, host, line))

    def _answer(self, asker: Connection, ask: dict[str, Any]) -> None:
        if not self._is_token(ask["token"]):
            asker.refuse("wrong_token", "the token is wrong")
            return
        if ask["what"] != "hosts":
            raise ValueError(f"what: {ask['what']!s:.40}: it is hosts")
        tree = {"source": self.forest.source, "root": self.forest.root, "bound_ms": self.forest.delay_ms}
        asker.send({"tree": tree | {"hosts": self.forest.hosts()}})

    def _is_token(self, given: object) -> bool:
        return secrets.compare_digest(str(given).lower().encode(), self.options.token.lower().encode())

    async def _greet(self, host: Connection, hello: dict[str, Any]) -> bool:
        """Whether the host is admitted."""
        join, key = hello["join"], str(hello["key"])
        name = host_name(join["peer"]["host"])
        if not self._is_token(join["token"]):
            host.refuse("wrong_token", "the token is wrong")
        elif not await self.forest.knows(name, key):
            host.refuse("wrong_key", f"another host has the name {name}")
        elif hello.get("root") not in (None, self.forest.root):
            host.refuse("no_tree" if hello["source"] else "ended", _ENDED)
        elif hello["source"] and (source := await self._begin(join, hello)) != name:
            host.refuse("has_source", f"the tree {self.options.name} has a source: {source}")
        else:
            self._silent.pop(host, None)
            host.name = name
            former = self._hosts.pop(name, None)
            if former is not None:
                former.writer.transport.abort()
            self._hosts[name] = host
            host.cluster = self.forest.root or ""
            self._on_event("connected", {"host": name, "source": bool(hello["source"])})
            return True
        self._on_event("refused", {"host": name, "text": "not let in"})
        return False

    async def _begin(self, join: dict[str, Any], hello: dict[str, Any]) -> str | None:
        """The name of the tree's source: the joining host, if there was no source. Raises ValueError for
        a bound that is no time."""
        delay_ms = hello.get("delay_ms")
        bound = None if delay_ms is None else float(str(delay_ms))
        check_time("--delay", bound)
        async with self._turn:
            if self.forest.source is None:
                await self.forest.begin(join, bound, waits=hello.get("waits") is True)
                self._begun.set()
            return self.forest.source

    def _welcome(self, host: Connection) -> None:
        identity = self.forest.identity and asdict(self.forest.identity)
        alive_ms = round(self._alive_every * 1000)
        host.send({"welcome": {"root": self.forest.root, "identity": identity, "alive_ms": alive_ms}})
        host.welcome = True
        self._send_members()

    def _hear(self, host: Connection, line: bytes) -> list[ToHost]:
        if host.dropped or host.is_refused:
            return []
        try:
            host.cluster, host.joins, messages = self.forest.hear(host.name, line)
        except ValueError as error:
            self._refuse_line(host, error)
            return []
        return messages

    def _lose(self, host: Connection, process: str) -> list[ToHost]:
        """Handles a host's lost connection. A source has time to come back: without it there is no tree. A
        process that has begun again gives all hosts time to come back."""
        here = not host.dropped and process == self.forest.process
        # A host that was greeted before there was a source is in no cluster yet.
        counts = here and host.cluster and host.name != self.forest.source
        return self.forest.lose(host.cluster, host.name) if counts else []

    async def _work(self) -> None:
        """Carries out events, in order, and the timers that are due."""
        while True:
            batch: list[Event] = []
            with suppress(TimeoutError):
                async with asyncio.timeout(self.forest.pause()):
                    batch.append(await self._events.get())
            while not self._events.empty():
                batch.append(self._events.get_nowait())
            async with self._turn:
                if self._stood_still():
                    self._on_event("stood_still", {})
                    await self._begin_again()
                await self._carry_out(batch)

    async def _begin_again(self) -> None:
        """Begins again from the store. All hosts have time to come back."""
        await self.forest.enter(again=True)
        self._watch_hosts()
        for host in tuple(self._open):
            host.dropped = True
            host.writer.transport.abort()

    def _watch_hosts(self) -> None:
        self._source_seen = self._absent_since = None
        self._signed, self._signed_late = time.monotonic(), False
        if self.forest.root:
            self._begun.set()

    async def _carry_out(self, batch: list[Event]) -> None:
        """Carries out events, stores the result, and then sends the messages that follow."""
        lines: list[tuple[Connection, str]] = []
        for event in batch:
            lines += self._addressed(event())
        lines += self._addressed(self.forest.tick())
        has_ended = self.forest.has_ended
        await self.forest.save()
        for host, line in lines:
            host.write(line)
        self._send_members()
        if has_ended:
            self._end()
        if self.forest.root:
            self._begun.set()

    def _addressed(self, messages: list[ToHost]) -> list[tuple[Connection, str]]:
        """The lines to hosts that are connected. To be called before the next event."""
        return [
            (host, message.line(host.joins))
            for message in messages
            if (host := self._hosts.get(message.host)) is not None and host.welcome
        ]

    async def _send_alive(self) -> None:
        """Gives signs of life, until cancelled."""
        while True:
            await asyncio.sleep(self._alive_every)
            self._signed_late |= self._is_late()
            self._signed = time.monotonic()
            for host in tuple(self._hosts.values()):
                host.send({"alive": True})

    def _is_late(self) -> bool:
        return time.monotonic() > self._signed + max(4 * self._alive_every, 1.0)

    def _stood_still(self) -> bool:
        """Whether this process sent no sign of life for so long that hosts connect again. Their silence
        meanwhile does not count against them."""
        was_late, self._signed_late = self._signed_late, False
        return was_late or self._is_late()

    def _send_members(self) -> None:
        """Tells the source after a change how many hosts are in the tree, and which lack bytes."""
        source = self._hosts.get(self.forest.source or "")
        if source is not None and source.welcome and source.members != (line := self.forest.members()):
            source.members = line
            source.write(line)

    async def _watch(self) -> None:
        """Looks for the source repeatedly: without one there is no tree."""
        while True:
            await asyncio.sleep(min(_LOOKS_EVERY, self.options.patience / 4))
            await self._events.put(self._look)

    def _look(self) -> list[ToHost]:
        """Ends a tree whose source has been away for too long. A source that this process never saw has twice
        the time: it has to notice that the former process is gone."""
        source, root = self.forest.source, self.forest.root
        if source is None or root is None or source in self._hosts:
            self._source_seen, self._absent_since = root, None
            return []
        now = time.monotonic()
        self._absent_since = self._absent_since or now
        patience = self.options.patience * (1 if self._source_seen == root else 2)
        return self.forest.lose(root, source) if now >= self._absent_since + patience else []

    async def _forget_hosts(self) -> None:
        while True:
            await asyncio.sleep(_FORGETS_EVERY)
            async with self._turn:
                await self.forest.forget_hosts()

    def _end(self) -> None:
        """Ends the tree, because the source has left."""
        self._on_event("ended", {})
        self._begun.clear()
        for host in tuple(self._hosts.values()):
            if host.welcome:
                host.refuse("ended", "the source has left")
