"""The part of the REST API that controls flows: /diffusion."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from groupflow import units
from groupflow.control.bodies import New
from groupflow.control.controller import Controller
from groupflow.control.diffusion.coefficients import UNITS
from groupflow.control.diffusion.plan import Branch, Part
from groupflow.control.diffusion.readings import Reading
from groupflow.control.diffusion.service import ControlledFlow, Diffusion, link_key
from groupflow.model.flow import FlowRequest, Kind
from groupflow.p4rt.entries import Generator


class HopView(BaseModel):
    switch: str
    to: str = Field(description="the node downstream")
    port: int
    queue: int
    delay: str
    delay_from: Literal["measured", "topology"]
    d_i: float | None = Field(description="D / d in 1/s as the switch has it; none: last hop")
    d_i_error: float | None = Field(description="its relative error, from three powers of two")
    period: str | None = Field(description="from one report upstream to the next; none: no reports")


class FlowView(BaseModel):
    flow: int
    kind: Kind
    name: str
    d: str
    alpha: str
    external: bool
    hops: list[HopView]
    warning: str | None


class StateView(BaseModel):
    """The state of a hop now. Rates in packets/s; none: no limit, or no report yet."""

    switch: str
    to: str
    queue: int
    n: int | None = Field(description="packets waiting")
    r: float | None = Field(description="target rate heard from downstream")
    next_n: int | None = Field(description="packets waiting downstream, from the same report")
    j: float | None = Field(description="max(0, J~): the queue's rate")
    share: float | None = Field(description="L of eq. 13")
    problem: str | None


class TickView(BaseModel):
    """A packet generator, for switches that have none: the rate agent beside BMv2 stands in."""

    id: int
    period_ns: int
    first_ns: int
    frame: str = Field(description="hexadecimal")


class CellView(BaseModel):
    """A controlled queue."""

    flow: int
    port: int
    queue: int
    line_rate: int = Field(description="rate of the port, in 1/64 packet/s; 2^31-1: not limited")


class SwitchFlows(BaseModel):
    ticks: list[TickView]
    cells: list[CellView]


def diffusion_routes(controller: Controller) -> APIRouter:
    """The routes below /diffusion."""
    router = APIRouter(prefix="/diffusion", tags=["diffusion"])
    service = controller.diffusion

    @router.get("")
    async def list_flows() -> list[FlowView]:
        return [_flow_view(service, flow) for _, flow in sorted(service.flows.items())]

    @router.post("", status_code=201)
    async def install_flow(new: Annotated[FlowRequest, New()]) -> FlowView:
        return _flow_view(service, await service.install(new))

    @router.get("/delays")
    async def measure_delays() -> dict[str, str]:
        """Measures every link between two switches, and answers with the one-way delays."""
        return {name: units.format_delay(delay) for name, delay in sorted((await service.measure()).items())}

    @router.get("/switches/{name}")
    async def show_switch_flows(name: str) -> SwitchFlows:
        return _switch_flows(service, name)

    @router.get("/{flow}")
    async def show_flow(flow: int) -> FlowView:
        return _flow_view(service, service.get(flow))

    @router.get("/{flow}/state")
    async def show_state(flow: int) -> list[StateView]:
        """The state of each hop, read from the switches themselves."""
        return [_state_view(reading) for reading in await service.readings(flow)]

    @router.delete("/{flow}", status_code=204)
    async def remove_flow(flow: int) -> None:
        await service.remove(flow)

    return router


def _flow_view(service: Diffusion, flow: ControlledFlow) -> FlowView:
    request = flow.record.request
    return FlowView(
        **asdict(request),
        flow=flow.number,
        name=request.name,
        hops=[_hop_view(service, flow, part, branch) for part in flow.parts for branch in part.branches],
        warning=flow.warning,
    )


def _hop_view(service: Diffusion, flow: ControlledFlow, part: Part, branch: Branch) -> HopView:
    coefficient = service.coefficient(flow, branch)
    return HopView(
        switch=part.switch,
        to=branch.node,
        port=branch.port,
        queue=part.queue,
        delay=units.format_delay(branch.delay_ns),
        delay_from="measured" if link_key(part.switch, branch.node) in service.measured else "topology",
        d_i=float(coefficient.value) if coefficient else None,
        d_i_error=float(coefficient.relative_error) if coefficient else None,
        period=units.format_delay(part.upstream.delay_ns) if part.upstream else None,
    )


def _state_view(reading: Reading) -> StateView:
    form = reading._asdict()
    rates = {name: form[name] / UNITS for name in ("r", "j", "share") if form[name] is not None}
    return StateView(**form | rates, to=reading.branch.node)


def _switch_flows(service: Diffusion, switch: str) -> SwitchFlows:
    flows = service.flows.values()
    ticks = [
        TickView(id=key.match[0], period_ns=value.period_ns, first_ns=value.first_ns, frame=value.frame.hex())
        for flow in flows
        for key, value in flow.entries.get(switch, {}).items()
        if isinstance(value, Generator)
    ]
    cells = [
        CellView(flow=flow.number, port=branch.port, queue=part.queue, line_rate=branch.line_rate)
        for flow in flows
        for part in flow.parts
        if part.switch == switch
        for branch in part.branches
    ]
    return SwitchFlows(ticks=ticks, cells=cells)
