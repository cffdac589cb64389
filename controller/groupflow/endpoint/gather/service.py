"""A running server that gathers: gfagent measures and applies settings, the policy decides, and a REST API
tells the state."""

import json
import logging
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from groupflow.endpoint.agent_process import AgentProcess
from groupflow.endpoint.events import Event, EventError
from groupflow.endpoint.gather.clients import ClientList
from groupflow.endpoint.gather.options import ServeOptions
from groupflow.endpoint.gather.tuner import Tuner
from groupflow.tuning.model import Policy

log = logging.getLogger(__name__)

_BACKLOG = 1 << 20
"""bytes of tunings not yet read by the server: with more, a round is left out"""


class GatherService:
    """`async with` starts the server, and stops it at the end of the block."""

    def __init__(
        self,
        listed: ClientList,
        policy: Policy[Any],
        options: ServeOptions,
        *,
        on_event: Callable[[Event], None] = lambda _: None,
        launcher: tuple[str, ...] = (),
    ) -> None:
        """`options.clients` is not used: the list goes to a file that only its owner can read."""
        self.tuner = Tuner(listed, policy)
        self.agent: AgentProcess
        self._listed = listed
        self._options = options
        self._on_event = on_event
        self._launcher = launcher
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            clients = stack.enter_context(_written(self._listed))
            limits = self._listed.limits
            options = replace(
                self._options, clients=clients, buffer=limits.buffer, max_connections=limits.connections
            )
            self.agent = await stack.enter_async_context(
                AgentProcess(options, on_event=self._take, piped_input=True, launcher=self._launcher)
            )
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def ready(self) -> Event:
        """The event with the server's address. Raises AgentError when the server cannot listen."""
        return await self.agent.wait_for("ready")

    def _take(self, event: Event) -> None:
        self._on_event(event)
        if event.name == "tune_refused":
            log.error("tuning refused: %s", event.fields.get("text"))
            self.tuner.forget_given()
        if event.name == "ready":
            self._tell(self.tuner.begin())
        if event.name == "round":
            try:
                self._tell(self.tuner.take(event))
            except EventError as error:
                log.error("round not understood: %s", error)

    def _tell(self, change: dict[str, object] | None) -> None:
        if change is None:
            return
        if self.agent.data_in.transport.get_write_buffer_size() > _BACKLOG:
            log.warning("round=%d not tuned: the server does not read", self.tuner.round)
            self.tuner.forget_given()
            return
        self.agent.data_in.write(json.dumps(change).encode() + b"\n")


@contextmanager
def _written(listed: ClientList) -> Generator[Path]:
    """A file with the list as gfagent reads it, removed at the end of the block."""
    form = {"clients": [{"client": each.client.name, "token": each.token} for each in listed.clients]}
    handle, name = tempfile.mkstemp(prefix="groupflow-clients-", suffix=".json")  # for its owner only
    path = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(form, file)
        yield path
    finally:
        path.unlink(missing_ok=True)
