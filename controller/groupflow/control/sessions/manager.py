"""Sessions and their members: every decision about them, made in one place.

A decision is taken and entered in the desired state of the switches in one step, without waiting in between:
two requests never see half of each other. Then it is stored, and the switches are waited for, together.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

from groupflow._native import Joined
from groupflow.control.sessions import admission
from groupflow.control.sessions.admission import (
    JoinAnswer,
    JoinRequest,
    checked,
    lowest_free,
    new_salt,
    token,
)
from groupflow.control.sessions.fabric import Follower, Installation
from groupflow.control.sessions.model import (
    MEMBERS,
    SESSIONS,
    Member,
    NoticeKind,
    RefusalError,
    Session,
    SessionRecord,
    Start,
    Tcp,
)
from groupflow.control.sessions.numbers import Stream
from groupflow.control.sessions.presence import Presence
from groupflow.control.sessions.replication import stream_tree
from groupflow.control.shared import Service, Shared
from groupflow.model.session import LAST_SESSION, NewSession
from groupflow.p4rt.device import ApplyError
from groupflow.store.interface import StoreError, Transaction


class SessionManager(Service):
    def __init__(self, shared: Shared, secret: str) -> None:
        super().__init__(shared)
        self.sessions: dict[int, Session] = {}
        self.presence: Presence[tuple[int, int]] = Presence(shared.clock)
        """by session and member"""
        self.options = shared.options
        self.secret = secret
        self.follower = Follower(shared.fabric)
        """the service that carries sessions' TCP connections, which takes this one's place"""
        self._last_session = 0
        self._unsaved: dict[str, str | None] = {}
        """writes that the store refused"""

    # --- sessions ---

    def get(self, session: int) -> Session:
        """A session by its id. Raises RefusalError."""
        if session not in self.sessions:
            raise RefusalError("unknown_session", f"no session {session}; create it, or list the sessions")
        return self.sessions[session]

    async def create(self, new: NewSession) -> Session:
        """A new session. Raises RefusalError, ApplyError."""
        session = self._free_session() if new.id is None else new.id
        if session in self.sessions:
            raise RefusalError("bad_request", f"session {session} exists already; choose another id")
        now = int(self._wall())
        record = SessionRecord(
            id=session,
            mode=new.mode,
            policy=new.policy,
            window=new.window,
            salt=new_salt(),
            created=now,
            expires=now + new.lifetime if new.lifetime else None,
            tcp=new.tcp and checked(Tcp(**vars(new.tcp), address=self._free_address()), self._with_agents()),
        )
        self.sessions[session] = Session(record)
        self._last_session = session
        self._events.tell("session-created", session=session)
        writes: dict[str, str | None] = {SESSIONS.key(session): SESSIONS.dump(record)}
        try:
            if record.tcp is None:
                await self._save(writes)
                return self.sessions[session]
            await self.finish(self.follower.changed(session), writes)
        except (ApplyError, StoreError):
            with suppress(StoreError):  # what was refused is not listed, whatever the store does
                await self.delete(session)
            raise
        if problems := await self.follower.settled(session):
            await self.delete(session)
            raise RefusalError("bad_request", "; ".join(problems))
        return self.get(session)

    async def change(self, session: int, *, tcp: Tcp | None = None, **settings: Any) -> Session:
        """Changes a session while it runs. If it raises RefusalError, nothing has changed.

        `tcp`: all TCP settings, of a session that has some; address and ports stay. `settings`: some of
        SessionSettings.
        """
        before = self.get(session)
        tcp_after = checked(tcp, self._with_agents()) if tcp else before.record.tcp
        record = replace(before.record, tcp=tcp_after, **settings)
        if record.policy == "strict":
            record = replace(record, isolated=frozenset())
        after = Session(record, before.members)
        installed = self.install(after)
        self._events.tell("session-changed", session=session, mode=record.mode, policy=record.policy)
        await self.finish(installed, {SESSIONS.key(session): SESSIONS.dump(record)})
        if tcp and (problems := await self.follower.settled(session)):
            now = self.get(session)
            record = replace(now.record, tcp=before.record.tcp)
            installed = self.install(replace(now, record=record))
            await self.finish(installed, {SESSIONS.key(session): SESSIONS.dump(record)})
            raise RefusalError("bad_request", "; ".join(problems))
        return after

    async def delete(self, session: int) -> None:
        """Ends a session for all its members. Raises RefusalError."""
        before = self.get(session)
        self._post.notify(before, before.members.values(), "deleted", f"session {session} was deleted")
        writes = self._without_members(before)
        del self.sessions[session]
        self.follower.changed(session)
        self._events.tell("session-deleted", session=session)
        await self._save({**writes, SESSIONS.key(session): None})

    async def end_expired(self) -> None:
        """Removes the members of expired sessions; until deleted, such a session stays and refuses joins."""
        for session in list(self.sessions.values()):
            if session.members and session.expired(self._wall()):
                self._post.notify(
                    session, session.members.values(), "deleted", f"session {session.id} has expired"
                )
                self._events.tell("session-expired", session=session.id)
                await self._save(self._without_members(session))

    # --- members ---

    async def join(self, ask: JoinRequest) -> JoinAnswer:
        """Takes a member in, also one that was a member before. Raises RefusalError, ApplyError."""
        before = self.get(ask.session)
        now = self._wall()
        admission.check(before, ask, self.secret, self._topology, self._fabric.room.branches, now)
        member, emptied = admission.place(before, ask, now)
        after = emptied.with_member(member)
        if member.id not in before.members and member.id != ask.former:
            after = replace(after, record=replace(after.record, last_member=member.id))
        if emptied is not before:
            self.install(emptied)  # the branch's registers must begin anew
        try:
            installed = self.install(after)
        except RefusalError:
            self.install(before)
            raise
        if emptied is not before:
            self.presence.forget((ask.session, member.id))  # the new process has no position yet
        if member.udp_port:
            # A host is silent until it is answered, which takes as long as the switches do.
            self.presence.excuse((ask.session, member.id), self.options.apply_timeout)
        replaced = [before.members[number] for number in before.members.keys() - after.members.keys()]
        writes = {
            MEMBERS.key(ask.session, member.id): MEMBERS.dump(member),
            SESSIONS.key(ask.session): SESSIONS.dump(after.record),
            **{MEMBERS.key(ask.session, gone.id): None for gone in replaced},
        }
        try:
            await self.finish(installed, writes)
        except (ApplyError, StoreError) as error:
            if isinstance(error, ApplyError) or member.id not in before.members:
                with suppress(StoreError):
                    await self.remove(ask.session, member.id, "left", str(error))
            raise
        if member.role == "listener":
            await self.follower.settled(ask.session)
        session = self.sessions.get(ask.session)
        found = session.members.get(member.id) if session else None
        if session is None or found is None or admission.process(found) != admission.process(member):
            raise RefusalError("unknown_session", f"session {ask.session} ended while {member.name} joined")
        if member.udp_port:
            self.presence.hear((ask.session, member.id))
        for gone in replaced:
            self.presence.forget((ask.session, gone.id))
            self._post.forget(gone)
            self._post.tell_others(session, gone, "left")
        if before.members.get(member.id) != member:
            self._post.tell_others(session, member, "joined")
            self._events.tell(
                "member-joined", session=ask.session, member=member.id, name=member.name, role=member.role
            )
        return self._joined(session, member, ask)

    async def register(self, session: int, host: str, port: int, name: str, start: Start) -> Member:
        """Makes a listening program a member until it is removed or fails. Raises as `join` does."""
        record = self.get(session).record
        if host not in self._topology.hosts:
            raise RefusalError("bad_request", f"no host {host!r}; name one of the topology")
        ask = JoinRequest(
            session=session,
            role="listener",
            host=self._topology.hosts[host],
            udp_port=0,
            name=name or host,
            token=token(self.secret, record, "receiver"),
            start=start,
            tcp_port=port,
        )
        joined = await self.join(ask)
        return self.get(session).members[joined.member]

    async def remove(self, session: int, member: int, what: NoticeKind, text: str) -> None:
        """Removes a member, and tells the others why. Does nothing if it is gone already."""
        before = self.sessions.get(session)
        if before is None or member not in before.members:
            return
        gone = before.members[member]
        after = before.without_member(member)
        self.install(after)
        self.presence.forget((session, member))
        self._post.forget(gone)
        self._post.tell_others(after, gone, what)
        self._events.tell(
            f"member-{what}", session=session, member=member, name=gone.name, role=gone.role, text=text
        )
        await self._save(
            {MEMBERS.key(session, member): None, SESSIONS.key(session): SESSIONS.dump(after.record)}
        )

    async def complete(self, session: int, member: int, source: int) -> None:
        """Records that a receiver has the whole of a stream."""
        before = self.sessions[session]
        receiver = before.members[member]
        if source in receiver.complete or source not in before.sources or receiver.role != "receiver":
            return
        receiver = replace(receiver, complete=receiver.complete | {source})
        self.sessions[session] = before.with_member(receiver)
        self._post.notify(before, [before.members[source]], "complete", receiver.name, about=member)
        self._events.tell(
            "member-complete", session=session, member=member, name=receiver.name, source=source
        )
        await self._save({MEMBERS.key(session, member): MEMBERS.dump(receiver)})

    async def want(self, receiver: Member) -> None:
        """Records the targets of a receiver, for the next round of tuning. Raises StoreError."""
        former = self.get(receiver.session).members.get(receiver.id)
        targets = {name: getattr(receiver, name) for name in ("target", "minimum", "priority")}
        await self._save({MEMBERS.key(receiver.session, receiver.id): MEMBERS.dump(receiver)})
        session = self.sessions.get(receiver.session)
        now = session.members.get(receiver.id) if session else None
        if session is None or now is None:
            await self._save({MEMBERS.key(receiver.session, receiver.id): None})
            raise RefusalError("unknown_session", f"{receiver.name} left meanwhile; list the members")
        changed = replace(now, **targets)
        self.sessions[receiver.session] = session.with_member(changed)
        self._events.tell(
            "member-wants", session=receiver.session, member=receiver.id, name=receiver.name, **targets
        )
        if now is not former:  # it changed meanwhile
            await self._save({MEMBERS.key(receiver.session, receiver.id): MEMBERS.dump(changed)})

    async def isolate(self, session: int, source: int, member: int, *, slow: bool) -> None:
        """Takes a slow receiver out of a stream's replication, or puts it back. Only with policy isolate."""
        before = self.sessions.get(session)
        if before is None or before.record.policy != "isolate":
            return
        if source not in before.sources or member not in before.receivers:
            return
        pair = frozenset({(source, member)})
        isolated = before.record.isolated | pair if slow else before.record.isolated - pair
        if isolated == before.record.isolated:
            return
        after = replace(before, record=replace(before.record, isolated=isolated))
        installed = self.install(after)
        what = "member-isolated" if slow else "member-caught-up"
        self._events.tell(what, session=session, member=member, name=before.members[member].name)
        await self.finish(installed, {SESSIONS.key(session): SESSIONS.dump(after.record)})

    # --- for sessions and members ---

    def install(self, session: Session) -> Installation:
        """Puts a session into the desired state of switches. Raises RefusalError, then changing nothing."""
        agents = self._caching.neighbours
        trees = {
            Stream(session.id, source): stream_tree(self._topology, session, source, agents)
            for source in session.sources
        }
        for stream, tree in trees.items():
            self._fabric.check(stream, tree)
        former = self.sessions.get(session.id)
        for source in former.sources if former else ():
            trees.setdefault(Stream(session.id, source), {})
        installed = self._fabric.nothing()
        for stream, tree in trees.items():
            installed |= self._fabric.place(session, stream, tree)
            self._caching.announce(session, stream, tree)
        self.sessions[session.id] = session
        return installed | self.follower.changed(session.id)

    async def finish(self, installed: Installation, writes: dict[str, str | None]) -> None:
        """Stores a decision, and waits until the switches have it. Raises ApplyError."""
        saving = asyncio.create_task(self._save(writes))
        try:
            async with asyncio.timeout(self.options.apply_timeout):
                await installed.settled()
        except TimeoutError:
            limit = self.options.apply_timeout
            raise ApplyError(f"the switches took longer than {limit:g} s") from None
        finally:
            await saving

    async def _save(self, writes: dict[str, str | None]) -> None:
        """Stores what was decided, with what the store refused before: it is in effect."""
        writes = {**self._unsaved, **writes, **self._fabric.take_writes()}
        self._unsaved = {}
        try:
            await self._store.commit(Transaction(writes))
        except StoreError:
            self._unsaved = {**self._unsaved, **writes}  # commits end in their order: these are newer
            raise

    def _joined(self, session: Session, member: Member, ask: JoinRequest) -> JoinAnswer:
        source, start = (member.id, 1) if member.role == "sender" else (0, 0)
        if member.role == "receiver":
            source = ask.source or next(iter(session.sources), 0)
            if source not in session.sources:  # the stream of a receiver that comes back has ended
                source = 0
            heard = self.presence.last((session.id, source))
            start = ask.first(started=heard is not None and heard.next > 1)
        reply = Joined(
            member=member.id,
            source=source,
            window=session.record.window,
            rate=self._fabric.rate(session, source),
            mode=session.record.mode,
            policy=session.record.policy,
            keepalive_ms=self.options.keepalive_ms,
            receivers=len(session.listeners if member.role == "listener" else session.receivers),
            start_seq=start,
        )
        return JoinAnswer(member.id, source, reply)

    def _without_members(self, session: Session) -> dict[str, str | None]:
        for number, member in session.members.items():
            self.presence.forget((session.id, number))
            self._post.forget(member)
        self.install(Session(replace(session.record, isolated=frozenset())))
        return {MEMBERS.key(session.id, member): None for member in session.members}

    def _free_address(self) -> str:
        used = {session.record.tcp.address for session in self.sessions.values() if session.record.tcp}
        return lowest_free(self.options.tcp_prefix, used)

    def _with_agents(self) -> set[str]:
        """The switches that have a cache agent."""
        return {name for name, switch in self._topology.switches.items() if switch.agent}

    def _free_session(self) -> int:
        if len(self.sessions) >= LAST_SESSION:
            raise RefusalError("full", "every session id is taken; delete a session")
        session = self._last_session
        while True:
            session = session % LAST_SESSION + 1
            if session not in self.sessions:
                return session
