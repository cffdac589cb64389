"""A controller whose REST API is on a socket, and the command that uses it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx

from groupflow.agents.api_token import headers, published
from groupflow.cli.main import main
from groupflow.control.api.access import Guard
from groupflow.control.api.rest import make_app
from groupflow.control.api.server import listen, serve_app, url_of
from tests.support.world import World, world


@asynccontextmanager
async def served(agents: str | None = None) -> AsyncGenerator[tuple[World, httpx.AsyncClient, str]]:
    """A controller's API behind its token; session 7 has a sender at h1, and receivers at h2 and h3."""
    async with world() as w:
        with listen("127.0.0.1", 0) as listener, published([url_of(listener)]) as token:
            url = url_of(listener)
            guard = Guard(make_app(w.running), token, agents=agents)
            serving = asyncio.create_task(serve_app(guard, listener))
            try:
                await w.host("c1").register()
                await w.session()
                await w.host("h1").join(7, "sender")
                await w.host("h2").join(7)
                await w.host("h3").join(7)
                async with httpx.AsyncClient(
                    base_url=f"{url}/v1", trust_env=False, headers=headers(url)
                ) as client:
                    yield w, client, url
            finally:
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)


async def command(url: str, *words: str) -> int:
    return await asyncio.to_thread(main, ["--api", url, *words])
