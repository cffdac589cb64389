"""Requests and answers of the REST API. FastAPI makes the OpenAPI document of these."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi_offline import FastAPIOffline
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from groupflow.control.bodies import Request, View
from groupflow.control.sessions.model import Tcp
from groupflow.errors import Error
from groupflow.model.session import Mode, Policy, SessionSettings, TcpSettings


class Problem(BaseModel):
    """The answer to a request that failed: one line with the cause and the cure."""

    error: str


@dataclass(frozen=True, kw_only=True)
class RunningSession(SessionSettings):
    """A session that can be changed."""

    tcp: TcpSettings | None = None


class NewMember(Request):
    """A program that listens on a host, to be a member of a TCP session until it is removed or fails."""

    host: str
    port: int = Field(ge=1, le=65535)
    name: str = Field("", max_length=200, description="the host's when left out")
    start: Literal["now", "start"] = Field("now", description="join point in a stream under way")


class MemberView(BaseModel):
    session: int
    id: int
    name: str
    role: Literal["sender", "receiver", "listener"]
    host: str
    switch: str
    udp_port: int
    joined: int = Field(description="seconds since 1970")
    next: int = Field(description="receiver: the packet it expects; sender: the packet it will send")
    repairs: int
    complete: list[int] = Field(description="the streams it has received whole")
    isolated: bool = Field(description="too slow for a stream, and fed by its switch's cache")
    tcp_port: int = Field(description="TCP port of a listener; 0: not a listener")
    target_bps: int | None = Field(description="rate that a receiver is to get; null: none")
    minimum_bps: int | None = Field(description="rate before others get more; null: the smallest target")
    priority: int
    share_bps: int | None = Field(description="the most that its cache agent feeds it; null: no bound")
    share_bytes: int | None = Field(description="the most bytes that wait for it at the agent")
    rate_bps: int | None = Field(description="rate of the last second; null: no session that isolates")


class BranchView(BaseModel):
    node: str
    member: int = Field(description="the member behind the branch; 0: the next switch")
    isolated: bool


class NodeView(BaseModel):
    """A switch's part in a stream."""

    switch: str
    upstream: str
    branches: list[BranchView]
    agent: str | None = Field(description="the cache agent that caching is delegated to")


class StreamView(BaseModel):
    source: int
    rate: int = Field(description="bit/s of the slowest link that limits the stream; 0: not limited")
    tree: list[NodeView]


class SessionView(BaseModel):
    id: int
    mode: Mode
    policy: Policy
    window: int
    created: int
    expires: int | None
    senders: int
    receivers: int
    listeners: int = Field(description="members that take TCP streams")
    address: str | None = Field(description="IPv4 address for TCP clients")
    tcp: Annotated[Any, View(Tcp)] | None


class ReceiptView(BaseModel):
    """A member has all of a stream: its TCP has acknowledged every byte and the end."""

    stream: str
    member: int
    name: str
    bytes: int
    at: float = Field(description="seconds since 1970")


class TcpStreamView(BaseModel):
    stream: str
    peer: str = Field(description="the sender's IP:PORT; empty: not known")
    switch: str = Field(description="the switch beside the sender's agent")
    outcome: str = Field(description="how the stream ended; empty: it is under way")
    receipts: list[ReceiptView]
    failed: dict[int, str] = Field(description="the reason of each member's loss, by member")


class TcpAgentView(BaseModel):
    """A split agent's part in a session."""

    switch: str
    host: str
    state: Literal["up", "down"]
    problem: str | None = Field(description="why the agent is down, or refused the session")
    counters: dict[str, Any] = Field(description="the agent's counters: docs/explanation/split.md")


class TcpDetail(BaseModel):
    settings: Annotated[Any, View(Tcp)]
    agents: list[TcpAgentView]
    streams: list[TcpStreamView]


class SessionDetail(SessionView):
    members: list[MemberView]
    streams: list[StreamView]


class Tokens(BaseModel):
    """A session's tokens. A bearer of one may join in its role; `join` is good for both roles."""

    join: str
    sender: str
    receiver: str


class CreatedSession(SessionView):
    tokens: Tokens


class SwitchView(BaseModel):
    name: str
    device_id: int
    grpc: str
    state: Literal["down", "syncing", "up"]
    problem: str | None = Field(description="why the switch is not up")
    agent: str | None
    streams: int
    entries: int = Field(description="table entries and groups it should hold")
    packets_dropped: int = Field(description="packets to or from the controller lost to full queues")


class EntryView(BaseModel):
    table: str = Field(description="a table's name, or `groups`")
    match: dict[str, int | str]
    action: str | None = None
    params: dict[str, int | str] = Field(default_factory=dict[str, int | str])
    replicas: list[dict[str, int]] = Field(default_factory=list[dict[str, int]])


class CountView(BaseModel):
    index: str = Field(description="the counted object, e.g. a port or a stream")
    packets: int
    bytes: int


class LinkView(BaseModel):
    name: str
    ends: list[str]
    rate: str
    delay: str
    loss: str
    queue: int


class Health(BaseModel):
    status: Literal["ok", "degraded"] = Field(description="degraded: a switch is not up")
    switches_up: int
    switches: int
    sessions: int
    uptime: int = Field(description="seconds")
    sharing: str | None = Field(description="why receivers' shares are not in effect")


def make_api(title: str, *routers: APIRouter) -> FastAPI:
    """An application with these routes below /v1."""
    problems: dict[int | str, dict[str, Any]] = {kind: {"model": Problem} for kind in ("4XX", "5XX")}
    app = FastAPIOffline(title=title, version="1", responses=problems)
    for router in routers:
        app.include_router(router, prefix="/v1")
    answer_errors_in_one_line(app)
    return app


def answer_errors_in_one_line(app: FastAPI) -> None:
    """Makes every error of the application a `Problem`."""

    async def answer(_: object, error: Exception) -> JSONResponse:
        status, text = 500, str(error)
        if isinstance(error, Error):
            status = error.kind.status
        elif isinstance(error, HTTPException):
            status, text = error.status_code, str(error.detail)
        elif isinstance(error, RequestValidationError):
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
            status, text = 422, f"{where}: {first['msg'].removeprefix('Value error, ').lower()}; see /docs"
        return JSONResponse({"error": text.splitlines()[0] if text else "failed"}, status)

    for kind in (Error, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answer)
