"""One split agent, kept as desired: connects for ever, reconciles, then pushes each change as it comes."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from groupflow.control.split import control_socket
from groupflow.errors import InvalidError, UnavailableError

log = logging.getLogger(__name__)

AgentState: TypeAlias = Literal["down", "up"]

FIRST_BACKOFF_SECONDS = 0.1
LAST_BACKOFF_SECONDS = 1.0


class SplitAgent:
    """Task and state of one agent. The agent outlives a connection, so it is asked for its sessions."""

    def __init__(
        self,
        switch: str,
        host: str,
        place: Path,
        on_state: Callable[[str, AgentState], None],
        on_event: Callable[[str, control_socket.Form], None],
    ) -> None:
        self.switch = switch
        self.host = host
        self.place = place
        self.state: AgentState = "down"
        self.problem = "not connected yet"
        """why the agent is down, in one line"""
        self.refused: dict[int, str] = {}
        """why the agent refused a session, by session"""
        self._on_state = on_state
        self._on_event = on_event
        self._desired: dict[int, control_socket.Form] = {}
        self._told: dict[int, control_socket.Form] = {}
        self._changed = asyncio.Event()
        self._settled = asyncio.Condition()
        self._link: control_socket.ControlSocket | None = None

    @property
    def sessions(self) -> tuple[int, ...]:
        """Ids of the sessions that the agent should have."""
        return tuple(sorted(self._desired))

    def want(self, session: int, form: control_socket.Form | None) -> None:
        """Sets the desired state of a session at the agent; `form` None: the agent should not have it."""
        if form == self._desired.get(session):
            return
        if form is None:
            del self._desired[session]
        else:
            self._desired[session] = form
        self.refused.pop(session, None)
        self._changed.set()

    async def settled(self, session: int) -> str | None:
        """Waits until the agent has a session as desired, or is down. Returns why it refused, if it did."""
        async with self._settled:
            await self._settled.wait_for(lambda: self.state == "down" or self._is_settled(session))
        return self.refused.get(session)

    async def stats(self) -> control_socket.Form | None:
        """The agent's counters; None: the agent is down."""
        if self._link is None or self.state == "down":
            return None
        try:
            return await self._link.request("stats")
        except (UnavailableError, InvalidError) as error:
            log.warning("agent=%s stats failed: %s", self.host, error)
            return None

    async def run(self) -> None:
        """Serves the agent until cancelled, through any number of connections."""
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            try:
                self._link = await control_socket.ControlSocket.open(
                    self.place, lambda event: self._on_event(self.switch, event)
                )
                backoff = FIRST_BACKOFF_SECONDS
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._link.serve())
                    tasks.create_task(self._synchronise(self._link))
            except* (UnavailableError, InvalidError) as errors:
                self._note(errors)
            except* Exception:
                log.exception("agent=%s: unexpected failure", self.host)
                self.problem = "unexpected failure; see the controller's log"
            finally:
                await self._disconnected()
            await asyncio.sleep(backoff)
            backoff = min(2 * backoff, LAST_BACKOFF_SECONDS)

    async def _synchronise(self, link: control_socket.ControlSocket) -> None:
        await link.request("watch")
        listed = await link.request("list")
        self._told = {
            number: form
            for form in control_socket.forms(listed, "sessions")
            if isinstance(number := form.get("id"), int)
        }
        self.refused.clear()
        while True:
            self._changed.clear()
            await self._push(link)
            if self.state == "down":
                log.info("agent=%s state=up sessions=%d", self.host, len(self._told))
                self.state = "up"
                self._on_state(self.switch, "up")
            async with self._settled:
                self._settled.notify_all()
            await self._changed.wait()

    async def _push(self, link: control_socket.ControlSocket) -> None:
        for session in self._told.keys() - self._desired.keys():
            try:
                await link.request("remove_session", session=session)
            except InvalidError as error:
                log.warning("agent=%s session=%d not removed: %s", self.host, session, error)
            self._told.pop(session, None)
        for session, form in list(self._desired.items()):
            if self._told.get(session) == form or self._desired.get(session) != form:
                continue
            try:
                await link.request("set_session", session=form)
            except InvalidError as error:
                self.refused[session] = str(error)
                log.error("agent=%s session=%d refused: %s", self.host, session, error)
            self._told[session] = form

    def _is_settled(self, session: int) -> bool:
        return self._told.get(session) == self._desired.get(session)

    def _note(self, errors: BaseExceptionGroup[BaseException]) -> None:
        problem = str(errors.exceptions[0])
        if problem != self.problem and self.state == "up":
            log.warning("agent=%s state=down problem=%r", self.host, problem)
        self.problem = problem

    async def _disconnected(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()
        self._told.clear()
        if self.state == "up":
            self.state = "down"
            self._on_state(self.switch, "down")
        async with self._settled:
            self._settled.notify_all()
