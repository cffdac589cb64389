"""A process that talks P4Runtime may fork: pools of workers do, and children with another user."""

import asyncio
import os
from typing import Any, cast

import grpc
import grpc.aio
import pytest

FORKS = 60
"""with gRPC's own handlers of fork(), one child of six crashed"""


@pytest.mark.slow
async def test_children_live_while_calls_are_in_flight() -> None:
    async def answer(request: bytes, _: object) -> bytes:
        return request

    server = grpc.aio.server()
    handler = cast(Any, grpc.unary_unary_rpc_method_handler(answer))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("fork", {"call": handler})])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()

    async def talk() -> None:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = cast(Any, channel.unary_unary("/fork/call"))
            while True:
                await call(b"again")

    talking = [asyncio.create_task(talk()) for _ in range(8)]
    try:
        for _ in range(FORKS):
            # With `user`, subprocess cannot use vfork().
            child = await asyncio.create_subprocess_exec("/bin/true", user=os.getuid())
            assert await child.wait() == 0
    finally:
        for each in talking:
            each.cancel()
        await asyncio.gather(*talking, return_exceptions=True)
        await server.stop(None)
