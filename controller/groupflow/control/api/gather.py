"""The REST API of a server that gathers, /v1/gather: its measurements and targets of each client, live."""

from dataclasses import replace

from fastapi import APIRouter, FastAPI, HTTPException

from groupflow.control.api.gather_schemas import ClientChange, ClientView, GatherView
from groupflow.control.api.rest import answer_errors_in_one_line
from groupflow.control.api.schemas import Problem
from groupflow.endpoint.gather.tuner import Tuner
from groupflow.tuning.model import Client


def make_gather_app(tuner: Tuner, policy: str) -> FastAPI:
    """The application; `policy` is the name of the policy that tunes the clients."""
    app = FastAPI(
        title="groupflow gather",
        version="1",
        responses={"4XX": {"model": Problem}, "5XX": {"model": Problem}},
    )
    app.include_router(gather_routes(tuner, policy), prefix="/v1")
    answer_errors_in_one_line(app)
    return app


def gather_routes(tuner: Tuner, policy: str) -> APIRouter:
    router = APIRouter(tags=["gather"])

    def find(name: str) -> Client:
        if name not in tuner.clients:
            raise HTTPException(404, f"no client {name!r}; list the clients")
        return tuner.clients[name]

    @router.get("/gather")
    async def show() -> GatherView:
        return GatherView(
            policy=policy,
            round=tuner.round,
            tuning_ms=round(tuner.seconds * 1000, 3),
            clients=len(tuner.clients),
            sending=len(tuner.measured),
            buffer=tuner.limits.buffer,
            windows=sum(setting.window or 0 for setting in tuner.settings.values()),
            link_bps=tuner.link,
        )

    @router.get("/gather/clients")
    async def list_clients() -> list[ClientView]:
        return [client_view(tuner, client) for client in tuner.clients.values()]

    @router.get("/gather/clients/{name}")
    async def show_client(name: str) -> ClientView:
        return client_view(tuner, find(name))

    @router.patch("/gather/clients/{name}")
    async def change_client(name: str, change: ClientChange) -> ClientView:
        """Changes target, minimum or priority of a client, from the next round on."""
        client = find(name)
        target = client.target if change.target_bps is None else change.target_bps
        minimum = change.minimum_bps if "minimum_bps" in change.model_fields_set else client.minimum
        if target > tuner.link:
            raise HTTPException(400, f"target_bps: {target} is beyond the link's {tuner.link}; write less")
        if minimum is not None and minimum > target:
            raise HTTPException(400, f"minimum_bps: {minimum} is above the target, {target}; write less")
        priority = client.priority if change.priority is None else change.priority
        tuner.change(replace(client, target=target, minimum=minimum, priority=priority))
        return client_view(tuner, tuner.clients[name])

    return router


def client_view(tuner: Tuner, client: Client) -> ClientView:
    """A client's targets, and its measurements in the last round."""
    wanted = ClientView(
        name=client.name,
        target_bps=client.target,
        minimum_bps=client.minimum,
        priority=client.priority,
        sending=client.name in tuner.measured,
    )
    if not wanted.sending:
        return wanted
    reading, fields = tuner.measured[client.name].reading, tuner.measured[client.name].fields
    setting = tuner.settings.get(client.name)
    return wanted.model_copy(
        update={
            "stream": fields.get("stream"),
            "throughput_bps": reading.throughput,
            "bytes": fields.get("bytes"),
            "rtt_ms": None if reading.rtt is None else round(reading.rtt * 1000, 3),
            "rto_ms": None if reading.timeout is None else round(reading.timeout * 1000, 3),
            "loss_ratio": reading.loss,
            "window": setting.window if setting else reading.window,
            "advertised": fields.get("advertised"),
            "connections": reading.connections,
            "wanted": setting.connections if setting else fields.get("wanted"),
        }
    )
