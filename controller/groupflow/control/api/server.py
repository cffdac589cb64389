"""Serves the REST API in the controller's own event loop."""

import asyncio
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress

import uvicorn
from fastapi import FastAPI

from groupflow.control.api.rest import make_app
from groupflow.control.controller import Controller
from groupflow.control.live.sampler import Live


class ApiError(Exception):
    """The API cannot be served. The text is one line with the cure."""


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield  # the command handles signals


def listen(host: str, port: int) -> socket.socket:
    """The API's socket, taken before anything else is done. Raises ApiError."""
    try:
        return socket.create_server((host, port))
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
        raise ApiError(
            f"cannot serve the API at {host}:{port}: {reason}; choose another with --api"
        ) from None


def inherit(descriptor: int) -> socket.socket:
    """The API's socket, which the process that started this one has opened. Raises ApiError."""
    with suppress(OSError):
        listener = socket.socket(fileno=descriptor)
        if listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return listener
    raise ApiError(f"--api fd:{descriptor}: this process has inherited no listening socket {descriptor}")


async def serve(controller: Controller, *listeners: socket.socket, live: Live | None = None) -> None:
    """Serves a controller, and the page of what `live` sees, until cancelled."""
    await serve_app(make_app(controller, live or Live(controller)), *listeners)


async def serve_app(app: FastAPI, *listeners: socket.socket) -> None:
    """Serves until cancelled."""
    config = uvicorn.Config(
        app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=list(listeners)))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving
