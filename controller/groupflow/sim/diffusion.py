"""Diffusion-type flow control in a scenario: puts the controller's entries into the switches."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from groupflow import units
from groupflow.model.fields import DELAY, FLAG, PACKETS, InFile, Range, Written
from groupflow.model.topology import Host
from groupflow.sim.model import Flow, QueueSetting, Scenario, ScenarioError, SwitchSetup, TcpTraffic
from groupflow.sim.network_spec import flow_ports
from groupflow.sim.split import session_flows, split_flows

if TYPE_CHECKING:
    from groupflow.control.diffusion.plan import Part, Rule
    from groupflow.p4rt.entries import Entries
    from groupflow.p4rt.program import Program

_TCP, _UDP = 6, 17


def _number(name: str, example: str) -> Written:
    schema = {"type": ["number", "string"]}
    return Written(lambda value: units.parse_number(str(value), name), f"a number such as {example}", schema)


@dataclass(frozen=True)
class Diffusion:
    """The controlled flows of a scenario, and the control's parameters."""

    d: Annotated[Fraction, _number("D", "0.1")]
    """D of eq. 3, without unit"""
    flows: Annotated[tuple[str, ...] | None, InFile(cure="names of flows, as in [target, other]")] = None
    """names of the controlled flows; their numbers in feedback are their places here, from 1; None: all of
    the traffic"""
    alpha: Annotated[Fraction, _number("alpha", "0.9")] = Fraction(1)
    packet_bytes: Annotated[int, Range(64, 9216), InFile("packet")] = 1514
    """bytes of a full frame, which turn bit/s into packets/s"""
    queue_packets: int | None = None
    """bound of each controlled queue; None: that of the link's queue"""
    host_delay_ns: Annotated[int | None, DELAY, InFile("hosts")] = None
    """d_0 of eq. 9, the period at which senders' hosts learn the rate to shape to; None: they do not"""
    bound: Annotated[bool, FLAG] = False
    """whether L bounds a flow's rate (eq. 1); else it is its weight, and flows take what others leave"""
    pool: Annotated[int | None, PACKETS] = None
    """bound of all queues of a port together; None: there is none"""


def with_diffusion(scenario: Scenario, control: Diffusion) -> Scenario:
    """The scenario under control. Raises ScenarioError and InvalidError.

    A connection of a split session is a flow by its name (`SplitSession.hop`): it is controlled on the P4
    switches between its ends, and an agent that sends it is a host to them.
    """
    from groupflow.control.diffusion import stability
    from groupflow.control.diffusion.plan import FLOW_QUEUES, QUEUES, part_entries
    from groupflow.p4rt.program import Program

    program = Program.load(scenario.p4info, scenario.program)
    names = control.flows if control.flows is not None else tuple(flow.name for flow in scenario.flows)
    flows = (*scenario.flows, *split_flows(scenario)[0])
    by_name = {flow.name: flow for flow in flows}
    ports = flow_ports(flows)
    entries: dict[str, Entries] = {}
    generators = Counter[str]()
    limits: set[tuple[str, int, int]] = set()
    controlled: dict[str, tuple[Part, ...]] = {}
    for number, name in enumerate(names, 1):
        if name not in by_name:
            raise ScenarioError(
                f"diffusion.flows: no flow {name!r} in the traffic; name one of {', '.join(by_name)}"
            )
        if number not in FLOW_QUEUES:
            raise ScenarioError(
                f"diffusion.flows: more than {len(FLOW_QUEUES)} flows; leave some uncontrolled"
            )
        flow = by_name[name]
        rule = _rule(scenario, flow, ports[name])
        controlled[name] = tuple(_parts(scenario, control, flow, number, generators))
        for part in controlled[name]:
            held = entries.setdefault(part.switch, {})
            held |= part_entries(number, rule, part, control.d, control.alpha)
            limits |= {(part.switch, branch.port, number) for branch in part.branches}
    setups = dict(scenario.setups)
    for switch, held in entries.items():
        queued = {(port, queue) for name, port, queue in limits if name == switch}
        setups[switch] = _setup(program, scenario, switch, held, queued, control)
    queues = max(scenario.queues, QUEUES)
    warning = stability.warning(control.d, control.alpha)
    told = _told(scenario, names) if control.host_delay_ns is not None else scenario
    return replace(
        told,
        setups=setups,
        controlled=controlled,
        queues=queues,
        bound=control.bound,
        pool=control.pool,
        warnings=(*scenario.warnings, f"diffusion.d: {warning}") if warning else scenario.warnings,
    )


def with_udp_in(scenario: Scenario, queue: int) -> Scenario:
    """The scenario in which UDP of all hosts waits in this queue of each controlled switch."""
    from groupflow.control.diffusion.plan import Rule
    from groupflow.p4rt.entries import Key, action, inserts
    from groupflow.p4rt.program import Program

    entry = {Key("controlled_flows", Rule(protocol=_UDP).match()): action("to_queue", queue=queue)}
    more = inserts(Program.load(scenario.p4info, scenario.program), entry)
    setups = {
        name: replace(setup, updates=(*setup.updates, *more)) for name, setup in scenario.setups.items()
    }
    return replace(scenario, setups=setups)


def _told(scenario: Scenario, names: Sequence[str]) -> Scenario:
    """The scenario with hosts and agents that shape the controlled flows they send."""
    number = {name: place for place, name in enumerate(names, 1)}
    flows = (replace(f, shaped_as=number[f.name]) if f.name in number else f for f in scenario.flows)
    hops = ((split, [hop.name for hop in session_flows(scenario, split)]) for split in scenario.splits)
    splits = (replace(split, shaped_as={n: number[n] for n in own if n in number}) for split, own in hops)
    return replace(scenario, flows=tuple(flows), splits=tuple(splits))


def _rule(scenario: Scenario, flow: Flow, ports: tuple[int, int]) -> "Rule":
    """The rule of a flow: agents send several flows to each other, which their ports tell apart."""
    from groupflow.control.diffusion.plan import Rule

    source_port, destination_port = ports
    return Rule(
        src=int(_host(scenario, flow.source).ip),
        dst=int(_host(scenario, flow.destination).ip),
        protocol=_TCP if isinstance(flow.traffic, TcpTraffic) else _UDP,
        src_port=source_port,
        dst_port=destination_port,
    )


def _host(scenario: Scenario, end: str) -> Host:
    """The host whose address an end has: of an agent, the agent host's."""
    hosts, switches = scenario.topology.hosts, scenario.topology.switches
    return hosts[switches[end].agent or ""] if end in switches else hosts[end]


def _parts(
    scenario: Scenario, control: Diffusion, flow: Flow, queue: int, generators: Counter[str]
) -> "Iterable[Part]":
    """Each switch's part in the flow, from its source on."""
    from groupflow.control.diffusion.coefficients import line_rate
    from groupflow.control.diffusion.plan import Branch, Part, Upstream

    topology = scenario.topology
    way = _way(scenario, flow)
    upstream = None
    if control.host_delay_ns is not None:
        upstream = Upstream(
            flow.source, topology.port_to(way[1], way[0]), control.host_delay_ns, external=True
        )
    for here, there in pairwise(way[1:]):
        spec = topology.link_between(here, there).spec
        rate = line_rate(spec.rate, control.packet_bytes)
        port = topology.port_to(here, there)
        branch = Branch(there, port, spec.delay_ns, rate, controlled=there != way[-1])
        generator = generators[here]
        generators[here] += 1
        mac = bytes.fromhex(topology.switches[here].mac.replace(":", ""))
        yield Part(here, mac, upstream, (branch,), queue, (generator,))
        if there != way[-1]:
            upstream = Upstream(here, topology.port_to(there, here), spec.delay_ns, external=False)


def _way(scenario: Scenario, flow: Flow) -> tuple[str, ...]:
    """The nodes of a flow from end to end; those between are P4 switches. Raises ScenarioError."""
    topology = scenario.topology
    ends = flow.source, flow.destination
    start, goal = (topology.hosts[end].switch if end in topology.hosts else end for end in ends)
    path = topology.path(start, goal)
    if path is None:
        raise ScenarioError(f"traffic.{flow.name}: {flow.destination} cannot be reached from {flow.source}")
    between = [switch for switch in path if switch not in ends]
    for switch in between:
        if scenario.kind(switch) != "p4":
            raise ScenarioError(
                f"diffusion.flows: {flow.name} passes {switch}, which has no P4; leave it out"
            )
    if not between:
        raise ScenarioError(f"diffusion.flows: {flow.name} passes no switch; leave it out")
    return (flow.source, *between, flow.destination)


def _setup(
    program: "Program",
    scenario: Scenario,
    switch: str,
    held: "Entries",
    queues: Iterable[tuple[int, int]],
    control: Diffusion,
) -> SwitchSetup:
    """The switch's setup with the entries, and with bounds of these queues."""
    from groupflow.p4rt.entries import inserts

    before = scenario.setup(switch)
    limits: tuple[QueueSetting, ...] = ()
    if control.queue_packets is not None:
        limit = f"packets={control.queue_packets}"
        limits = tuple(QueueSetting(port, queue, limit) for port, queue in sorted(queues))
    nominal: Mapping[int, int] = dict.fromkeys(scenario.topology.switches[switch].ports, control.packet_bytes)
    return replace(
        before,
        updates=(*before.updates, *inserts(program, held)),
        queues=before.queues + limits,
        nominal_packets={**nominal, **before.nominal_packets},
    )
