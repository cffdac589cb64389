"""Notices members, cache agents and switches that come or go without a message."""

import asyncio
import hmac
import logging
from collections import OrderedDict
from dataclasses import replace

from groupflow._native import Notice
from groupflow.control.caching import AGENTS, Agent
from groupflow.control.sessions.manager import SessionManager
from groupflow.control.sessions.model import MEMBERS, SESSIONS, Member, NoticeKind, RefusalError, Session
from groupflow.control.sessions.presence import Presence
from groupflow.control.shared import Service, Shared
from groupflow.model.topology import Host
from groupflow.p4rt.device import ApplyError, State
from groupflow.store.interface import StoreError

log = logging.getLogger(__name__)

SWEEP_SECONDS = 0.25
HOLD_SECONDS = 60.0
"""Time for which a receiver that acknowledges nothing may hold its stream: a sender waits for as long."""
PUT_OUT = 1024
"""Bound of the members that are known to have been put out."""


class Watchdog(Service):
    def __init__(self, shared: Shared, manager: SessionManager) -> None:
        super().__init__(shared)
        self.agents: Presence[str] = Presence(shared.clock)
        """by switch"""
        self.put_out: OrderedDict[tuple[int, int], Notice] = OrderedDict()
        """the notice for each member that was put out and may not know it, by session and member"""
        self._manager = manager
        self._options = shared.options
        self._down_since = dict.fromkeys(shared.fabric.devices, shared.clock())
        self._mourned: set[str] = set()
        """switches of whose loss members were told"""
        self._at_work: set[asyncio.Task[None]] = set()

    async def restore(self) -> None:
        """Takes over the sessions of an earlier controller. Raises StoreError."""
        await self._fabric.restore(self._store)
        grace = self._options.restart_grace
        for agent in await AGENTS.all(self._store):
            if self._is_placed(agent.switch, agent.host):
                self._caching.add(agent)
                self.agents.excuse(agent.switch, grace)
        sessions = {record.id: Session(record) for record in await SESSIONS.all(self._store)}
        for member in await MEMBERS.all(self._store):
            if member.session in sessions and member.host in self._topology.hosts:
                sessions[member.session] = sessions[member.session].with_member(member)
                if member.udp_port:
                    self._manager.presence.excuse((member.session, member.id), grace)
        for session in sessions.values():
            try:
                self._manager.install(session)
            except RefusalError as error:  # the topology has changed since
                log.error("session=%d cannot be restored: %s", session.id, error)
                self._manager.install(Session(session.record))
        self._fabric.drop_strays()

    async def run(self) -> None:
        """Sweeps again and again until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self.sweep()
            except (StoreError, RefusalError) as error:
                log.error("sweep failed: %s", error)

    async def sweep(self) -> None:
        """Removes every member and agent that has been silent for too long, and ends expired sessions."""
        await self._manager.end_expired()
        timeout = self._options.member_timeout
        for who in self._manager.presence.silent(timeout):
            session = self._manager.sessions.get(who[0])
            member = session.members.get(who[1]) if session else None
            if member is None:  # it left while the loop waited for another
                self._manager.presence.forget(who)
                continue
            switch = self._topology.hosts[member.host].switch
            if self._is_excused(switch):
                continue
            cause = f"switch {switch} is lost" if switch in self._down_since else f"silent for {timeout:g} s"
            await self._manager.remove(*who, "lost", f"{member.name} is lost: {cause}")
        for session in list(self._manager.sessions.values()):
            for member in self._holding(session):
                await self._put_out(member)
        for switch in self.agents.silent(timeout):
            if not self._is_excused(switch):
                await self.lose_agent(switch, "lost")

    def _holding(self, session: Session) -> list[Member]:
        """The receivers that are behind a sender which waits for them, and have been for too long."""
        last = self._manager.presence.last
        found: list[Member] = []
        for member in map(session.members.__getitem__, session.receivers):
            heard = last((session.id, member.id))
            sender = last((session.id, heard.source)) if heard and heard.source in session.sources else None
            if heard and sender and 0 < heard.next < sender.next:
                held = self._clock() - max(heard.since, sender.since)
                found += [member] if held >= HOLD_SECONDS else []
        return found

    async def _put_out(self, member: Member) -> None:
        text = f"{member.name} acknowledged nothing for {HOLD_SECONDS:g} s"
        notice = Notice(what="lost", about=member.id, text=text, receivers=0, rate=0)
        self.put_out[member.session, member.id] = notice
        while len(self.put_out) > PUT_OUT:
            self.put_out.popitem(last=False)
        await self._manager.remove(member.session, member.id, "lost", text)

    def switch_changed(self, switch: str, state: State) -> None:
        """Follows a device that came up or went down."""
        self._events.tell(f"switch-{state}", switch=switch)
        if state == "down":
            self._down_since.setdefault(switch, self._clock())
            if switch not in self._mourned and self._fabric.streams_at(switch):
                self._mourned.add(switch)
                self._notify_users(switch, "switch_lost", f"switch {switch}")
        elif state == "up":
            self._down_since.pop(switch, None)
            for session in self._manager.sessions.values():
                for member in session.members.values():
                    if member.udp_port and self._topology.hosts[member.host].switch == switch:
                        self._manager.presence.excuse((session.id, member.id), 0)
            if switch in self._caching.agents:
                self.agents.excuse(switch, 0)
            if switch in self._mourned:
                self._mourned.discard(switch)
                self._notify_users(switch, "switch_back", f"switch {switch}")

    async def register_agent(self, host: Host, udp_port: int, name: str, token: str) -> int:
        """Registers a cache agent. Returns its member id. Raises RefusalError."""
        switch = host.switch
        if not self._is_placed(switch, host.name):
            raise RefusalError("bad_request", f"the topology makes {host.name} no cache agent of {switch}")
        wanted = self._options.agent_token
        if wanted is not None and not hmac.compare_digest(wanted.encode(), token.encode()):
            raise RefusalError("wrong_token", "the token is not the cache agents'")
        agent = Agent(
            switch, host.name, udp_port, name or host.name, self._caching.agent_id(switch), int(self._wall())
        )
        self._caching.add(agent)
        self.agents.hear(switch)
        self._events.tell("agent-joined", switch=switch, host=host.name)
        writes: dict[str, str | None] = {AGENTS.key(switch): AGENTS.dump(agent)}
        await self._reinstall(switch, writes)
        self._notify_users(switch, "agent_back", f"cache agent {agent.name}")
        return agent.id

    async def lose_agent(self, switch: str, how: str) -> None:
        """Lets streams go on without a switch's agent: requests for repairs then go towards the sender."""
        agent = self._caching.agents.get(switch)
        self.agents.forget(switch)
        if agent is None:
            return
        self._caching.remove(switch)
        self._events.tell(f"agent-{how}", switch=switch, host=agent.host)
        self._notify_users(switch, "agent_lost", f"cache agent {agent.name}")
        # In a task of its own: the switch may hang, too, and the sweep serves all others.
        task = asyncio.create_task(self._reinstall(switch, {AGENTS.key(switch): None}))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def agent_filled(self, switch: str, *, full: bool) -> None:
        """Tells senders that an agent's cache reached its bound, or has room again."""
        agent = self._caching.agents.get(switch)
        if agent is not None and agent.full != full:
            self._caching.agents[switch] = replace(agent, full=full)
            self._events.tell("cache-full" if full else "cache-room", switch=switch, host=agent.host)

    async def _reinstall(self, switch: str, writes: dict[str, str | None]) -> None:
        """Recomputes the streams of a switch whose agent came or went."""
        changed = None
        for session in self._sessions_at(switch):
            installed = self._manager.install(self._unisolated(session, switch))
            changed = installed if changed is None else changed | installed
            if session.record.isolated:
                record = self._manager.sessions[session.id].record
                writes[SESSIONS.key(session.id)] = SESSIONS.dump(record)
        try:
            await self._manager.finish(changed or self._fabric.nothing(), writes)
        except (ApplyError, StoreError) as error:
            log.error("switch=%s: the change of its cache agent failed: %s", switch, error)

    def _unisolated(self, session: Session, switch: str) -> Session:
        """The session with a switch's receivers fed directly: only the old agent knew the isolated ones."""
        isolated = frozenset(
            (source, member)
            for source, member in session.record.isolated
            if self._topology.hosts[session.members[member].host].switch != switch
        )
        return replace(session, record=replace(session.record, isolated=isolated))

    def _is_excused(self, switch: str) -> bool:
        """Whether a host's switch is lost and still in its grace time, as nothing behind it can be heard."""
        since = self._down_since.get(switch)
        return since is not None and self._clock() - since < self._options.switch_grace

    def _is_placed(self, switch: str, host: str) -> bool:
        placed = self._topology.switches.get(switch)
        return placed is not None and placed.agent == host

    def _sessions_at(self, switch: str) -> list[Session]:
        numbers = sorted({stream.session for stream in self._fabric.streams_at(switch)})
        return [self._manager.sessions[number] for number in numbers]

    def _notify_users(self, switch: str, what: NoticeKind, name: str) -> None:
        for session in self._sessions_at(switch):
            self._post.notify(session, session.members.values(), what, name)
