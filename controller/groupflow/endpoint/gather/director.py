"""Directors decide on the settings of a server that gathers: a tuner in its process, or a controller."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, cast

from groupflow.endpoint.events import Event
from groupflow.endpoint.gather.tuner import Message

if TYPE_CHECKING:
    import httpx

TIMEOUT = 2.0
"""seconds until an answer of the controller: a few rounds"""


class DirectorError(Exception):
    """No settings can be had now. The text is one line with the cure."""


class Director(Protocol):
    async def direct(self, event: Event, *, repeat: bool, refused: str | None) -> Message | None:
        """As `Tuner.take`. Raises DirectorError or EventError."""
        ...


class ControllerDirector:
    """Gives measurements to a controller, over its REST API, and gets messages for the server."""

    def __init__(self, url: str, token: str = "") -> None:
        """`token`: the controller's --agent-token, if it has one."""
        self.url = url
        self._token = token
        self._started = time.time_ns()
        self._client: httpx.AsyncClient

    async def __aenter__(self) -> Self:
        import httpx

        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        base = f"{self.url.rstrip('/')}/v1"
        self._client = httpx.AsyncClient(base_url=base, headers=headers, timeout=TIMEOUT, trust_env=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def direct(self, event: Event, *, repeat: bool, refused: str | None) -> Message | None:
        import httpx

        body = {"started": self._started, "repeat": repeat, "refused": refused}
        if event.name == "round":
            body |= {"clients": event.fields.get("clients"), "round": event.integer("round")}
        try:
            response = await self._client.post("/gather/rounds", json=body)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = (str(error) or type(error).__name__).lower()
            raise DirectorError(f"no controller at {self.url} ({reason})") from None
        try:
            answer = cast(object, response.json())
        except ValueError:
            answer = None
        if isinstance(answer, dict):
            fields = cast(Mapping[str, object], answer)
            if response.is_error and "error" in fields:
                raise DirectorError(f"the controller at {self.url} refuses this server: {fields['error']}")
            message = fields.get("message", ...)
            if message is None or isinstance(message, dict):
                return cast(Message | None, message)
        raise DirectorError(f"{self.url} does not answer as a controller does; correct --controller")
