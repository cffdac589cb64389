"""Reads scenario files: a topology's YAML form with traffic, and with facts that only a simulator knows.

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from groupflow.data import P4_JSON, P4INFO
from groupflow.errors import InvalidError
from groupflow.files.forms import load_text, naming, read_yaml, refuse, validate
from groupflow.files.repetition import expand
from groupflow.files.topology import build
from groupflow.files.topology import load as load_topology
from groupflow.model.topology import Topology, TopologyError
from groupflow.sim import forms, model
from groupflow.sim.diffusion import Diffusion, with_diffusion
from groupflow.sim.model import FifoOptions, Scenario, ScenarioError

Kinds: TypeAlias = Mapping[str, model.Kind]


def load(path: str | Path) -> Scenario:
    """Reads a scenario file. Raises ScenarioError."""
    return parse(load_text(path, ScenarioError), str(path), Path(path).parent)


def parse(text: str, source: str = "scenario", folder: Path = Path()) -> Scenario:
    """Reads a scenario from YAML text; files that it names are in `folder`. Raises ScenarioError."""
    try:
        with naming(source, ScenarioError):
            form = validate(forms.ScenarioForm, expand(read_yaml(text)))
            return _controlled(form, _scenario(form, source, folder), source)
    except TopologyError as error:
        raise ScenarioError(str(error)) from None


def _scenario(form: forms.ScenarioForm, source: str, folder: Path) -> Scenario:
    topology = _topology(form, folder)
    for name, switch in form.switches.items():
        if switch.kind == "agent" and switch.agent is None:
            refuse(f"switches.{name}.agent", "missing; name the host whose address a split agent has")
    fifos = {name: _fifo(f"switches.{name}", switch) for name, switch in form.switches.items()}
    kinds: Kinds = {name: switch.kind for name, switch in form.switches.items()}
    _check_fifos(topology, kinds, fifos)
    extras = {place: _extra(link) for place, link in enumerate(form.links)}
    setups = {name: _setup(switch) for name, switch in form.switches.items() if switch.queues}
    return Scenario(
        name=form.name if "name" in form.model_fields_set else Path(source).stem,
        topology=topology,
        flows=tuple(_flow(name, flow, topology) for name, flow in form.traffic.items()),
        duration_ns=form.duration,
        sessions=tuple(_session(f"sessions[{at}]", each, topology) for at, each in enumerate(form.sessions)),
        splits=tuple(_split(at, each, topology, kinds) for at, each in enumerate(form.splits)),
        sample_ns=form.sample,
        seed=form.seed,
        kinds=MappingProxyType(kinds),
        fifos=MappingProxyType({name: fifo for name, fifo in fifos.items() if fifo != FifoOptions()}),
        extras=MappingProxyType(
            {place: extra for place, extra in extras.items() if extra != model.LinkExtra()}
        ),
        p4info=folder / form.p4info if form.p4info else P4INFO,
        program=folder / form.program if form.program else P4_JSON,
        routes=form.routes,
        queues=form.queues,
        setups=MappingProxyType(setups),
        trace=form.trace,
    )


def _controlled(form: forms.ScenarioForm, scenario: Scenario, source: str) -> Scenario:
    """The scenario under diffusion-type flow control, where the file asks for it."""
    asked = form.diffusion
    if asked is None:
        return scenario
    flows = tuple(flow.name for flow in scenario.flows) if asked.flows is None else tuple(asked.flows)
    control = Diffusion(asked.d, flows, asked.alpha, asked.packet, host_delay_ns=asked.hosts)
    try:
        return with_diffusion(scenario, control)
    except ScenarioError as error:
        raise ScenarioError(f"{source}: {error}") from None
    except InvalidError as error:
        refuse("diffusion", str(error))


def _topology(form: forms.ScenarioForm, folder: Path) -> Topology:
    if "topology" in form.model_fields_set:
        for key in ("defaults", "switches", "hosts", "links"):
            if key in form.model_fields_set:
                refuse(key, "is in the topology's file already; leave out one")
        topology = load_topology(form.topology, folder)
        if any(link.schedule for link in topology.links):
            refuse("topology", f"{topology.name} has a schedule, which netsim has not; use a link's `down`")
        return topology
    for key, nodes in (("switches", form.switches), ("hosts", form.hosts)):
        if not nodes:
            refuse(key, "none given; name at least one")
    return build(form)


def _setup(switch: forms.SwitchForm) -> model.SwitchSetup:
    return model.SwitchSetup(queues=tuple(model.QueueSetting(**dict(queue)) for queue in switch.queues))


def _extra(link: forms.LinkForm) -> model.LinkExtra:
    burst = model.GilbertElliott(**dict(link.loss)) if isinstance(link.loss, forms.BurstForm) else None
    return model.LinkExtra(burst_loss=burst, down_ns=link.down, queue_bytes=link.queue_bytes)


def _flow(name: str, form: forms.TcpForm | forms.UdpForm, topology: Topology) -> model.Flow:
    key, hosts = f"traffic.{name}", topology.hosts
    source, (destination,) = _ends(key, form.source, [form.to], topology)
    if source == destination:
        refuse(f"{key}.to", f"{destination!r} is where the flow comes from; name another host")
    if topology.path(hosts[source].switch, hosts[destination].switch) is None:
        refuse(f"{key}.to", f"{destination!r} cannot be reached from {source!r}; link them")
    traffic = _tcp(key, form) if isinstance(form, forms.TcpForm) else _udp(key, form)
    return model.Flow(name, source, destination, traffic, form.start, form.stop, form.shaped_as)


def _ends(key: str, source: str, to: list[str], topology: Topology) -> tuple[str, tuple[str, ...]]:
    for field, name in (("from", source), *(("to", name) for name in to)):
        if name not in topology.hosts:
            refuse(f"{key}.{field}", f"unknown host {name!r}; declare it under hosts")
    return source, tuple(to)


def _session(key: str, form: forms.SessionForm, topology: Topology) -> model.GroupSession:
    source, members = _ends(key, form.source, form.to, topology)
    rate = form.rate or 0
    return model.GroupSession(form.id, source, members, form.size, form.mode, form.policy, rate, form.start)


def _split(place: int, form: forms.SplitForm, topology: Topology, kinds: Kinds) -> model.SplitSession:
    key = f"splits[{place}]"
    source, members = _ends(key, form.source, form.to, topology)
    if form.mode == "e2e" and form.cache is not None:
        refuse(f"{key}.cache", "only n2n has a bound; leave it out")
    if "agent" not in kinds.values():
        refuse(key, "no switch is an agent; write kind: agent for one on the way")
    name, traffic = form.name or f"split{place + 1}", _tcp(key, form)
    return model.SplitSession(name, source, members, traffic, form.mode, form.start, form.cache)


def _udp(key: str, form: forms.UdpForm) -> model.UdpTraffic:
    for field, span in (("on_for", form.on_for), ("off_for", form.off_for)):
        if form.arrivals == "on_off" and span is None:
            refuse(f"{key}.{field}", "missing; write a time with its unit, as in '10ms'")
        if form.arrivals != "on_off" and span is not None:
            refuse(f"{key}.{field}", "only an on_off source has it; write arrivals: on_off")
    arrivals = model.Arrivals(form.arrivals, form.on_for or 0, form.off_for or 0, form.random)
    return model.UdpTraffic(form.rate, form.packet, arrivals, form.sizes)


def _tcp(key: str, form: forms.TcpOptionsForm) -> model.TcpTraffic:
    messages = form.messages
    if messages is not None and form.size is not None:
        refuse(f"{key}.size", "goes without messages, which have a size of their own; leave out one")
    values = {name: getattr(form, name) for name in forms.TcpOptionsForm.model_fields if name != "messages"}
    return model.TcpTraffic(**values, messages=messages and model.Messages(**dict(messages)))


def _fifo(key: str, switch: forms.SwitchForm) -> FifoOptions:
    """The options of the switch at `key`. Refuses what contradicts itself."""
    options = FifoOptions(switch.ecn, switch.xoff, switch.xon)
    for field in ("ecn", "xoff", "xon"):
        if switch.kind != "fifo" and field in switch.model_fields_set:
            refuse(f"{key}.{field}", "only a fifo has it; write kind: fifo")
    for field, value, other in (("xoff", switch.xoff, "xon"), ("xon", switch.xon, "xoff")):
        if value is None and other in switch.model_fields_set:
            refuse(f"{key}.{field}", f"missing; {other} needs it, as in '1000 packets'")
    if options.xoff is not None and options.xon is not None and options.xon > options.xoff:
        refuse(f"{key}.xon", f"'{options.xon} packets' is above xoff; write {options.xoff} packets or less")
    return options


def _check_fifos(topology: Topology, kinds: Kinds, fifos: Mapping[str, FifoOptions]) -> None:
    """Refuses thresholds that the queues beside them cannot reach, and pauses that nobody obeys."""
    for link in topology.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            options = fifos.get(end.node, FifoOptions())
            for field, value in (("ecn", options.ecn), ("xoff", options.xoff)):
                if value is not None and link.spec.rate is not None and value >= link.spec.queue:
                    refuse(
                        f"switches.{end.node}.{field}",
                        f"'{value} packets' are never reached: the queue to {other.node} drops when"
                        f" {link.spec.queue} wait; write less",
                    )
            if options.xoff is not None and kinds.get(other.node) == "p4":
                refuse(
                    f"switches.{end.node}.xoff",
                    f"its neighbour {other.node} runs P4 and does not obey pause frames; use a fifo",
                )
