"""The way from a process to a controller: it shows what it holds, and is told its bounds.

A process works on without a controller, within the last bounds it was told.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, cast

from groupflow.agents.api_token import headers, trusted
from groupflow.errors import UnavailableError, reason

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

TOKEN_VARIABLE = "GROUPFLOW_AGENT_TOKEN"
"""environment variable of the token of agents, which lets them report and no more"""
TIMEOUT = 1.0
"""seconds until an answer of the controller: with one lost, the next report comes before member_timeout"""
REPORT_SECONDS = 1.0

ReportingKind: TypeAlias = Literal["hub", "rim", "dispatcher"]
BOUND_OF: Mapping[ReportingKind, str] = {"hub": "rate_bps", "rim": "bytes", "dispatcher": "hosts"}
"""the one bound that each kind obeys"""


class ControllerLink:
    """Requests to a controller's REST API."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """`token`: of agents; None: that of the environment, or of the API itself, where it is found."""
        self.url = url
        self.started = time.time_ns()
        """tells the controller this process from an earlier one"""
        self._token = os.environ.get(TOKEN_VARIABLE) if token is None else token
        self._client: httpx.AsyncClient

    async def __aenter__(self) -> Self:
        """Raises ClientError for a URL at which others could read the token."""
        import httpx

        headers(self.url, self._token)
        logging.getLogger("httpx").setLevel("WARNING")  # it logs every request
        base = f"{self.url.rstrip('/')}/v1"
        self._client = httpx.AsyncClient(base_url=base, timeout=TIMEOUT, trust_env=False, verify=trusted())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def post(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        """The controller's answer. Raises UnavailableError."""
        import httpx

        try:
            said = {"started": self.started, **body}
            # A controller that was started again may have another token.
            response = await self._client.post(path, json=said, headers=headers(self.url, self._token))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnavailableError(f"no controller at {self.url} ({reason(error)})") from None
        try:
            answer = cast(object, response.json())
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self.nonsense()
        fields = cast(Mapping[str, object], answer)
        if response.is_error:
            if "error" not in fields:
                raise self.nonsense()
            raise UnavailableError(f"the controller at {self.url} refuses this process: {fields['error']}")
        return fields

    def nonsense(self) -> UnavailableError:
        """The error for an answer that no controller gives."""
        return UnavailableError(f"{self.url} does not answer as a controller does; correct --api")


@dataclass(frozen=True)
class Standing:
    """A process as it stands: the address it listens at, what it holds, and the bound that it obeys."""

    at: str
    holds: Mapping[str, int]
    bound: int
    problem: str | None = None


@asynccontextmanager
async def registered(
    url: str | None,
    kind: ReportingKind,
    name: str,
    look: Callable[[], Standing | None],
    obey: Callable[[int | None], None],
) -> AsyncGenerator[None]:
    """Keeps a process registered at a controller during the block; `url` None: there is no controller.

    `look` returns None while the process is not ready. `obey` is called with each bound that the controller
    has, and with None when the process's own bound is to hold.
    """
    if url is None:
        yield
        return
    async with ControllerLink(url) as link:
        reporting = asyncio.create_task(_report(link, kind, name, look, obey), name="reports")
        reporting.add_done_callback(_ended)
        try:
            yield
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)


async def _report(
    link: ControllerLink,
    kind: ReportingKind,
    name: str,
    look: Callable[[], Standing | None],
    obey: Callable[[int | None], None],
) -> None:
    """Reports again and again until cancelled; a failure is told once."""
    failed = False
    while True:
        standing = look()
        if standing is not None:
            form = asdict(standing)
            form["bounds"] = {BOUND_OF[kind]: form.pop("bound")}
            try:
                answer = await link.post("/agents/reports", {"kind": kind, "name": name, **form})
                bound = answer.get(BOUND_OF[kind], ...)
                if not (bound is None or (isinstance(bound, int) and bound > 0)):
                    raise link.nonsense()
                obey(bound)
                if failed:
                    log.warning("the controller at %s answers again", link.url)
                failed = False
            except UnavailableError as error:
                if not failed:
                    log.warning("%s; this %s goes on with its last bounds", error, kind)
                failed = True
        await asyncio.sleep(REPORT_SECONDS if standing else REPORT_SECONDS / 10)


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        log.critical("the controller gets no reports any more", exc_info=task.exception())
