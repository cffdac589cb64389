"""The REST API that computes a placement of agents, /sessions/{id}/placement, and changes nothing."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from groupflow.control.controller import Controller
from groupflow.control.split.placing import anybody
from groupflow.placement import DEFAULT_SIZE_BYTES, Placement, choose


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
