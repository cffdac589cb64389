"""Controlled flows: gives them numbers, measures their links, tells the switches, and stores the flows."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter

from groupflow.control.diffusion import bmv2_agent, plan, stability
from groupflow.control.diffusion.coefficients import Coefficient, alpha_coefficient, diffusion_coefficient
from groupflow.control.diffusion.readings import Prober, Reading, read_part
from groupflow.control.diffusion.routes import Waypoint, flow_places, link_places, stream_places
from groupflow.control.sessions.manager import SessionManager
from groupflow.control.sessions.model import Codec
from groupflow.control.sessions.numbers import Stream
from groupflow.control.shared import Service, Shared
from groupflow.errors import Error, InvalidError, Kind
from groupflow.model.flow import FlowRequest
from groupflow.p4rt.device import Device
from groupflow.p4rt.entries import Entries
from groupflow.p4rt.program import Program
from groupflow.store.interface import StoreError, Transaction

APPLY_SECONDS = 5.0
AGENT_PERIOD_NS = bmv2_agent.LEAST_PERIOD_NS


@dataclass(frozen=True)
class FlowRecord:
    """A controlled flow, as stored."""

    flow: int
    request: FlowRequest
    delays: dict[str, int] = field(default_factory=dict[str, int])
    """measured link delays in ns, by the names of the two switches"""


FLOWS = Codec("diffusion", TypeAdapter(FlowRecord))


def link_key(one: str, other: str) -> str:
    return "-".join(sorted((one, other)))


@dataclass(frozen=True)
class ControlledFlow:
    """A controlled flow as it is on the switches."""

    record: FlowRecord
    parts: tuple[plan.Part, ...]
    entries: Mapping[str, Entries]
    """by switch"""
    warning: str | None

    @property
    def number(self) -> int:
        return self.record.flow

    @property
    def stream(self) -> Stream | None:
        """the stream of a session that the flow is, if it is one"""
        request = self.record.request
        return Stream(request.session or 0, request.source or 0) if request.kind == "session" else None


class Diffusion(Service):
    """Made by the controller, beside its sessions."""

    def __init__(
        self, shared: Shared, devices: Mapping[str, Device], manager: SessionManager, program: Program
    ) -> None:
        super().__init__(shared)
        self.flows: dict[int, ControlledFlow] = {}
        self.measured: dict[str, int] = {}
        """link delays in ns, by `link_key`"""
        self.prober = Prober(devices)
        self._devices = devices
        self._manager = manager
        self._program = program
        shared.fabric.observers.append(self._stream_changed)

    def get(self, flow: int) -> ControlledFlow:
        """A controlled flow by its number. Raises Error."""
        if flow not in self.flows:
            raise Error(f"no controlled flow {flow}; list the controlled flows", Kind.NOT_FOUND)
        return self.flows[flow]

    async def install(self, request: FlowRequest) -> ControlledFlow:
        """Puts a flow under control. Raises Error."""
        request = self._complete(request)
        places = self._places(request)
        if request.measure:
            switches = self._topology.switches
            pairs = ((place.switch, branch.node) for place in places for branch in place.branches)
            await self._measure({pair for pair in pairs if pair[1] in switches})
            places = self._places(request)
            request = self._complete(request)  # another request may have taken the flow meanwhile
        number = next((n for n in range(1, plan.LAST_FLOW + 1) if n not in self.flows), None)
        if number is None:
            raise Error(
                f"there are {plan.LAST_FLOW} controlled flows, which is all there can be", Kind.CONFLICT
            )
        names = {link_key(p.switch, b.node) for p in places for b in p.branches}
        delays = {name: self.measured[name] for name in names & self.measured.keys()}
        record = FlowRecord(number, request, delays)
        flow = self._place(record, places)
        self._events.tell("diffusion-installed", flow=number, name=request.name, warning=flow.warning)
        try:
            await self._store.commit(Transaction({FLOWS.key(number): FLOWS.dump(record)}))
        except StoreError:
            self._take_out(flow)
            raise
        async with asyncio.timeout(APPLY_SECONDS):
            for switch, entries in flow.entries.items():
                await self._devices[switch].settled(list(entries))
        return flow

    async def remove(self, flow: int) -> None:
        """Ends the control of a flow. Raises Error."""
        self.get(flow)
        await self._store.commit(Transaction({FLOWS.key(flow): None}))
        if gone := self.flows.get(flow):  # another request may have removed it meanwhile
            self._take_out(gone)

    def _take_out(self, flow: ControlledFlow) -> None:
        for switch in flow.entries:
            self._devices[switch].desired.replace(("diffusion", flow.number), {})
        if stream := flow.stream:
            self._fabric.control(stream, {})
        del self.flows[flow.number]
        self._events.tell("diffusion-removed", flow=flow.number, name=flow.record.request.name)

    async def restore(self) -> None:
        """Takes over the flows of an earlier controller. Raises StoreError."""
        for record in await FLOWS.all(self._store):
            self.measured |= record.delays
            try:
                self._place(record, self._places(record.request))
            except Error as error:
                self._events.tell("diffusion-lost", flow=record.flow, text=str(error))

    async def measure(self) -> dict[str, int]:
        """Measures every link between two switches that are up. Returns delays in ns by `link_key`."""
        near = self._topology.neighbours
        await self._measure({(a, b) for a in self._topology.switches for b in near(a) if a < b})
        return self.measured

    async def readings(self, flow: int) -> list[Reading]:
        """n, r, J and L of each hop now. Raises Error."""
        found = self.get(flow)
        rows = await asyncio.gather(
            *(read_part(self._program, part, self._devices[part.switch].query) for part in found.parts)
        )
        return [reading for row in rows for reading in row]

    def coefficient(self, flow: ControlledFlow, branch: plan.Branch) -> Coefficient | None:
        """D_i of a hop; None where the node downstream does not take part."""
        if not branch.controlled:
            return None
        return diffusion_coefficient(flow.record.request.d_value, branch.delay_ns)

    def _complete(self, request: FlowRequest) -> FlowRequest:
        """The request with its defaults filled in. Raises Error if it cannot be granted at all."""
        if not self._program.has_diffusion:
            raise Error(
                "the switches' program has no diffusion; Tofino 2, gfswitch and BMv2 have", Kind.CONFLICT
            )
        diffusion_coefficient(request.d_value, 10**6)
        alpha_coefficient(request.alpha_value)
        if any(flow.record.request == request for flow in self.flows.values()):
            raise Error(f"{request.name} is under control already; remove it first", Kind.CONFLICT)
        if request.kind != "session":
            return request
        session = self._manager.get(request.session or 0)
        if request.source is None and len(session.sources) == 1:
            request = replace(request, source=session.sources[0])
        if request.source not in session.sources:
            senders = ", ".join(map(str, session.sources)) or "none yet"
            raise InvalidError(f"session {session.id} has senders {senders}; give one of them as source")
        return request

    def _places(self, request: FlowRequest) -> list[Waypoint]:
        if request.kind == "flow":
            return flow_places(self._topology, request, self._delay)
        if request.kind == "link":
            return link_places(self._topology, request, self._delay)
        tree = self._fabric.trees.get(Stream(request.session or 0, request.source or 0), {})
        return stream_places(self._topology, request, tree, self._delay)

    def _delay(self, one: str, other: str) -> int:
        """A link's delay in ns, for D / d and the reports' period; at least the period of BMv2's agent."""
        measured = self.measured.get(link_key(one, other))
        delay = measured if measured is not None else self._topology.link_between(one, other).spec.delay_ns
        switches = [self._devices[name] for name in (one, other) if name in self._devices]
        return (
            delay if all(switch.has_traffic_manager for switch in switches) else max(delay, AGENT_PERIOD_NS)
        )

    async def _measure(self, pairs: set[tuple[str, str]]) -> None:
        async def one(switch: str, neighbour: str) -> None:
            if self._devices[switch].state != "up" or self._devices[neighbour].state != "up":
                return
            mac = bytes.fromhex(self._topology.switches[switch].mac.replace(":", ""))
            port = self._topology.port_to(switch, neighbour)
            delay = await self.prober.delay(switch, port, mac)
            if delay:
                self.measured[link_key(switch, neighbour)] = delay

        await asyncio.gather(*(one(*pair) for pair in sorted(pairs)))

    def _place(self, record: FlowRecord, places: list[Waypoint]) -> ControlledFlow:
        """Decides the numbers and enters the entries in the desired state, or raises and changes nothing."""
        request = record.request
        d, alpha = request.d_value, request.alpha_value
        parts = [self._part(record.flow, place) for place in places]
        session = self._manager.sessions.get(request.session or 0)
        isolate = request.kind == "session" and session is not None and session.record.policy == "isolate"
        entries = {
            part.switch: plan.part_entries(record.flow, place.rule, part, d, alpha, isolate=isolate)
            for place, part in zip(places, parts, strict=True)
        }
        flow = ControlledFlow(record, tuple(parts), entries, stability.warning(d, alpha))
        before = self.flows.get(record.flow)
        for switch in before.entries.keys() - entries.keys() if before else ():
            self._devices[switch].desired.replace(("diffusion", record.flow), {})
        for switch, wanted in entries.items():
            self._devices[switch].desired.replace(("diffusion", record.flow), wanted)
        self.flows[record.flow] = flow
        if stream := flow.stream:
            self._fabric.control(stream, {part.switch: part.queue for part in parts})
        return flow

    def _part(self, number: int, place: Waypoint) -> plan.Part:
        switch = place.switch
        if len(place.branches) > (most := self._program.room.branches):
            raise InvalidError(f"{switch} has {len(place.branches)} branches; at most {most} are possible")
        flows = (flow for flow in self.flows.values() if flow.number != number)
        others = [part for flow in flows for part in flow.parts if part.switch == switch]
        ports = {branch.port for branch in place.branches}
        taken = {part.queue for part in others if ports & {branch.port for branch in part.branches}}
        queue = next((queue for queue in plan.FLOW_QUEUES if queue not in taken), None)
        if queue is None:
            raise Error(
                f"all {len(plan.FLOW_QUEUES)} queues of {switch} towards {place.branches[0].node} are taken; "
                "remove a flow, or control the link before it as a whole (install --link)",
                Kind.CONFLICT,
            )
        used = {generator for part in others for generator in part.generators}
        free = [generator for generator in range(plan.GENERATORS_OF_A_SWITCH) if generator not in used]
        ticks = len(place.branches)
        if len(free) < ticks:
            raise Error(
                f"all {plan.GENERATORS_OF_A_SWITCH} packet generators of {switch} are taken; remove a flow",
                Kind.CONFLICT,
            )
        mac = bytes.fromhex(self._topology.switches[switch].mac.replace(":", ""))
        return plan.Part(switch, mac, place.upstream, place.branches, queue, tuple(free[:ticks]))

    def _stream_changed(self, stream: Stream) -> None:
        """Follows a stream whose tree has changed because members came or left."""
        for flow in list(self.flows.values()):
            if flow.stream == stream:
                try:
                    self._place(flow.record, self._places(flow.record.request))
                except Error as error:
                    self._events.tell("diffusion-lost", flow=flow.number, text=str(error))
