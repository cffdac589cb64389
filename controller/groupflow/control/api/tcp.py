"""The REST API of TCP sessions: their agents, counters and receipts."""

import asyncio
from dataclasses import asdict, replace
from typing import Any, cast

from fastapi import APIRouter, HTTPException

from groupflow.control.api.schemas import ReceiptView, TcpAgentView, TcpDetail, TcpStreamView
from groupflow.control.controller import Controller
from groupflow.control.sessions.model import RefusalError, Session, Tcp
from groupflow.control.split.control_socket import Form
from groupflow.control.split.receipts import Stories
from groupflow.model.session import NewTcp

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
    if session.record.tcp is None:
        raise RefusalError(
            "bad_request",
            f"session {session.id} carries no TCP; `groupflow session create --tcp-port` makes one that does",
        )
    if "agents" in changes and changes.get("budget"):
        raise RefusalError("bad_request", _NAMED_AND_CHOSEN)
    if "agents" in changes:
        changes = changes | {"budget": 0}
    if budget := changes.get("budget"):
        changes = changes | {"agents": await controller.splitting.choose(budget, session)}
    return replace(session.record.tcp, **changes)


async def _detail(controller: Controller, session: Session) -> TcpDetail:
    settings = session.record.tcp
    if settings is None:
        raise HTTPException(
            404,
            f"session {session.id} carries no TCP; `groupflow session create --tcp-port` makes one that does",
        )
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
    for form in cast(list[dict[str, Any]], told.get("sessions", [])):
        if form.get("id") == session:
            return form
    return {}
