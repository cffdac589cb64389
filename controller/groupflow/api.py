"""A controller's REST API for programs: sessions with their tokens, members, events.

with groupflow.api.Client() as controller:
    session = controller.create_session(policy="isolate")
    print(session.id, session.tokens.join)
    print([member.name for member in controller.members(session.id)])
    controller.delete_session(session.id)
"""

import json
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Self, get_type_hints

import httpx

from groupflow.agents.api_token import headers, trusted
from groupflow.agents.arguments import ArgumentError, check
from groupflow.errors import Error, Kind, UnavailableError, reason
from groupflow.model import ports
from groupflow.model.fields import by_keys
from groupflow.model.session import NewSession, NewTcp
from groupflow.model.values import URL

if TYPE_CHECKING:
    from groupflow.control.api import schemas


class Client:
    """Requests to a controller. Each raises Error with what the controller said, or UnavailableError where
    none answers."""

    def __init__(self, url: str | None = None, *, token: str | None = None, option: str = "url=") -> None:
        """`url`: of the API, or unix:PATH (default: $GROUPFLOW_API, or http://127.0.0.1:9580). `token`: the
        API's (default: found for this user). `option`: errors call the URL so."""
        self.url = str(url or os.environ.get("GROUPFLOW_API", f"http://127.0.0.1:{ports.API}"))
        if not self.url.startswith("unix:"):
            check("url", Annotated[str, URL], self.url)
        self._token = token
        self._option = option
        path = self.url.removeprefix("unix:") if self.url.startswith("unix:") else None
        self._is_local = path is not None  # the API knows this process's user
        self._http = httpx.Client(
            base_url=f"{'http://localhost' if path else self.url.rstrip('/')}/v1",
            transport=httpx.HTTPTransport(uds=path) if path else None,
            timeout=15.0,
            trust_env=False,
            verify=True if path else trusted(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def request(
        self, method: str, path: str, body: object = None, params: Mapping[str, Any] | None = None
    ) -> Any:
        """Any request of the API, such as `request("GET", "/links")`: its JSON, None where there is none."""
        with self._answered():
            answer = self._http.request(method, path, json=body, params=params, headers=self._headers())
        _check(answer)
        return answer.json() if answer.content else None

    def create_session(self, id: int | None = None, **settings: Any) -> "schemas.CreatedSession":
        """A new session; `settings`: mode, policy, window, lifetime (seconds), tcp (`NewTcp` or mapping)."""
        hints = get_type_hints(NewSession, include_extras=True)
        if unknown := settings.keys() - hints.keys():
            raise ArgumentError(f"{min(unknown)}: unknown; settings are {', '.join(sorted(hints))}")
        body: dict[str, Any] = {}
        for name, value in ({"id": id} | settings).items():
            if isinstance(value, NewTcp):
                value = {key: each for key, each in by_keys(NewTcp, value).items() if each is not None}
            if value is not None:  # the controller checks what a mapping has
                body[name] = value if isinstance(value, Mapping) else check(name, hints[name], value)
        return _read("CreatedSession", self.request("POST", "/sessions", body))

    def sessions(self) -> "list[schemas.SessionView]":
        return [_read("SessionView", each) for each in self.request("GET", "/sessions")]

    def tokens(self, session: int) -> "schemas.Tokens":
        """The tokens with which members join: in their role, or in both."""
        return _read("Tokens", self.request("GET", f"/sessions/{session}/tokens"))

    def members(self, session: int) -> "list[schemas.MemberView]":
        return [_read("MemberView", each) for each in self.request("GET", f"/sessions/{session}/members")]

    def delete_session(self, session: int) -> None:
        """Ends the session for all its members."""
        self.request("DELETE", f"/sessions/{session}")

    def health(self) -> "schemas.Health":
        return _read("Health", self.request("GET", "/health"))

    def events(self, recent: int = 0) -> Iterator[dict[str, Any]]:
        """The latest events, then each as it happens, until the controller ends."""
        given: dict[str, Any] = {"params": {"recent": recent}, "timeout": None, "headers": self._headers()}
        with self._answered(), self._http.stream("GET", "/events", **given) as answer:
            if answer.is_error:
                answer.read()
                _check(answer)
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def _headers(self) -> dict[str, str]:
        """Anew for each request, as a controller that was started again may have another token."""
        return {} if self._is_local else headers(self.url, self._token)

    @contextmanager
    def _answered(self) -> Generator[None]:
        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnavailableError(
                f"no controller at {self.url} ({reason(error)});"
                f" start one with `groupflow net up`, or name its {self._option}"
            ) from None


def _check(answer: httpx.Response) -> None:
    if answer.is_error:
        try:
            text = answer.json()["error"]
        except (ValueError, KeyError, TypeError):
            text = f"the API answered {answer.status_code}; is it a groupflow controller?"
        raise Error(str(text), Kind.INVALID if answer.is_client_error else Kind.UNAVAILABLE)


def _read(kind: str, form: object) -> Any:
    """An answer. Its types come with FastAPI, for which only programs wait."""
    from groupflow.control.api import schemas

    return getattr(schemas, kind).model_validate(form)
