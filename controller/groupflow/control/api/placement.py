"""The REST API that computes a placement of agents, /sessions/{id}/placement, and changes nothing."""

import asyncio
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from groupflow.control.controller import Controller
from groupflow.control.split.placing import anybody
from groupflow.placement import DEFAULT_SIZE_BYTES, choose


class ConnectionView(BaseModel):
    sender: str
    start: str = Field(description="a host, or the switch of an agent")
    end: str


class PlacementView(BaseModel):
    agents: list[str] = Field(description="switches")
    connections: list[ConnectionView]
    link_bytes: int = Field(description="bytes on all links together, for one transfer of each sender")
    seconds: float = Field(description="time until the last member has the last byte, end-to-end")


def placement_routes(controller: Controller) -> APIRouter:
    """The route below /sessions."""
    router = APIRouter(tags=["sessions"])

    @router.get("/sessions/{session}/placement")
    async def place_agents(
        session: int,
        agents: int,
        size_bytes: Annotated[int, Query(ge=1)] = DEFAULT_SIZE_BYTES,
        candidates: Annotated[list[str] | None, Query()] = None,
    ) -> PlacementView:
        """The switches where the session's agents would cost least, with its members as they are now.

        Without senders, as in TCP sessions, a host of every switch counts as one.
        """
        found = controller.manager.get(session)
        # In a thread: seconds of work in a large network must not stop the controller.
        placement = await asyncio.to_thread(
            choose,
            controller.topology,
            [found.members[source].host for source in found.sources] or anybody(controller.topology),
            [found.members[number].host for number in (*found.receivers, *found.listeners)],
            agents,
            candidates=candidates,
            size_bytes=size_bytes,
        )
        return PlacementView.model_validate(asdict(placement))

    return router
