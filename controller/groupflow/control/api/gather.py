"""The REST API of receiver-side tuning, /v1/gather, at a controller and at a server that gathers without one:
policy, limits, clients with their targets, live."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException
from pydantic import BaseModel, Field

from groupflow.agents.events import Event, EventError
from groupflow.control.api.schemas import make_api
from groupflow.control.bodies import Change, New
from groupflow.control.gather.clients import Registered
from groupflow.control.gather.gathering import Gathering, ServerState
from groupflow.model.client import Client, GatherSettings
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


def make_gather_app(gathering: Gathering) -> FastAPI:
    """The application of a server that gathers without a controller."""
    return make_api("groupflow gather", gather_routes(gathering))


def gather_routes(gathering: Gathering) -> APIRouter:
    router = APIRouter(tags=["gather"])

    @router.get("/gather")
    async def show() -> GatherView:
        return gather_view(gathering)

    @router.patch("/gather")
    async def configure(change: Annotated[dict[str, Any], Change(GatherSettings)]) -> GatherView:
        """Changes the policy and what the server has, from the next round on."""
        await gathering.configure(**change)
        return gather_view(gathering)

    @router.get("/gather/clients")
    async def list_clients() -> list[ClientView]:
        return [client_view(gathering, each.client) for each in gathering.tuner.registered.values()]

    @router.post("/gather/clients", status_code=201)
    async def add_client(new: Annotated[NewClient, New()]) -> ClientView:
        client = Client(new.name, new.target, new.priority, new.minimum)
        await gathering.add(Registered(client, new.token_sha256.lower()))
        return client_view(gathering, client)

    @router.get("/gather/clients/{name}")
    async def show_client(name: str) -> ClientView:
        return client_view(gathering, gathering.get(name))

    @router.patch("/gather/clients/{name}")
    async def change_client(
        name: str, change: Annotated[dict[str, Any], Change(Client, but="name")]
    ) -> ClientView:
        """Changes target, minimum or priority of a client, from the next round on."""
        await gathering.change(name, **change)
        return client_view(gathering, gathering.get(name))

    @router.delete("/gather/clients/{name}", status_code=204)
    async def remove_client(name: str) -> None:
        """Ends the client's stream with a refusal."""
        await gathering.remove(name)

    return router


def round_routes(gathering: Gathering) -> APIRouter:
    """The route that a server uses."""
    router = APIRouter(tags=["gather"])

    @router.post("/gather/rounds")
    async def take_round(measured: Round) -> Orders:
        """A server's measurements of a round, answered by the message that the server passes to gfagent."""
        name = "ready" if measured.clients is None else "round"
        event = Event(name, 0.0, {"round": measured.round, "clients": measured.clients})
        try:
            message = gathering.take(
                measured.started, event, repeat=measured.repeat, refused=measured.refused
            )
        except EventError as error:
            raise HTTPException(422, str(error)) from None
        return Orders(message=message)

    return router


def gather_view(gathering: Gathering) -> GatherView:
    tuner, settings = gathering.tuner, gathering.settings
    return GatherView(
        **vars(settings),
        policies=list(gathering.policies),
        server=gathering.server,
        problem=tuner.problem,
        round=tuner.round,
        tuning_ms=round(tuner.seconds * 1000, 3),
        clients=len(tuner.registered),
        sending=len(tuner.measured) if gathering.server == "up" else 0,
        windows=sum(setting.window or 0 for setting in tuner.settings.values()),
        link_bps=settings.link,
    )


def client_view(gathering: Gathering, client: Client) -> ClientView:
    """A client's targets, and its measurements in the last round."""
    tuner = gathering.tuner
    wanted = ClientView(
        name=client.name,
        target_bps=client.target,
        minimum_bps=client.minimum,
        priority=client.priority,
        sending=client.name in tuner.measured and gathering.server == "up",
    )
    if not wanted.sending:
        return wanted
    reading, fields = tuner.measured[client.name].reading, tuner.measured[client.name].fields
    setting = tuner.settings.get(client.name)
    measured: dict[str, Any] = {
        "met": reading.throughput >= client.target,
        "stream": fields.get("stream"),
        "throughput_bps": reading.throughput,
        "bytes": fields.get("bytes"),
        "rtt_ms": None if reading.rtt is None else round(reading.rtt * 1000, 3),
        "rto_ms": None if reading.timeout is None else round(reading.timeout * 1000, 3),
        "loss_ratio": None if fields.get("loss_ratio") is None else reading.loss,
        "window": setting.window if setting else reading.window,
        "advertised": fields.get("advertised"),
        "connections": reading.connections,
        "wanted": setting.connections if setting else fields.get("wanted"),
    }
    return wanted.model_copy(update=measured)
