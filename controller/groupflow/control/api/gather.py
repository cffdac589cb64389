"""The REST API of receiver-side tuning, /v1/gather: policy, limits, clients with their targets, live."""

from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException
from fastapi_offline import FastAPIOffline

from groupflow.agents.events import Event, EventError
from groupflow.control.api import gather_schemas
from groupflow.control.api.schemas import Problem, answer_errors_in_one_line
from groupflow.control.bodies import Change, New
from groupflow.control.gather.clients import Registered
from groupflow.control.gather.gathering import Gathering
from groupflow.model.client import Client, GatherSettings


def make_gather_app(gathering: Gathering) -> FastAPI:
    """The application of a server that gathers without a controller."""
    app = FastAPIOffline(
        title="groupflow gather",
        version="1",
        responses={"4XX": {"model": Problem}, "5XX": {"model": Problem}},
    )
    app.include_router(gather_routes(gathering), prefix="/v1")
    answer_errors_in_one_line(app)
    return app


def gather_routes(gathering: Gathering) -> APIRouter:
    router = APIRouter(tags=["gather"])

    @router.get("/gather")
    async def show() -> gather_schemas.GatherView:
        return gather_view(gathering)

    @router.patch("/gather")
    async def configure(
        change: Annotated[dict[str, Any], Change(GatherSettings)],
    ) -> gather_schemas.GatherView:
        """Changes the policy and what the server has, from the next round on."""
        await gathering.configure(**change)
        return gather_view(gathering)

    @router.get("/gather/clients")
    async def list_clients() -> list[gather_schemas.ClientView]:
        return [client_view(gathering, each.client) for each in gathering.tuner.registered.values()]

    @router.post("/gather/clients", status_code=201)
    async def add_client(new: Annotated[gather_schemas.NewClient, New()]) -> gather_schemas.ClientView:
        client = Client(new.name, new.target, new.priority, new.minimum)
        await gathering.add(Registered(client, new.token_sha256.lower()))
        return client_view(gathering, client)

    @router.get("/gather/clients/{name}")
    async def show_client(name: str) -> gather_schemas.ClientView:
        return client_view(gathering, gathering.get(name))

    @router.patch("/gather/clients/{name}")
    async def change_client(
        name: str, change: Annotated[dict[str, Any], Change(Client, but="name")]
    ) -> gather_schemas.ClientView:
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
    async def take_round(measured: gather_schemas.Round) -> gather_schemas.Orders:
        """A server's measurements of a round, answered by the message that the server passes to gfagent."""
        name = "ready" if measured.clients is None else "round"
        event = Event(name, 0.0, {"round": measured.round, "clients": measured.clients})
        try:
            message = gathering.take(
                measured.started, event, repeat=measured.repeat, refused=measured.refused
            )
        except EventError as error:
            raise HTTPException(422, str(error)) from None
        return gather_schemas.Orders(message=message)

    return router


def gather_view(gathering: Gathering) -> gather_schemas.GatherView:
    tuner, settings = gathering.tuner, gathering.settings
    return gather_schemas.GatherView(
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


def client_view(gathering: Gathering, client: Client) -> gather_schemas.ClientView:
    """A client's targets, and its measurements in the last round."""
    tuner = gathering.tuner
    wanted = gather_schemas.ClientView(
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
