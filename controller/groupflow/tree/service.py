"""The dispatchers' service: hosts connect, and are told where they belong.

A line is a JSON object. The first of a host is `{"hello": {"join": …, "key": …, "source": bool}}`; it is
answered `{"welcome": {"root": …, "identity": …, "patience_ms": …}}` as soon as there is a source. Then both
say `{"cluster": …, "joins": …, "say": …, "what": …}`: messages between a host and a cluster's dispatcher
(dataplane/protocol/src/tree/message.rs). `joins` is how often the host has joined a cluster: what it is told
after another number counts no more. The source is told how many hosts are in the tree: `{"hosts": …}`.
`{"refused": {"code": …, "text": …}}` is the last line. Who is no host begins with `{"ask": …}` instead
(groupflow.tree.answers).
"""

import asyncio
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, cast

from groupflow.store.interface import Store
from groupflow.tree.answers import Answers
from groupflow.tree.errors import TreeError
from groupflow.tree.forest import Forest, Told
from groupflow.tree.options import DispatchOptions

log = logging.getLogger(__name__)

_LINE = 64 << 10
"""bytes of a line at most"""
_UNREAD = 1 << 20
"""bytes that a host has not read: with more, it is let go"""
_HELLO_SECONDS = 10.0
_LAST_SECONDS = 1.0
_EVENTS = 1024


@dataclass(eq=False)
class _Host:
    """A connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    name: str = ""
    cluster: str = ""
    """whose dispatcher it spoke to last"""
    joins: int = 0
    """as it said last"""
    over: bool = False
    counted: int | None = None
    """hosts in the tree, as it was told"""

    @property
    def address(self) -> str:
        """It comes from there."""
        return str(self.writer.get_extra_info("peername")[0])

    def say(self, line: dict[str, Any]) -> None:
        if self.writer.transport.get_write_buffer_size() > _UNREAD:
            log.warning("host=%s reads nothing: it is let go", self.name)
            self.writer.transport.abort()
        elif not self.writer.is_closing():
            self.writer.write(json.dumps(line).encode() + b"\n")

    def refuse(self, code: str, text: str) -> None:
        """The last word; what it says besides is not heard. It is given time to read that and to close."""
        if not self.over:
            self.over = True
            self.say({"refused": {"code": code, "text": text}})
            asyncio.get_running_loop().call_later(_LAST_SECONDS, self.writer.close)


class Dispatch:
    """`async with` serves one tree. Raises TreeError, StoreError, ValueError."""

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
        self._hosts: dict[str, _Host] = {}
        self._open: set[_Host] = set()
        self._events: asyncio.Queue[Callable[[], Told]] = asyncio.Queue(_EVENTS)
        self._answers = Answers(options, lambda: self.forest)
        self._begun = asyncio.Event()
        self._closing = False
        self._tasks: asyncio.TaskGroup
        self._running: set[asyncio.Task[None]] = set()
        self.forest: Forest

    async def __aenter__(self) -> Self:
        self.forest = await Forest.open(self._store, self.options, time.monotonic_ns)
        if self.forest.root:
            self._begun.set()
        identity = self.forest.identity
        host, port = self.options.listen
        try:
            self._server = await asyncio.start_server(
                self._accept, host, port, limit=_LINE, ssl=identity.context() if identity else None
            )
        except OSError as error:
            # asyncio's own text names the address again.
            reason = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
            raise TreeError(
                f"cannot listen at {host}:{port}: {reason}; choose another with --listen"
            ) from None
        self._tasks = asyncio.TaskGroup()
        await self._tasks.__aenter__()
        self._run(self._work())
        if self.forest.source:
            self._run(self._await_source())
        self._on_event(
            "ready", {"addr": host, "port": self.port, "tls_pin": identity.pin if identity else None}
        )
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
        """Where it listens."""
        return self._server.sockets[0].getsockname()[1]

    @property
    def connected(self) -> int:
        """Hosts that have a connection."""
        return len(self._hosts)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._run(self._connected(_Host(reader, writer)))

    async def _connected(self, host: _Host) -> None:
        if len(self._open) >= self.options.max_hosts:
            return host.refuse("full", f"{len(self._open)} hosts are connected, as many as may")
        self._open.add(host)
        try:
            await self._serve(host)
        except (OSError, asyncio.IncompleteReadError) as error:
            log.debug("host=%s lost: %s", host.name, error)
        except (ValueError, KeyError, TypeError) as error:
            text = f"a line makes no sense: {error}".replace("\n", " ")
            self._on_event("refused", {"host": host.name, "text": text})
            host.refuse("bad_message", text)
        finally:
            self._open.discard(host)
            if not host.over or self._closing:
                host.writer.close()
            if self._hosts.get(host.name) is host:
                del self._hosts[host.name]
                if not self._closing:
                    await self._part(host)

    async def _serve(self, host: _Host) -> None:
        async with asyncio.timeout(_HELLO_SECONDS):
            form = await _line(host.reader)
        if form is not None and "ask" in form:
            await self._answer(host, form["ask"])
            return
        if form is None or not self._greet(host, form["hello"]):
            return
        await self._begun.wait()
        identity = self.forest.identity
        shared = identity and {"certificate": identity.certificate, "key": identity.key}
        host.say(
            {
                "welcome": {
                    "root": self.forest.root,
                    "identity": shared,
                    "patience_ms": round(self.options.patience * 1000),
                }
            }
        )
        while (form := await _line(host.reader)) is not None:
            if host.over:
                continue
            if form.get("say") == "backlog":
                self._answers.report(str(form["what"]["child"]))
            cluster, joins = str(form.pop("cluster")), int(form.pop("joins"))
            await self._tell(host, cluster, joins, json.dumps(form))

    async def _answer(self, asker: _Host, ask: dict[str, Any]) -> None:
        if self._is_token(ask["token"]):
            await self._answers.answer(asker, ask)
        else:
            asker.refuse("wrong_token", "the token is another one")

    def _is_token(self, given: object) -> bool:
        return secrets.compare_digest(str(given).lower().encode(), self.options.token.lower().encode())

    def _greet(self, host: _Host, hello: dict[str, Any]) -> bool:
        """Whether the host may be here."""
        join, key = hello["join"], str(hello["key"])
        name = str(join["peer"]["host"])
        if not self._is_token(join["token"]):
            host.refuse("wrong_token", "the token is another one")
        elif not self.forest.knows(name, key):
            host.refuse("wrong_key", f"another has the name {name}")
        elif hello["source"] and self.forest.source not in (None, name):
            host.refuse("has_source", f"the tree {self.options.name} has a source: {self.forest.source}")
        else:
            host.name = name
            former = self._hosts.pop(name, None)
            if former is not None:
                former.writer.transport.abort()
            self._hosts[name] = host
            if hello["source"] and self.forest.source is None:
                self.forest.begin(join)
                self._begun.set()
                self._events.put_nowait(list)  # to be stored
            host.cluster = self.forest.root or ""
            self._on_event("connected", {"host": name, "source": bool(hello["source"])})
            return True
        self._on_event("refused", {"host": name, "text": "not let in"})
        return False

    async def _tell(self, host: _Host, cluster: str, joins: int, message: str) -> None:
        def event() -> Told:
            try:
                told = self.forest.hear(cluster, host.name, message)
                host.cluster, host.joins = cluster, joins
                return told
            except ValueError as error:
                host.refuse("bad_message", f"a line makes no sense: {error}")
                return []

        await self._events.put(event)

    async def _part(self, host: _Host) -> None:
        """A host's connection is lost. The source is given time to come back: without it there is no tree."""
        self._on_event("gone", {"host": host.name})
        if host.name == self.forest.source:
            self._run(self._await_source())
        elif host.cluster:
            await self._events.put(lambda: self.forest.lose(host.cluster, host.name))

    async def _await_source(self) -> None:
        await asyncio.sleep(self.options.patience)
        source, root = self.forest.source, self.forest.root
        if source is not None and root is not None and source not in self._hosts:
            await self._events.put(lambda: self.forest.lose(root, source))

    async def _work(self) -> None:
        """Carries out what happened, in order; what comes of it is stored, and then told."""
        while True:
            lines: list[tuple[_Host, dict[str, Any]]] = []
            with suppress(TimeoutError):
                async with asyncio.timeout(self.forest.pause()):
                    event = await self._events.get()
                lines += self._addressed(event())
            while not self._events.empty():
                lines += self._addressed(self._events.get_nowait()())
            lines += self._addressed(self.forest.tick())
            await self.forest.save()
            for host, line in lines:
                host.say(line)
            self._tell_source()
            if self.forest.has_ended:
                await self._end()

    def _tell_source(self) -> None:
        """How many hosts are in the tree, when that has changed."""
        source = self._hosts.get(self.forest.source or "")
        if source is not None and source.counted != self.forest.attached:
            source.counted = self.forest.attached
            source.say({"hosts": source.counted})

    def _addressed(self, told: Told) -> list[tuple[_Host, dict[str, Any]]]:
        """Which lines go to whom, of those that are connected. To be called before anything else happens."""
        known = [
            (self._hosts[name], cluster, message) for cluster, name, message in told if name in self._hosts
        ]
        return [
            (host, {"cluster": cluster, "joins": host.joins, **json.loads(message)})
            for host, cluster, message in known
        ]

    async def _end(self) -> None:
        """The source has left."""
        self._on_event("ended", {"source": self.forest.source})
        self._begun.clear()
        await self.forest.clear()
        for host in tuple(self._hosts.values()):
            host.refuse("ended", "the source has left")


async def _line(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next; None: there is none. Raises ValueError."""
    try:
        line = await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise ValueError(f"longer than {_LINE} bytes") from None
    form = json.loads(line)
    if not isinstance(form, dict):
        raise ValueError("no object")
    return cast("dict[str, Any]", form)
