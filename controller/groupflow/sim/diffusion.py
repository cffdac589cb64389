"""Diffusion-type flow control in a scenario: what the controller would install, put into the switches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from groupflow.sim.model import (
    Flow,
    Generator,
    QueueSetting,
    Scenario,
    ScenarioError,
    SwitchSetup,
    TcpTraffic,
)

if TYPE_CHECKING:
    from groupflow.diffusion.plan import Part, Rule
    from groupflow.p4rt.entries import Entries

_TCP, _UDP = 6, 17


@dataclass(frozen=True)
class Diffusion:
    """How a scenario's flows are controlled."""

    d: Fraction
    """D of eq. 3, without unit"""
    flows: tuple[str, ...]
    """names of the controlled flows; their numbers in feedback are their places here, from 1"""
    alpha: Fraction = Fraction(1)
    packet_bytes: int = 1514
    """of a full frame: turns bit/s into packets/s"""
    queue_packets: int | None = None
    """what each controlled queue holds; None: as much as the link's queue"""
    host_delay_ns: int | None = None
    """d_0 of eq. 9: senders' hosts shape to the rate they are told, this often; None: they are not told"""


def with_diffusion(scenario: Scenario, control: Diffusion) -> Scenario:
    """The scenario under control. Raises ScenarioError and CoefficientError."""
    from groupflow.diffusion import stability
    from groupflow.diffusion.plan import FLOW_QUEUES, QUEUES, part_entries

    flows = {flow.name: flow for flow in scenario.flows}
    entries: dict[str, Entries] = {}
    generators = Counter[str]()
    limits: set[tuple[str, int, int]] = set()
    for number, name in enumerate(control.flows, 1):
        if name not in flows:
            raise ScenarioError(
                f"diffusion.flows: no flow {name!r} in the traffic; name one of {', '.join(flows)}"
            )
        if number not in FLOW_QUEUES:
            raise ScenarioError(
                f"diffusion.flows: more than {len(FLOW_QUEUES)} flows; leave some uncontrolled"
            )
        flow = flows[name]
        for part in _parts(scenario, control, flow, number, generators):
            held = entries.setdefault(part.switch, {})
            held |= part_entries(number, _rule(scenario, flow), part, control.d, control.alpha)
            limits |= {(part.switch, branch.port, number) for branch in part.branches}
        if control.host_delay_ns is not None:
            flows[name] = replace(flow, shaped_as=number)
    setups = dict(scenario.setups)
    for switch, held in entries.items():
        ports = {(port, queue) for name, port, queue in limits if name == switch}
        setups[switch] = _setup(scenario, switch, held, ports, control)
    queues = max(scenario.queues, QUEUES)
    warning = stability.warning(control.d, control.alpha)
    return replace(
        scenario,
        flows=tuple(flows.values()),
        setups=setups,
        queues=queues,
        warnings=(*scenario.warnings, f"diffusion.d: {warning}") if warning else scenario.warnings,
    )


def _rule(scenario: Scenario, flow: Flow) -> Rule:
    from groupflow.diffusion.plan import Rule

    hosts = scenario.topology.hosts
    return Rule(
        src=int(hosts[flow.source].ip),
        dst=int(hosts[flow.destination].ip),
        protocol=_TCP if isinstance(flow.traffic, TcpTraffic) else _UDP,
    )


def _parts(
    scenario: Scenario, control: Diffusion, flow: Flow, queue: int, generators: Counter[str]
) -> Iterable[Part]:
    """Each switch's part in the flow, from its source on."""
    from groupflow.diffusion.coefficients import line_rate
    from groupflow.diffusion.plan import Branch, Part, Upstream, ticks_of

    topology = scenario.topology
    source, sink = topology.hosts[flow.source], topology.hosts[flow.destination]
    path = topology.path(source.switch, sink.switch)
    if path is None:
        raise ScenarioError(f"traffic.{flow.name}: {flow.destination} cannot be reached from {flow.source}")
    upstream = None
    if control.host_delay_ns is not None:
        upstream = Upstream(flow.source, source.port, control.host_delay_ns, external=True)
    for here, there in zip(path, (*path[1:], flow.destination), strict=True):
        spec = topology.link_between(here, there).spec
        rate = line_rate(spec.rate, control.packet_bytes)
        port = topology.port_to(here, there)
        branch = Branch(there, port, spec.delay_ns, rate, controlled=there in topology.switches)
        first = generators[here]
        generators[here] += ticks_of(upstream, (branch,))
        mac = bytes.fromhex(topology.switches[here].mac.replace(":", ""))
        yield Part(here, mac, upstream, (branch,), queue, tuple(range(first, generators[here])))
        if there in topology.switches:
            upstream = Upstream(here, topology.port_to(there, here), spec.delay_ns, external=False)


def _setup(
    scenario: Scenario, switch: str, held: Entries, queues: Iterable[tuple[int, int]], control: Diffusion
) -> SwitchSetup:
    """The entries as what the simulator tells the switch: table entries, queues, generators."""
    from groupflow.p4rt.entries import INSERT, TABLE_ORDER, Change, encode
    from groupflow.p4rt.externs import Generator as Ticks
    from groupflow.p4rt.externs import QueueSettings
    from groupflow.p4rt.program import Program

    program = Program.load(scenario.p4info, scenario.program)
    before = scenario.setup(switch)
    settings = list(before.queues)
    ticks = list(before.generators)
    tables: Entries = {}
    for key, value in held.items():
        if isinstance(value, QueueSettings):
            port, queue = key.match
            settings.append(QueueSetting(port, queue, f"level={value.level},weight={value.weight}"))
        elif isinstance(value, Ticks):
            ticks.append(Generator(key.match[0], value.period_ns, value.first_ns, value.frame, value.port))
        else:
            tables[key] = value
    if control.queue_packets is not None:
        limit = f"packets={control.queue_packets}"
        settings += [QueueSetting(port, queue, limit) for port, queue in sorted(queues)]
    ordered = sorted(tables, key=lambda key: (TABLE_ORDER.index(key.table), key.match))
    updates = tuple(encode(program, Change(INSERT, key, tables[key])) for key in ordered)
    nominal: Mapping[int, int] = dict.fromkeys(scenario.topology.switches[switch].ports, control.packet_bytes)
    return replace(
        before,
        updates=before.updates + updates,
        queues=tuple(settings),
        generators=tuple(ticks),
        nominal_packets={**nominal, **before.nominal_packets},
    )
