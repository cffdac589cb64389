"""The dispatchers' service: hosts connect, and are told their place in the tree."""

import asyncio
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from groupflow.agents.controller_link import Standing
from groupflow.probe.sockets import gives_way
from groupflow.store.interface import Store
from groupflow.tree.absence import Absence
from groupflow.tree.answers import Answers
from groupflow.tree.connection import HELLO_SECONDS, NONSENSE, Connection, Line, address_of, host_name, listen
from groupflow.tree.forest import Forest, Told
from groupflow.tree.hosts import Hosts
from groupflow.tree.options import DispatchOptions, check_delay
from groupflow.tree.pulse import Pulse
from groupflow.tree.shares import SupersededError
from groupflow.tree.turns import Event, Turns

log = logging.getLogger(__name__)

_FORGETS_EVERY = 600.0
_ENDED = "the tree that it was in has ended"
_HELD = 16
"""most messages of a host that wait for another process"""


class Dispatch:
    """`async with` serves one tree, alone or with other processes that have the same store open.

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
        self._max_hosts = options.max_hosts
        self._hosts = Hosts()
        self._open: set[Connection] = set()
        self._silent: dict[Connection, str] = {}
        """those that have not shown the token yet, oldest first, and their sources"""
        self._turns = Turns()
        self._answers = Answers(options, lambda: self.forest)
        self._begun = asyncio.Event()
        self._absence = Absence(options.patience)
        self._pulse = Pulse(options.patience)
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
        await self._enter()
        self._run(self._work())
        self._run(self._look_again())
        self._run(self._pulse.beat(self._hosts.say_alive))
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
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            await self.forest.leave()

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
        """This process for a controller: the connected hosts, and the hosts of the whole tree."""
        holds = {"hosts": self.connected, "members": self.forest.attached}
        return Standing(f"{self.options.listen[0]}:{self.port}", holds, self._max_hosts)

    def bound(self, max_hosts: int | None) -> None:
        """Sets the most connections from now on, of hosts that come; None: that of the options."""
        self._max_hosts = max_hosts or self.options.max_hosts

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closing:
            writer.transport.abort()
        else:
            self._run(self._connected(Connection(reader, writer)))

    async def _connected(self, host: Connection) -> None:
        if len(self._open) >= self._max_hosts and (stranger := gives_way(self._silent)):
            self._part_with(stranger)
            stranger.writer.transport.abort()
        if len(self._open) >= self._max_hosts:
            return host.refuse("full", f"{len(self._open)} hosts are connected, the most allowed")
        self._open.add(host)
        self._silent[host] = host.address
        try:
            await self._serve(host)
        except (OSError, asyncio.IncompleteReadError) as error:
            log.debug("host=%s lost: %s", host.name, error)
        except NONSENSE as error:
            text = f"a line makes no sense: {error}".replace("\n", " ")
            self._on_event("refused", {"host": host.name, "text": text})
            host.refuse("bad_message", text)
        finally:
            self._part_with(host)
            if not host.over or self._closing:
                host.writer.close()
            if self._hosts.get(host.name) is host:
                del self._hosts[host.name]
                if not self._closing:
                    await self._part(host)

    def _part_with(self, host: Connection) -> None:
        self._open.discard(host)
        self._silent.pop(host, None)

    async def _serve(self, host: Connection) -> None:
        async with asyncio.timeout(HELLO_SECONDS):
            form = await host.line()
        if form is not None and "ask" in form:
            await self._answer(host, form["ask"])
            return
        if form is None or not await self._greet(host, form["hello"]):
            return
        await self._begun.wait()
        if form["hello"].get("root") not in (None, self.forest.root):
            host.refuse("ended", _ENDED)  # the tree ended since the host was greeted
            return
        self._welcome(host)
        while (form := await host.line()) is not None:
            if host.over:
                continue
            if form.get("say") == "backlog":
                self._answers.report(form["what"]["child"])
            cluster, joins = str(form.pop("cluster")), int(form.pop("joins"))
            await self._tell(host, Line(cluster, joins, form.get("say") == "alive", json.dumps(form)))

    async def _answer(self, asker: Connection, ask: dict[str, Any]) -> None:
        if self._is_token(ask["token"]):
            self._silent.pop(asker, None)
            await self._answers.answer(asker, ask)
        else:
            asker.refuse("wrong_token", "the token is wrong")

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
        elif not await self._is_in_tree(hello.get("root")):
            host.refuse("no_tree" if hello["source"] else "ended", _ENDED)
        elif hello["source"] and (source := await self._begin(join, hello.get("delay_ms"))) != name:
            host.refuse("has_source", f"the tree {self.options.name} has a source: {source}")
        else:
            host.greeted = time.monotonic()
            self._silent.pop(host, None)
            host.name, host.lost = name, self.forest.processes_at([str(at) for at in hello.get("lost", [])])
            former = self._hosts.pop(name, None)
            if former is not None:
                former.writer.transport.abort()
            self._hosts[name] = host
            host.cluster = self.forest.root or ""
            self._on_event("connected", {"host": name, "source": bool(hello["source"])})
            return True
        self._on_event("refused", {"host": name, "text": "not let in"})
        return False

    async def _is_in_tree(self, root: object) -> bool:
        """Whether the tree of this root still exists; also true for a host that was in no tree before."""

        async def work() -> tuple[bool, Told]:
            told = [] if root == self.forest.root else await self.forest.look()
            return root == self.forest.root, told

        return root is None or await self._turns.result(work)

    async def _begin(self, join: dict[str, Any], delay_ms: object) -> str | None:
        """The name of the tree's source: the joining host, if there was no source. Raises ValueError for a
        bound that is no time."""
        bound = None if delay_ms is None else float(str(delay_ms))
        check_delay(bound)

        async def work() -> tuple[str | None, Told]:
            told = await self.forest.look()
            if self.forest.source is None:
                await self.forest.begin(join, bound)
            if self.forest.source is None:
                told += await self.forest.look()  # another process was faster
            return self.forest.source, told

        return await self._turns.result(work)

    def _welcome(self, host: Connection) -> None:
        forest = self.forest
        shared = forest.identity and {"certificate": forest.identity.certificate, "key": forest.identity.key}
        welcome = {"root": forest.root, "identity": shared, "alive_ms": round(self._pulse.every * 1000)}
        host.say({"welcome": welcome | {"dispatchers": forest.addresses}})
        host.welcome, host.root = True, forest.root or ""
        self._hosts.tell_source(self.forest)

    async def _tell(self, host: Connection, line: Line) -> None:
        async def event() -> Told:
            return await self._hear(host, line)

        await self._turns.put(event)

    async def _hear(self, host: Connection, line: Line) -> Told:
        if host.dropped:
            return []
        cluster = line.cluster
        # The cluster may have been founded, or given to this process, just now.
        told = [] if self.forest.runs(cluster) else await self.forest.look()
        elsewhere = self.forest.elsewhere(cluster)
        if elsewhere is not None:
            host.cluster = ""
            process, address = elsewhere
            lives = self.forest.heard_of(process)
            if process in host.lost and host.may_wait(self.options.lease, lives):
                if len(host.held) < _HELD and not line.only_alive:
                    host.held.append(line)
            else:
                host.say({"elsewhere": {"at": address}})
                host.dropped = True  # its further messages go there
            return told
        try:
            told += self.forest.hear(cluster, host.name, line.message)
            host.cluster, host.joins = cluster, line.joins
        except ValueError as error:
            host.refuse("bad_message", f"a line makes no sense: {error}")
        return told

    async def _hear_held(self) -> Told:
        told: Told = []
        for host in [host for host in self._hosts.values() if host.held]:
            held, host.held = host.held, []
            for line in held:
                told += await self._hear(host, line)
        return told

    async def _part(self, host: Connection) -> None:
        """Handles a host's lost connection. A source has time to come back: without it there is no tree."""
        self._on_event("gone", {"host": host.name})
        process = self.forest.process

        async def event() -> Told:
            # Earlier messages may have shown that another process runs its cluster's dispatcher.
            here = host.cluster != "" and not host.dropped
            # A process that has begun again gives all hosts time to come back.
            counts = here and host.name != self.forest.source and process == self.forest.process
            return self.forest.lose(host.cluster, host.name) if counts else []

        await self._turns.put(event)

    async def _work(self) -> None:
        """Carries out events, in order."""
        batch: deque[Event] = deque()
        while True:
            try:
                # Events left by a superseded attempt come first: a caller may wait for them.
                if not batch:
                    batch += await self._turns.next(self.forest.pause())
                if self._pulse.stood_still():
                    self._on_event("stood_still", {})
                    await self._begin_again()
                await self._carry_out(batch)
            except SupersededError:
                self._on_event("superseded", {})
                await self._begin_again()

    async def _begin_again(self) -> None:
        """Begins again as a new process. The tree may have ended meanwhile, or be another one."""
        self._begun.clear()
        before = self.forest.root
        await self._enter()
        if self.forest.over or (before is not None and self.forest.root != before):
            self._end()
        else:
            for host in tuple(self._open):
                host.dropped = True
                host.writer.transport.abort()

    async def _enter(self) -> None:
        """Enters the tree. There are no messages to hosts, because no host is connected yet."""
        address, port = address_of(self._server)
        await self.forest.enter(f"{address}:{port}")
        self._pulse.begin()
        if self.forest.root:
            self._begun.set()

    async def _carry_out(self, batch: deque[Event]) -> None:
        """Carries out events, stores the result, and then sends the messages that follow."""
        lines: list[tuple[Connection, dict[str, Any]]] = []
        while batch:
            lines += self._hosts.addressed(await batch.popleft()())
        lines += self._hosts.addressed(self.forest.tick())
        lines += self._hosts.addressed(await self.forest.save())
        for host, line in lines:
            host.say(line)
        self._hosts.tell_source(self.forest)
        self._hosts.tell_addresses(self.forest.addresses)
        if self.forest.has_ended:
            await self.forest.clear()
        if self.forest.over:
            self._end()
        if self.forest.root:
            self._begun.set()

    async def _look_again(self) -> None:
        """Looks repeatedly at the other processes and the source, and reports this process as alive."""
        looked = asyncio.Event()

        async def event() -> Told:
            looked.set()
            told = await self.forest.look()
            told += await self._hear_held()
            return told + self._watch_source()

        while True:
            await asyncio.sleep(self.forest.pause_between_looks)
            looked.clear()
            await self._turns.put(event)
            await looked.wait()

    async def _forget_hosts(self) -> None:
        async def event() -> Told:
            if self.forest.has_root:
                await self.forest.forget_hosts()
            return []

        while True:
            await asyncio.sleep(_FORGETS_EVERY)
            await self._turns.put(event)

    def _watch_source(self) -> Told:
        source, root = self.forest.source, self.forest.root
        if source is None or root is None or not self.forest.has_root:
            self._absence.is_not_ours()
            return []
        is_gone = self._absence.lasts_too_long(root, source in self._hosts)
        return self.forest.lose(root, source) if is_gone else []

    def _end(self) -> None:
        """Ends the tree, because the source has left."""
        self.forest.over = False
        self._on_event("ended", {})
        self._begun.clear()
        for host in tuple(self._hosts.values()):
            # Another tree may have begun, with hosts of its own.
            if host.welcome and host.root != self.forest.root:
                host.refuse("ended", "the source has left")
