"""TCP sessions in the whole network: agents' parts, switches' routes, and receipts of streams."""

import asyncio
import logging
from collections.abc import Collection, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from groupflow.control.sessions.fabric import Follower, Installation
from groupflow.control.sessions.manager import SessionManager
from groupflow.control.sessions.model import RefusalError, Session
from groupflow.control.shared import Service, Shared
from groupflow.control.split import overlay
from groupflow.control.split.agent import AgentState, SplitAgent
from groupflow.control.split.control_socket import Form, forms
from groupflow.control.split.placing import place
from groupflow.control.split.receipts import Receipt, Stories
from groupflow.errors import InvalidError
from groupflow.p4rt.device import ApplyError
from groupflow.store.interface import StoreError, Transaction

log = logging.getLogger(__name__)

SWEEP_SECONDS = 0.25
AGENT_GRACE = 3.0
"""seconds that a lost agent keeps its part in sessions: it may be started again"""
SETTLE_SECONDS = 5.0

_PRESENT = "split/agents/"


class Splitting(Service, Follower):
    """Follows the session manager: passes each change on to agents and switches."""

    def __init__(self, shared: Shared, manager: SessionManager, sockets: Path) -> None:
        """`sockets` is the folder with the control socket `<host>.split.sock` of each agent.

        Raises InvalidError for a prefix that does not fit the network.
        """
        super().__init__(shared)
        prefix = shared.options.tcp_prefix
        for host in self._topology.hosts.values():
            if host.ip in prefix:
                problem = f"has the address of {host.name} ({host.ip}) in it"
                raise InvalidError(f"the prefix {prefix} {problem}; choose another with --tcp-prefix")
        self.stories: dict[int, Stories] = {}
        """by session"""
        self.agents = {
            name: SplitAgent(name, host, sockets / f"{host}.split.sock", self._agent_changed, self._event)
            for name, host in ((switch.name, switch.agent) for switch in self._topology.switches.values())
            if host
        }
        """by switch"""
        self._manager = manager
        self._lost: dict[str, float] = {}
        """times when lost agents were lost, by switch"""
        self._tasks: set[asyncio.Task[None]] = set()
        manager.follower = self
        for device in shared.fabric.devices.values():
            device.desired.replace("refusal", overlay.refusal(prefix))

    async def restore(self) -> None:
        """Expects the agents that an earlier controller had, for their streams. Raises StoreError."""
        for key in await self._store.items(_PRESENT):
            switch = key.removeprefix(_PRESENT)
            if switch in self.agents:
                self._lost[switch] = self._clock() + self._manager.options.restart_grace - AGENT_GRACE
        for session in list(self._manager.sessions):
            self.changed(session)

    async def run(self) -> None:
        """Serves the agents until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for agent in self.agents.values():
                    tasks.create_task(agent.run(), name=f"agent {agent.host}")
                while True:
                    await asyncio.sleep(SWEEP_SECONDS)
                    self.sweep()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def sweep(self) -> None:
        """Gives up the agents that have been away for too long, and sessions that have expired."""
        held = {number for agent in self.agents.values() for number in agent.sessions}
        for number in held:
            session = self._manager.sessions.get(number)
            if session and session.expired(self._wall()):
                self.changed(number)
        for switch, since in list(self._lost.items()):
            if self._clock() - since >= AGENT_GRACE:
                del self._lost[switch]
                self._remember(switch, present=False)
                self._all_changed()
                self._refit_all()

    def serving(self, session: Session) -> list[str]:
        """The switches whose agents take part in a session, running or expected back."""
        settings = session.record.tcp
        if settings is None or session.expired(self._wall()):
            return []
        now = self._clock()
        return [
            switch
            for switch, agent in self.agents.items()
            if (switch in settings.agents or not (settings.agents or settings.budget))
            and (agent.state == "up" or (switch in self._lost and now - self._lost[switch] < AGENT_GRACE))
        ]

    async def choose(
        self, budget: int, session: Session | None = None, keep: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Switches of at most `budget` agents for a session: `keep`, and others whose agents run."""
        members = session.members.values() if session else ()
        listeners = [member.host for member in members if member.role == "listener"]
        running = [switch for switch, agent in self.agents.items() if agent.state == "up"]
        # In a thread: seconds of work in a large network must not stop the controller.
        return await asyncio.to_thread(place, self._topology, running, budget, listeners, keep=keep)

    def changed(self, number: int) -> Installation:
        """Tells switches and agents of a session that is new, changed, or gone."""
        session = self._manager.sessions.get(number)
        settings = session.record.tcp if session else None
        topology = self._topology
        serving = self.serving(session) if session else []
        parts: dict[str, Form] = {}
        if session and settings:
            for switch, part in overlay.parts(topology, session, serving).items():
                parts[switch] = overlay.form(topology, session, settings, part)
        for switch, agent in self.agents.items():
            agent.want(number, parts.get(switch))
        routes = {
            switch: overlay.route(topology, switch, settings.address, serving) if settings else {}
            for switch in self._fabric.devices
        }
        if session is None:
            self.stories.pop(number, None)
        return self._fabric.steer(number, routes)

    async def settled(self, number: int) -> list[str]:
        """Waits until the running agents know a session. Returns their refusals, one line each."""
        waiting = {agent.host: asyncio.ensure_future(agent.settled(number)) for agent in self.agents.values()}
        if waiting:
            _, late = await asyncio.wait(waiting.values(), timeout=SETTLE_SECONDS)
            for task in late:
                task.cancel()
        problems: list[str] = []
        for host, task in waiting.items():
            refusal = task.result() if task.done() and not task.cancelled() else None
            if refusal:
                problems.append(f"agent {host}: {refusal}")
        return problems

    def _agent_changed(self, switch: str, state: AgentState) -> None:
        host = self.agents[switch].host
        if state == "up":
            self._lost.pop(switch, None)
        else:
            self._lost[switch] = self._clock()
        self._remember(switch, present=True)
        if state == "up":
            self._start(self._recall(switch))
        self._events.tell(f"split-agent-{state}", switch=switch, host=host)
        self._all_changed()
        if state == "up":
            self._refit_all()

    def _all_changed(self) -> None:
        for session in list(self._manager.sessions.values()):
            if session.record.tcp:
                self.changed(session.id)

    def _refit_all(self) -> None:
        """Refits every session with a budget, after an agent came or was given up."""
        for session in list(self._manager.sessions.values()):
            if session.record.tcp and session.record.tcp.budget:
                self._start(self._refit(session))

    async def _refit(self, session: Session) -> None:
        """Adds agents to a session up to its budget. Its agents stay: streams may run through them."""
        settings = session.record.tcp
        assert settings is not None
        keep = self.serving(session)
        if len(keep) == settings.budget:
            return
        agents = await self.choose(settings.budget, session, keep)
        now = self._manager.sessions.get(session.id)
        if agents == settings.agents or not agents or now is None or now.record.tcp != settings:
            return
        try:
            await self._manager.change(session.id, tcp=replace(settings, agents=agents))
        except (RefusalError, ApplyError, StoreError) as error:
            log.error("session=%d agents=%s: %s", session.id, ",".join(agents), error)

    def _event(self, switch: str, event: Form) -> None:
        """Takes an event of an agent. An event that agents nearer to the sender repeat is told once."""
        number, stream = event.get("session"), str(event.get("stream", ""))
        session = self._manager.sessions.get(number) if isinstance(number, int) else None
        if session is None:
            return
        name, member = str(event.get("event")), _integer(event, "member")
        stories = self.stories.setdefault(session.id, Stories())
        match name:
            case "stream_opened" if event.get("from") != "agent":
                story = stories.of(stream)
                story.peer, story.agent = str(event.get("peer", "")), switch
                self._tell("stream-opened", session, stream, peer=story.peer, switch=switch)
            case "stream_closed":
                story = stories.of(stream)
                if story.agent == switch and not story.outcome:
                    story.outcome = _outcome(event)
                    self._tell("stream-closed", session, stream, outcome=story.outcome)
            case "receipt":
                self._receipt(session, stream, member, _integer(event, "bytes"))
            case "member_failed" | "member_reset" if member:
                story = stories.of(stream)
                if member not in story.failed:
                    text = story.failed[member] = str(event.get("text", "failed"))
                    who = _name(session, member)
                    self._tell(name.replace("_", "-"), session, stream, member=member, name=who, text=text)
                    if name == "member_failed":
                        self._put_out(session, member, text)
            case "isolated" | "caught_up" | "join_refused" | "refused":
                who, text = str(event.get("name", "")), str(event.get("text", ""))[:300]
                self._tell(name.replace("_", "-"), session, stream, switch=switch, name=who, text=text)
            case _:
                pass

    def _receipt(self, session: Session, stream: str, member: int, count: int) -> None:
        story = self.stories.setdefault(session.id, Stories()).of(stream)
        if member not in story.receipts:
            receipt = Receipt(member, _name(session, member), count, self._wall())
            story.receipts[member] = receipt
            self._tell("receipt", session, stream, member=member, name=receipt.name, bytes=count)

    async def _recall(self, switch: str) -> None:
        """Asks a reconnected agent for its latest streams, whose events may have been lost."""
        stats = await self.agents[switch].stats()
        for form in forms(stats, "sessions"):
            session = self._manager.sessions.get(_integer(form, "id"))
            for told in (*forms(form, "closed"), *forms(form, "streams")) if session else ():
                assert session is not None
                stream = str(told.get("stream", ""))
                story = self.stories.setdefault(session.id, Stories()).of(stream)
                if told.get("from") != "agent":
                    story.peer, story.agent = str(told.get("peer", "")), switch
                    story.outcome = story.outcome or (_outcome(told) if "outcome" in told else "")
                for receipt in forms(told, "receipts"):
                    self._receipt(session, stream, _integer(receipt, "member"), _integer(receipt, "bytes"))

    def _put_out(self, session: Session, number: int, text: str) -> None:
        """Removes a member that an agent cannot serve, and tells the member why."""
        member = session.members.get(number)
        if member is None:
            return
        self._post.notify(session, [member], "lost", text, about=number)
        self._start(self._remove(session.id, number, f"{member.name} failed: {text}"))

    async def _remove(self, session: int, member: int, text: str) -> None:
        try:
            await self._manager.remove(session, member, "lost", text)
        except StoreError as error:
            log.error("session=%d member=%d: %s", session, member, error)

    def _remember(self, switch: str, *, present: bool) -> None:
        """Stores whether an agent counts as running, for the next controller."""
        self._start(self._commit({_PRESENT + switch: "true" if present else None}))

    async def _commit(self, writes: dict[str, str | None]) -> None:
        try:
            await self._store.commit(Transaction(writes))
        except StoreError as error:
            log.error("agents are not stored: %s", error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell(self, what: str, session: Session, stream: str, **fields: str | int) -> None:
        log.info("session=%d stream=%s %s %s", session.id, stream, what, fields)
        self._events.tell(what, session=session.id, stream=stream, **fields)


def _outcome(told: Form) -> str:
    text = str(told.get("text", ""))[:300]
    return str(told.get("outcome", "closed")) + (f": {text}" if text else "")


def _integer(event: Form, field_name: str) -> int:
    value = event.get(field_name)
    return value if isinstance(value, int) else 0


def _name(session: Session, member: int) -> str:
    found = session.members.get(member)
    return found.name if found else str(member)
