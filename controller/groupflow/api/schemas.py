"""What the REST API takes and gives. FastAPI makes the OpenAPI document of these."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from groupflow.sessions.model import DEFAULT_WINDOW, LAST_SESSION, LAST_WINDOW


class Problem(BaseModel):
    """Every error: one line with the cause and the cure."""

    error: str


class NewSession(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: int | None = Field(None, ge=1, le=LAST_SESSION, description="chosen by the controller when left out")
    mode: Literal["e2e", "n2n"] = Field("e2e", description="who acknowledges: the receivers, or each cache")
    policy: Literal["strict", "isolate", "demote"] = Field("strict", description="what a slow receiver does")
    window: int = Field(DEFAULT_WINDOW, ge=1, le=LAST_WINDOW, description="packets outstanding at most")
    lifetime: int | None = Field(None, ge=1, description="seconds until the session expires; none: never")


class SessionChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    mode: Literal["e2e", "n2n"] | None = None
    policy: Literal["strict", "isolate", "demote"] | None = None
    window: int | None = Field(None, ge=1, le=LAST_WINDOW)


class MemberView(BaseModel):
    session: int
    id: int
    name: str
    role: Literal["sender", "receiver"]
    host: str
    switch: str
    udp_port: int
    joined: int = Field(description="seconds since 1970")
    next: int = Field(description="receiver: the packet it expects; sender: the packet it will send")
    repairs: int
    complete: list[int] = Field(description="the streams it has received whole")
    isolated: bool = Field(description="too slow for a stream, and fed by its switch's cache")


class BranchView(BaseModel):
    node: str
    member: int = Field(description="0: the next switch")
    isolated: bool


class NodeView(BaseModel):
    """A switch's part in a stream."""

    switch: str
    upstream: str
    branches: list[BranchView]
    agent: str | None = Field(description="the cache agent that caching is delegated to")


class StreamView(BaseModel):
    source: int
    rate: int = Field(description="bit/s of the slowest link that counts; 0: not limited")
    tree: list[NodeView]


class SessionView(BaseModel):
    id: int
    mode: Literal["e2e", "n2n"]
    policy: Literal["strict", "isolate"]
    window: int
    created: int
    expires: int | None
    senders: int
    receivers: int


class SessionDetail(SessionView):
    members: list[MemberView]
    streams: list[StreamView]


class Tokens(BaseModel):
    """Whoever has one of these may join in its role; `join` is good for both."""

    join: str
    sender: str
    receiver: str


class CreatedSession(SessionView):
    tokens: Tokens


class AgentView(BaseModel):
    switch: str
    host: str
    name: str
    id: int
    udp_port: int
    joined: int
    cached_bytes: int
    repairs: int
    full: bool
    streams: int = Field(description="streams it is to cache")


class SwitchView(BaseModel):
    name: str
    device_id: int
    grpc: str
    state: Literal["down", "syncing", "up"]
    problem: str | None = Field(description="why it is not up")
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
    index: str = Field(description="what is counted, e.g. a port or a stream")
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
