"""Requests of hosts, handed up by the switches: each is answered once, however often it is repeated."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, NamedTuple

from groupflow._native import Alive, Control, Joined, Left, Refused, Unknown, parse_control
from groupflow.control.sessions.admission import JoinRequest
from groupflow.control.sessions.manager import SessionManager
from groupflow.control.sessions.model import Member, RefusalError
from groupflow.control.sessions.numbers import Stream
from groupflow.control.sessions.post import Reply
from groupflow.control.sessions.watchdog import Watchdog
from groupflow.control.shared import Service, Shared
from groupflow.model.topology import Host
from groupflow.p4rt.device import ApplyError
from groupflow.store.interface import StoreError

log = logging.getLogger(__name__)

REQUESTS = 16384
"""Bound of requests in work and answers remembered; further requests are dropped, and hosts ask again."""
REMEMBERED_SECONDS = 2.0
"""Time that an answer is kept for repetitions: hosts repeat a request every 200 ms until it is answered."""


class _Asked(NamedTuple):
    """The fields that two packets of the same request share."""

    host: str
    udp_port: int
    type: str
    session: int
    request_id: int


class _Answer(NamedTuple):
    reply: Reply
    source: int
    member: int
    at: float


class ControlPlane(Service):
    """Handles packet-ins. No packet of a host can end it."""

    def __init__(self, shared: Shared, manager: SessionManager, watchdog: Watchdog) -> None:
        super().__init__(shared)
        self.refused_packets = 0
        """packet-ins that were not valid requests"""
        self._manager = manager
        self._watchdog = watchdog
        self._in_work: set[_Asked] = set()
        self._answered: OrderedDict[_Asked, _Answer] = OrderedDict()
        """the oldest first"""
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, switch: str, port: int, frame: bytes) -> None:
        """Handles one packet-in."""
        host = self._topology.host_at(switch, port)
        try:
            message = parse_control(frame)
        except ValueError as error:
            self._refuse_packet(switch, port, str(error))
            return
        if host is None or message.ip_src != str(host.ip):
            self._refuse_packet(switch, port, f"{message.ip_src} is not the host of this port")
            return
        match message.type:
            case "keepalive":
                self._keepalive(host, message)
            case "query":
                self._query(host, message)
            case "join" if message.role == "cache":
                self._start(host, message, self._join_agent(host, message))
            case "join":
                self._start(host, message, self._join(host, message))
            case "leave":
                self._start(host, message, self._leave(host, message))
            case "report":
                self._start(host, message, self._report(host, message))
            case "reset":
                self._refuse_packet(switch, port, "a reset from a host")

    async def close(self) -> None:
        """Drops the requests in work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def idle(self) -> None:
        """Waits until no request is in work."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, host: Host, message: Control, work: "Coroutine[Any, Any, _Answer]") -> None:
        """Works on a request in a task of its own, unless it is a repetition."""
        asked = _Asked(host.name, message.udp_src, message.type, message.session, message.request_id or 0)
        self._forget_old()
        answer = self._answered.get(asked)
        if answer is not None:
            self._reply(host, message, answer)
        if answer is not None or asked in self._in_work or len(self._in_work) >= REQUESTS:
            work.close()
            return
        self._in_work.add(asked)
        task = asyncio.create_task(self._work(host, message, asked, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(
        self, host: Host, message: Control, asked: _Asked, work: "Coroutine[Any, Any, _Answer]"
    ) -> None:
        try:
            answer = await work
        except RefusalError as error:
            answer = self._answer(Refused(code=error.code, text=error.text[:200]))
        except (StoreError, ApplyError) as error:
            log.error("host=%s request=%s failed: %s", host.name, message.type, error)
            answer = self._answer(Refused(code="unavailable", text=str(error)[:200]))
        except Exception:
            log.exception("host=%s request=%s failed", host.name, message.type)
            return
        finally:
            self._in_work.discard(asked)
        self._answered[asked] = answer._replace(at=self._clock())
        self._reply(host, message, answer)
        session = self._manager.sessions.get(message.session)
        if session and isinstance(answer.reply, Joined) and message.role == "receiver":
            self._post.introduce_sources(session, answer.member, answer.source)

    async def _join(self, host: Host, message: Control) -> _Answer:
        ask = JoinRequest(
            session=message.session,
            # Cache agents are not members.
            role=message.role if message.role in ("sender", "listener") else "receiver",
            host=host,
            udp_port=message.udp_src,
            name=message.name or host.name,
            token=message.token or "",
            start=message.start or "now",
            seq=message.seq,
            source=message.source if message.role == "receiver" else 0,
            former=message.member,
            tcp_port=message.port or 0,
            target=message.target,
        )
        joined = await self._manager.join(ask)
        self._watchdog.put_out.pop((message.session, joined.member), None)  # of an earlier process
        return self._answer(joined.reply, source=joined.source, member=joined.member)

    async def _join_agent(self, host: Host, message: Control) -> _Answer:
        number = await self._watchdog.register_agent(
            host, message.udp_src, message.name or host.name, message.token or ""
        )
        joined = Joined(
            member=number,
            source=0,
            window=0,
            rate=0,
            mode="e2e",
            policy="strict",
            keepalive_ms=self._manager.options.keepalive_ms,
            receivers=0,
            start_seq=0,
        )
        return self._answer(joined, member=number)

    async def _leave(self, host: Host, message: Control) -> _Answer:
        if self._is_agent(host, message):
            await self._watchdog.lose_agent(host.switch, "left")
            return self._answer(Left())
        member = self._member(host, message)
        if member is None:
            return self._answer(Unknown())
        done = message.reason == "done"
        text = f"{member.name} left" if done else f"{member.name} gave up"
        # A receiver that gives its stream up, or is ended by a signal, does not have everything.
        lacks = not done and member.role == "receiver" and not member.complete
        await self._manager.remove(message.session, member.id, "lost" if lacks else "left", text)
        return self._answer(Left(), member=member.id)

    async def _report(self, host: Host, message: Control) -> _Answer:
        if self._is_agent(host, message):
            self._watchdog.agents.hear(host.switch)
            if message.kind in ("cache_full", "cache_room"):
                await self._watchdog.agent_filled(host.switch, full=message.kind == "cache_full")
            elif message.kind in ("slow", "caught_up") and self._is_behind(host.switch, message):
                await self._manager.isolate(
                    message.session, message.source, message.about or 0, slow=message.kind == "slow"
                )
            return self._answer(self._alive(message.session))
        member = self._member(host, message)
        if member is None:
            return self._answer(Unknown())
        self._manager.presence.hear((message.session, member.id))
        if message.kind == "complete":
            await self._manager.complete(message.session, member.id, message.source)
        return self._answer(self._alive(message.session), member=member.id)

    def _keepalive(self, host: Host, message: Control) -> None:
        member = self._member(host, message)
        if self._is_agent(host, message):
            self._watchdog.agents.hear(host.switch, message.next, message.repairs)
            self._reply(host, message, self._answer(self._alive(0)))
        elif member is not None:
            heard = (message.next, message.repairs, message.source)
            self._manager.presence.hear((message.session, member.id), *heard)
            self._post.repeat(member)  # before the answer, at which a sender may say "complete"
            alive = self._alive(message.session, message.source if member.role == "receiver" else 0)
            self._reply(host, message, self._answer(alive, member=member.id))
        elif put_out := self._watchdog.put_out.get((message.session, message.member)):
            self._reply(host, message, self._answer(put_out, member=message.member))
        else:
            self._reply(host, message, self._answer(Unknown()))

    def _query(self, host: Host, message: Control) -> None:
        stream = Stream(message.session, message.source)
        if not self._is_agent(host, message) or not self._caching.answer(
            host.switch, stream, message.request_id or 0
        ):
            self._reply(host, message, self._answer(Unknown()))

    def _member(self, host: Host, message: Control) -> Member | None:
        """The member that sent a message; None: the sender is not the member that the message names."""
        session = self._manager.sessions.get(message.session)
        member = session.members.get(message.member) if session else None
        if member and (member.host, member.udp_port) == (host.name, message.udp_src):
            return member
        return None

    def _is_agent(self, host: Host, message: Control) -> bool:
        agent = self._caching.agents.get(host.switch)
        return agent is not None and (agent.host, agent.udp_port) == (host.name, message.udp_src)

    def _is_behind(self, switch: str, message: Control) -> bool:
        """Whether the member of a REPORT is one that this switch's agent feeds."""
        session = self._manager.sessions.get(message.session)
        member = session.members.get(message.about or 0) if session else None
        return member is not None and self._topology.hosts[member.host].switch == switch

    def _alive(self, session: int, source: int = 0) -> Alive:
        """The numbers of receivers and of senders: of these none if the sender `source` has left."""
        found = self._manager.sessions.get(session)
        if found is None:
            return Alive(receivers=0, sources=0)
        sources = len(found.sources) if not source or source in found.sources else 0
        return Alive(receivers=len(found.receivers), sources=min(sources, 255))

    def _answer(self, reply: Reply, *, source: int = 0, member: int = 0) -> _Answer:
        return _Answer(reply, source, member, self._clock())

    def _reply(self, host: Host, message: Control, answer: _Answer) -> None:
        self._post.send(
            host,
            message.udp_src,
            answer.reply,
            session=message.session,
            source=answer.source or message.source,
            member=answer.member,
            request_id=message.request_id or 0,
        )

    def _forget_old(self) -> None:
        deadline = self._clock() - REMEMBERED_SECONDS
        while self._answered:
            asked, answer = next(iter(self._answered.items()))
            if answer.at >= deadline and len(self._answered) <= REQUESTS:
                break
            del self._answered[asked]

    def _refuse_packet(self, switch: str, port: int, reason: str) -> None:
        self.refused_packets += 1
        if self.refused_packets & (self.refused_packets - 1) == 0:  # 1, 2, 4, 8, ...: a flood logs little
            log.warning(
                "switch=%s port=%d total=%d: refused packet: %s", switch, port, self.refused_packets, reason
            )
