"""Requests and answers of /v1/gather, at a controller and at a server that gathers without one."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field

from groupflow.control.gather.gathering import ServerState
from groupflow.model.client import Client
from groupflow.model.fields import Help, matching


class GatherView(BaseModel):
    policy: str
    policies: list[str] = Field(description="the policies that can be chosen")
    server: ServerState = Field(description="away: no measurements came for 3 s")
    problem: str | None = Field(description="why the last settings are not in effect")
    round: int = Field(description="tunings so far; one every half second")
    tuning_ms: float = Field(description="duration of the last tuning")
    clients: int
    sending: int
    buffer: int = Field(description="bytes of all receive buffers together")
    windows: int = Field(description="bytes of them that are given to clients")
    connections: int = Field(description="the most connections of a client")
    link_bps: int


class ClientView(BaseModel):
    name: str
    target_bps: int
    minimum_bps: int | None = Field(description="null: the smallest target of all clients")
    priority: int
    sending: bool
    met: bool | None = Field(default=None, description="whether the last round reached the target")
    stream: str | None = None
    throughput_bps: float | None = Field(default=None, description="throughput in the last round")
    bytes: int | None = Field(default=None, description="bytes of the stream, delivered in order")
    rtt_ms: float | None = None
    rto_ms: float | None = None
    loss_ratio: float | None = None
    window: int | None = Field(default=None, description="W, bytes; null: the kernel tunes")
    advertised: int | None = Field(default=None, description="window that TCP advertises now, in all")
    connections: int | None = Field(default=None, description="connections that are open now")
    wanted: int | None = Field(default=None, description="N")


@dataclass(frozen=True, kw_only=True)
class NewClient(Client):
    """A client that may send from now on."""

    token_sha256: Annotated[
        str,
        Help("SHA-256 of the token's digits in lower case; kept, and never shown"),
        matching("[0-9a-fA-F]{64}", "64 hexadecimal digits", secret=True),
    ]


class Round(BaseModel):
    """Measurements of a server that gathers: the `round` line of gfagent, or none yet."""

    started: int = Field(ge=0, description="start of the server's process, ns since 1970")
    repeat: bool = Field(description="the last message may not have been carried out")
    refused: str | None = Field(None, max_length=1000, description="the server's reason")
    round: int = Field(0, ge=0)
    clients: list[dict[str, Any]] | None = Field(None, max_length=65536)


class Orders(BaseModel):
    message: dict[str, Any] | None = Field(description="for gfagent's stdin; null: nothing changes")
