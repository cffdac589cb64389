"""The REST API of TCP sessions: their agents, counters and receipts."""

import asyncio
from dataclasses import asdict, replace
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query

from groupflow.control.api.schemas import ReceiptView, TcpAgentView, TcpDetail, TcpStreamView
from groupflow.control.controller import Controller
from groupflow.control.sessions.model import RefusalError, Session, Tcp
from groupflow.control.split.control_socket import Form
from groupflow.control.split.placing import anybody
from groupflow.control.split.receipts import Stories
from groupflow.model.session import NewTcp
from groupflow.placement import DEFAULT_SIZE_BYTES, Placement, choose

_NAMED_AND_CHOSEN = "agents are either named or chosen; give agents or a budget"


def tcp_routes(controller: Controller) -> APIRouter:
    router = APIRouter(tags=["tcp"])

    @router.get("/sessions/{session}/tcp")
    async def show_tcp(session: int) -> TcpDetail:
        """A session's agents, streams and receipts, read from the agents themselves."""
        return await _detail(controller, controller.manager.get(session))

    return router


async def chosen(controller: Controller, new: NewTcp) -> NewTcp:
    """The settings of a new session, with the agents that the controller chooses. Raises RefusalError."""
    if new.agents and new.budget:
        raise RefusalError("bad_request", _NAMED_AND_CHOSEN)
    return replace(new, agents=tuple(await controller.splitting.choose(new.budget))) if new.budget else new


async def changed(controller: Controller, session: Session, changes: dict[str, Any]) -> Tcp:
    """A session's settings after a change. Raises RefusalError."""
    settings = session.tcp()
    if "agents" in changes and changes.get("budget"):
        raise RefusalError("bad_request", _NAMED_AND_CHOSEN)
    if "agents" in changes:
        changes = changes | {"budget": 0}
    if budget := changes.get("budget"):
        changes = changes | {"agents": await controller.splitting.choose(budget, session)}
    return replace(settings, **changes)


async def _detail(controller: Controller, session: Session) -> TcpDetail:
    settings = session.tcp("unknown_session")
    splitting = controller.splitting
    agents = [agent for agent in splitting.agents.values() if session.id in agent.sessions]
    stats = await asyncio.gather(*(agent.stats() for agent in agents))
    return TcpDetail(
        settings=settings,
        agents=[
            TcpAgentView(
                switch=agent.switch,
                host=agent.host,
                state=agent.state,
                problem=agent.problem if agent.state == "down" else agent.refused.get(session.id),
                counters=_counters(told or {}, session.id),
            )
            for agent, told in zip(agents, stats, strict=True)
        ],
        streams=_streams(splitting.stories.get(session.id, Stories())),
    )


def _streams(stories: Stories) -> list[TcpStreamView]:
    return [
        TcpStreamView(
            stream=stream,
            peer=story.peer,
            switch=story.agent,
            outcome=story.outcome,
            receipts=[ReceiptView(stream=stream, **asdict(receipt)) for receipt in story.receipts.values()],
            failed=story.failed,
        )
        for stream, story in stories.streams.items()
    ]


def _counters(told: Form, session: int) -> dict[str, Any]:
    sessions = cast(list[dict[str, Any]], told.get("sessions", []))
    found = [form for form in sessions if form.get("id") == session]
    return found[0] if found else {}


def placement_routes(controller: Controller) -> APIRouter:
    """The route below /sessions."""
    router = APIRouter(tags=["sessions"])

    @router.get("/sessions/{session}/placement")
    async def place_agents(
        session: int,
        agents: int,
        size_bytes: Annotated[int, Query(ge=1)] = DEFAULT_SIZE_BYTES,
        candidates: Annotated[list[str] | None, Query()] = None,
    ) -> Placement:
        """The switches where the session's agents would cost least, with its members as they are now.

        Without senders, as in TCP sessions, a host of every switch counts as one.
        """
        found = controller.manager.get(session)
        # In a thread: seconds of work in a large network must not stop the controller.
        return await asyncio.to_thread(
            choose,
            controller.topology,
            [found.members[source].host for source in found.sources] or anybody(controller.topology),
            [found.members[number].host for number in (*found.receivers, *found.listeners)],
            agents,
            candidates=candidates,
            size_bytes=size_bytes,
        )

    return router
