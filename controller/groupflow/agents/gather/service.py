"""A running server that gathers: gfagent measures and applies settings, which a director decides on."""

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from signal import SIGTERM
from typing import Any, Protocol, Self, TypeAlias, cast

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.controller_link import ControllerLink
from groupflow.agents.events import Event, EventError
from groupflow.agents.gather.options import ServeOptions
from groupflow.errors import UnavailableError

Message: TypeAlias = dict[str, Any]
"""a line for gfagent's stdin (docs/reference/gather.md)"""


class Director(Protocol):
    async def direct(self, event: Event, *, repeat: bool, refused: str | None) -> Message | None:
        """Does the same as `Tuner.take`. Raises UnavailableError or EventError."""
        ...


class ControllerDirector(ControllerLink):
    """Gives measurements to a controller, and gets messages for the server."""

    async def direct(self, event: Event, *, repeat: bool, refused: str | None) -> Message | None:
        body: dict[str, object] = {"repeat": repeat, "refused": refused}
        if event.name == "round":
            body |= {"clients": event.fields.get("clients"), "round": event.integer("round")}
        message = (await self.post("/gather/rounds", body)).get("message", ...)
        if message is None or isinstance(message, dict):
            return cast(Message | None, message)
        raise self.nonsense()


log = logging.getLogger(__name__)

_BACKLOG = 1 << 20
"""bytes of tunings not yet read by the server: with more, a round is left out"""


class GatherService:
    """`async with` starts the server, and stops it at the end of the block."""

    def __init__(
        self,
        director: Director,
        options: ServeOptions,
        *,
        on_event: Callable[[Event], None] = lambda _: None,
        launcher: tuple[str, ...] = (),
    ) -> None:
        """gfagent gets its clients from the director, on stdin, and accepts nobody before."""
        self.agent = AgentProcess(options, on_event=self._take, piped_input=True, launcher=launcher)
        self._director = director
        self._on_event = on_event
        self._stack = AsyncExitStack()
        self._event: Event | None = None
        """the measurements that the director has not seen yet"""
        self._arrived = asyncio.Event()
        self._repeat = True
        self._refused: str | None = None
        self._failure: str | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.agent)
            following = asyncio.create_task(self._follow(), name="director")
            following.add_done_callback(self._followed)
            stack.callback(following.cancel)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def ready(self) -> Event:
        """The event with the server's address. Raises AgentError when the server cannot listen."""
        return await self.agent.wait_for("ready")

    def _take(self, event: Event) -> None:
        self._on_event(event)
        match event.name:
            case "ready" | "round":
                self._event = event
                self._arrived.set()
            case "tune_refused":
                self._repeat, self._refused = True, f"the server refused: {event.fields.get('text')}"
            case "tuned":
                self._refused = None
            case _:
                pass

    async def _follow(self) -> None:
        """Passes measurements to the director and its messages to gfagent, the latest first and only."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            assert self._event is not None
            repeat, self._repeat = self._repeat, False
            try:
                message = await self._director.direct(self._event, repeat=repeat, refused=self._refused)
            except (UnavailableError, EventError) as error:
                self._repeat = True
                if self._failure is None:
                    log.warning("%s; the server goes on with its last settings and clients", error)
                self._failure = str(error)
                continue
            if self._failure is not None:
                log.warning("the server gets settings again")
                self._failure = None
            self._tell(message)

    def _followed(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            log.critical("tuning ended, so the server ends", exc_info=task.exception())
            self.agent.signal(SIGTERM)

    def _tell(self, message: Message | None) -> None:
        if message is None:
            return
        if self.agent.data_in.transport.get_write_buffer_size() > _BACKLOG:
            log.warning("message=%s left out: the server does not read", message.get("id"))
            self._repeat = True
            return
        self.agent.data_in.write(json.dumps(message).encode() + b"\n")
