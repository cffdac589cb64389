"""The REST API of the controller, which the commands use. Described at /docs and /openapi.json."""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException, Query
from fastapi.responses import StreamingResponse

from groupflow.control.api import schemas, views
from groupflow.control.api.agents import agent_routes
from groupflow.control.api.diffusion import diffusion_routes
from groupflow.control.api.gather import gather_routes, round_routes
from groupflow.control.api.page import add_page, live_routes
from groupflow.control.api.tcp import changed, chosen, placement_routes, tcp_routes
from groupflow.control.bodies import Change, New
from groupflow.control.controller import Controller
from groupflow.control.live.sampler import Live
from groupflow.model.session import MemberTargets, NewSession
from groupflow.p4rt.entries import TABLE_ORDER, decode, read_counter, wildcards


def make_app(controller: Controller, live: Live | None = None) -> FastAPI:
    """The application, with the page of what `live` sees."""
    app = schemas.make_api(
        "groupflow controller",
        _sessions(controller),
        tcp_routes(controller),
        agent_routes(controller),
        _switches(controller),
        diffusion_routes(controller),
        placement_routes(controller),
        gather_routes(controller.gathering),
        round_routes(controller.gathering),
        live_routes(live or Live(controller)),
        _rest(controller),
    )
    add_page(app)
    return app


def _sessions(controller: Controller) -> APIRouter:
    router = APIRouter(tags=["sessions"])
    manager = controller.manager

    @router.get("/sessions")
    async def list_sessions() -> list[schemas.SessionView]:
        return [views.session_view(session) for _, session in sorted(manager.sessions.items())]

    @router.post("/sessions", status_code=201)
    async def create_session(new: Annotated[NewSession, New()]) -> schemas.CreatedSession:
        tcp = await chosen(controller, new.tcp) if new.tcp else None
        session = await manager.create(replace(new, tcp=tcp))
        return schemas.CreatedSession(
            **views.session_view(session).model_dump(), tokens=views.tokens_of(controller, session)
        )

    @router.get("/sessions/{session}")
    async def show_session(session: int) -> schemas.SessionDetail:
        return views.session_detail(controller, manager.get(session))

    @router.patch("/sessions/{session}")
    async def change_session(
        session: int, change: Annotated[dict[str, Any], Change(schemas.RunningSession)]
    ) -> schemas.SessionView:
        """Changes settings; those of TCP for streams that begin afterwards."""
        tcp = change.pop("tcp", None)
        if tcp is not None:
            change["tcp"] = await changed(controller, manager.get(session), tcp)
        return views.session_view(await manager.change(session, **change))

    @router.delete("/sessions/{session}", status_code=204)
    async def delete_session(session: int) -> None:
        await manager.delete(session)

    @router.get("/sessions/{session}/tokens")
    async def show_tokens(session: int) -> schemas.Tokens:
        return views.tokens_of(controller, manager.get(session))

    @router.get("/sessions/{session}/members")
    async def list_session_members(session: int) -> list[schemas.MemberView]:
        found = manager.get(session)
        return [views.member_view(controller, found, member) for member in found.members.values()]

    @router.post("/sessions/{session}/members", status_code=201)
    async def add_listener(session: int, new: schemas.NewMember) -> schemas.MemberView:
        """Registers a member for a program that does not join itself with `groupflow session join`."""
        member = await manager.register(session, new.host, new.port, new.name, new.start)
        return views.member_view(controller, manager.get(session), member)

    @router.delete("/sessions/{session}/members/{member}", status_code=204)
    async def remove_member(session: int, member: int) -> None:
        found = manager.get(session).members.get(member)
        if found is None:
            raise HTTPException(404, f"session {session} has no member {member}; list its members")
        await manager.remove(session, member, "left", f"{found.name} was removed by the operator")

    @router.patch("/sessions/{session}/members/{member}")
    async def change_member(
        session: int, member: int, change: Annotated[dict[str, Any], Change(MemberTargets)]
    ) -> schemas.MemberView:
        """Changes target, minimum or priority of a receiver, from the next round of tuning on."""
        await controller.sharing.change(session, member, **change)
        found = manager.get(session)
        return views.member_view(controller, found, found.members[member])

    @router.get("/members")
    async def list_members() -> list[schemas.MemberView]:
        return [
            views.member_view(controller, session, member)
            for session in manager.sessions.values()
            for member in session.members.values()
        ]

    return router


def _switches(controller: Controller) -> APIRouter:
    router = APIRouter(tags=["switches"])

    def known(name: str) -> str:
        if name not in controller.devices:
            known_names = ", ".join(controller.devices)
            raise HTTPException(404, f"no switch {name!r}; there are {known_names}")
        return name

    @router.get("/switches")
    async def list_switches() -> list[schemas.SwitchView]:
        return [views.switch_view(controller, name) for name in controller.devices]

    @router.get("/switches/{name}")
    async def show_switch(name: str) -> schemas.SwitchView:
        return views.switch_view(controller, known(name))

    @router.get("/switches/{name}/entries")
    async def list_entries(name: str, table: str | None = None) -> list[schemas.EntryView]:
        """The entries of the switch's tables, read from the switch itself."""
        if table is not None and table not in TABLE_ORDER:
            raise HTTPException(404, f"no table {table!r}; there are {', '.join(TABLE_ORDER)}")
        entities = await controller.devices[known(name)].query(wildcards(controller.program))
        return views.entry_views(controller.program, decode(controller.program, entities), table)

    @router.get("/switches/{name}/counters")
    async def list_counters(name: str, counter: str | None = None) -> dict[str, list[schemas.CountView]]:
        """The switch's counters, read from the switch itself; cells that never counted are left out."""
        counters = controller.program.counters
        if counter is not None and counter not in counters:
            raise HTTPException(404, f"no counter {counter!r}; there are {', '.join(counters)}")
        device = controller.devices[known(name)]
        return {
            info.name: [
                schemas.CountView(
                    index=views.counter_index(controller, name, info.name, count.cell),
                    packets=count.packets,
                    bytes=count.bytes,
                )
                for count in await read_counter(controller.program, info, device.query)
            ]
            for info in counters.values()
            if counter in (None, info.name)
        }

    return router


def _rest(controller: Controller) -> APIRouter:
    router = APIRouter()

    @router.get("/health")
    async def health() -> schemas.Health:
        up = sum(1 for device in controller.devices.values() if device.state == "up")
        return schemas.Health(
            status="ok" if up == len(controller.devices) else "degraded",
            switches_up=up,
            switches=len(controller.devices),
            sessions=len(controller.manager.sessions),
            uptime=int(time.time() - controller.started),
            sharing=controller.sharing.problem,
        )

    @router.get("/links")
    async def list_links() -> list[schemas.LinkView]:
        return [views.link_view(link) for link in controller.topology.links]

    @router.get("/events", response_class=StreamingResponse)
    async def follow_events(recent: Annotated[int, Query(ge=0, le=256)] = 0) -> StreamingResponse:
        """Server-sent events: first the latest `recent` events, then each event as it happens."""

        async def stream() -> AsyncIterator[str]:
            with controller.events.subscribed() as subscriber:
                for event in controller.events.recent()[-recent:] if recent else []:
                    yield f"data: {json.dumps(event)}\n\n"
                yield ": following\n\n"
                while True:
                    yield f"data: {json.dumps(await subscriber.next())}\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    return router
