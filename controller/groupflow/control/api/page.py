"""The page and its data as server-sent events, all without a network."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException, Query
from fastapi.responses import FileResponse, StreamingResponse
from starlette.staticfiles import StaticFiles

from groupflow.control.api.schemas import answer_errors_in_one_line
from groupflow.control.live.frames import Form
from groupflow.control.live.recording import Recording
from groupflow.control.live.sampler import MOST_VIEWERS, Live
from groupflow.data import PAGE

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "Cache-Control": "no-cache",
}


def add_page(app: FastAPI) -> None:
    """The page at `/`, and its files below `/page`."""

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html", headers=_HEADERS)

    app.mount("/page", StaticFiles(directory=PAGE))


def live_routes(live: Live) -> APIRouter:
    """The data of the page: /live and /topology."""
    router = APIRouter(tags=["page"])

    @router.get("/topology")
    async def show_topology() -> dict[str, Any]:
        """Switches, hosts and links: the part that does not change."""
        return live.topology

    @router.get("/live", response_class=StreamingResponse)
    async def follow() -> StreamingResponse:
        """Server-sent events: the frames of the last minute, then a frame each half second."""
        if live.crowded:
            raise HTTPException(503, f"{MOST_VIEWERS} viewers watch already, the most; close a page")
        return _events(live.frames())

    @router.get("/switches/{name}/trace")
    async def trace_packet(
        name: str,
        match: Annotated[list[str] | None, Query()] = None,
        port: Annotated[int | None, Query(ge=0, le=511)] = None,
        dropped: bool = False,
        seconds: Annotated[float, Query(gt=0, le=60)] = 20,
    ) -> Form:
        """The way of the next packet through a switch, step by step (docs/reference/trace.md)."""
        wanted = {"match": match or [], "dropped": dropped} | ({} if port is None else {"port": port})
        found = await live.trace(name, wanted, seconds)
        if found is None:
            raise HTTPException(404, f"no such packet came to {name} within {seconds:g} s")
        return found

    return router


def make_player(recording: Recording) -> FastAPI:
    """The page for a recording."""
    app = FastAPI(title="groupflow player", version="1", docs_url=None, redoc_url=None)
    add_page(app)

    @app.get("/v1/topology")
    async def show_topology() -> Form:
        return recording.topology

    @app.get("/v1/live")
    async def follow(
        at: Annotated[float, Query(ge=0, le=1e9)] = 0, speed: Annotated[float, Query(gt=0, le=1000)] = 1
    ) -> StreamingResponse:
        """The frames before `at`, in seconds, at once, and those after it at their times."""
        return _events(recording.frames(at, speed))

    answer_errors_in_one_line(app)
    return app


def _events(frames: AsyncIterator[str]) -> StreamingResponse:
    async def stream() -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        async for text in frames:
            yield f"data: {text}\n\n"
        yield "event: end\ndata:\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
