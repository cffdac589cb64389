"""Directors decide on the settings of a server that gathers: a tuner in its process, or a controller."""

from typing import Any, Protocol, TypeAlias, cast

from groupflow.agents.controller_link import ControllerLink
from groupflow.agents.events import Event

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
