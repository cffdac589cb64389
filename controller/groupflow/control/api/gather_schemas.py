"""Requests and answers of /v1/gather, at a server that gathers and at a controller."""

from pydantic import BaseModel, ConfigDict, Field


class GatherView(BaseModel):
    policy: str
    round: int = Field(description="tunings so far; one every half second")
    tuning_ms: float = Field(description="duration of the last tuning")
    clients: int
    sending: int
    buffer: int = Field(description="bytes of all receive buffers together")
    windows: int = Field(description="bytes of them that are given to clients")
    link_bps: int


class ClientView(BaseModel):
    name: str
    target_bps: int
    minimum_bps: int | None = Field(description="null: the smallest target of all clients")
    priority: int
    sending: bool
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


class ClientChange(BaseModel):
    """A change of a client; fields that are left out keep their values."""

    model_config = ConfigDict(extra="forbid")

    target_bps: int | None = Field(None, ge=1)
    minimum_bps: int | None = Field(None, ge=1, description="null: the smallest target of all clients")
    priority: int | None = Field(None, ge=0, le=1000)
