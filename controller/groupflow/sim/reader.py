"""Reads scenario files: a topology's YAML form with traffic, and with facts that only a simulator knows.

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from groupflow.compiler import CompileError, compiled_files
from groupflow.data import P4_JSON, P4INFO
from groupflow.errors import InvalidError
from groupflow.files.forms import load_text, naming, read_yaml, refuse, refuse_other, validate, value_of
from groupflow.files.repetition import expand
from groupflow.files.topology import build
from groupflow.files.topology import load as load_topology
from groupflow.model.topology import Topology, TopologyError
from groupflow.sim import forms, model
from groupflow.sim.diffusion import with_diffusion
from groupflow.sim.model import FifoOptions, Scenario, ScenarioError

Kinds: TypeAlias = Mapping[str, model.Kind]


def load(path: str | Path) -> Scenario:
    """Reads a scenario file. Raises ScenarioError."""
    return parse(load_text(path, ScenarioError), str(path), Path(path).parent)


def parse(text: str, source: str = "scenario", folder: Path = Path()) -> Scenario:
    """Reads a scenario from YAML text; files that it names are in `folder`. Raises ScenarioError."""
    try:
        with naming(source, ScenarioError):
            written = expand(read_yaml(text))
            refuse_other("scenario", written, source)
            form = validate(forms.ScenarioForm, written)
            return _controlled(form, _scenario(form, source, folder), source)
    except TopologyError as error:
        raise ScenarioError(str(error)) from None


def _scenario(form: forms.NetworkForm, source: str, folder: Path) -> Scenario:
    topology = _topology(form, folder)
    for name, switch in form.switches.items():
        if switch.kind == "agent" and switch.agent is None:
            refuse(f"switches.{name}.agent", "missing; name the host whose address a split agent has")
        if switch.kind != "fifo" and switch.fifo.ecn is not None:
            refuse(f"switches.{name}.ecn", "only a fifo has it; write kind: fifo")
    fifos = {name: switch.fifo for name, switch in form.switches.items()}
    kinds: Kinds = {name: switch.kind for name, switch in form.switches.items()}
    _check_fifos(topology, fifos)
    extras = {place: link.extra for place, link in enumerate(form.links)}
    program, p4info = _program(form, folder)
    scenario = value_of(
        Scenario,
        form,
        name=form.name if "name" in form.model_fields_set else Path(source).stem,
        topology=topology,
        flows=tuple(replace(flow, name=name) for name, flow in form.traffic.items()),
        kinds=MappingProxyType(kinds),
        fifos=MappingProxyType({name: fifo for name, fifo in fifos.items() if fifo != FifoOptions()}),
        extras=MappingProxyType(
            {place: extra for place, extra in extras.items() if extra != model.LinkExtra()}
        ),
        p4info=p4info,
        program=program,
        setups=MappingProxyType(
            {
                name: model.SwitchSetup(queues=switch.queues)
                for name, switch in form.switches.items()
                if switch.queues
            }
        ),
    )
    for flow in scenario.flows:
        _check_flow(f"traffic.{flow.name}", flow, topology)
    for place, session in enumerate(scenario.sessions):
        _check_ends(f"sessions[{place}]", session.source, session.destinations, topology)
    for place, split in enumerate(scenario.splits):
        _check_split(f"splits[{place}]", split, topology, kinds)
    named = (replace(s, name=s.name or f"split{place}") for place, s in enumerate(scenario.splits, 1))
    return replace(scenario, splits=tuple(named))


def _program(form: forms.NetworkForm, folder: Path) -> tuple[Path, Path]:
    """The JSON of the P4 program, and its P4Info: compiled if P4 is named."""
    program = folder / form.program if form.program else P4_JSON
    p4info = folder / form.p4info if form.p4info else P4INFO
    if program.suffix != ".p4":
        return program, p4info
    try:
        program, compiled = compiled_files(program)
    except CompileError as error:
        refuse("program", f"{form.program} has errors\n{error}")
    return program, p4info if form.p4info else compiled


def _controlled(form: forms.NetworkForm, scenario: Scenario, source: str) -> Scenario:
    """The scenario under diffusion-type flow control, where the file asks for it."""
    if form.diffusion is None:
        return scenario
    try:
        return with_diffusion(scenario, form.diffusion)
    except ScenarioError as error:
        raise ScenarioError(f"{source}: {error}") from None
    except InvalidError as error:
        refuse("diffusion", str(error))


def _topology(form: forms.NetworkForm, folder: Path) -> Topology:
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


def _check_flow(key: str, flow: model.Flow, topology: Topology) -> None:
    hosts, source, destination = topology.hosts, flow.source, flow.destination
    _check_ends(key, source, [destination], topology)
    if source == destination:
        refuse(f"{key}.to", f"{destination!r} is where the flow comes from; name another host")
    if topology.path(hosts[source].switch, hosts[destination].switch) is None:
        refuse(f"{key}.to", f"{destination!r} cannot be reached from {source!r}; link them")
    if isinstance(flow.traffic, model.TcpTraffic):
        _check_tcp(key, flow.traffic)
    else:
        _check_arrivals(key, flow.traffic.arrivals)


def _check_ends(key: str, source: str, to: Iterable[str], topology: Topology) -> None:
    for field, name in (("from", source), *(("to", name) for name in to)):
        if name not in topology.hosts:
            refuse(f"{key}.{field}", f"unknown host {name!r}; declare it under hosts")


def _check_split(key: str, split: model.SplitSession, topology: Topology, kinds: Kinds) -> None:
    _check_ends(key, split.source, split.destinations, topology)
    if split.mode == "e2e" and split.cache_bytes is not None:
        refuse(f"{key}.cache", "only n2n has a bound; leave it out")
    if "agent" not in kinds.values():
        refuse(key, "no switch is an agent; write kind: agent for one on the way")
    _check_tcp(key, split.traffic)


def _check_arrivals(key: str, arrivals: model.Arrivals) -> None:
    for field, span in (("on_for", arrivals.on_ns), ("off_for", arrivals.off_ns)):
        if arrivals.pattern == "on_off" and not span:
            refuse(f"{key}.{field}", "missing; write a time with its unit, as in '10ms'")
        if arrivals.pattern != "on_off" and span:
            refuse(f"{key}.{field}", "only an on_off source has it; write arrivals: on_off")


def _check_tcp(key: str, traffic: model.TcpTraffic) -> None:
    if traffic.messages is not None and traffic.size is not None:
        refuse(f"{key}.size", "goes without messages, which have a size of their own; leave out one")


def _check_fifos(topology: Topology, fifos: Mapping[str, FifoOptions]) -> None:
    """Refuses thresholds that the queues beside them cannot reach."""
    for link in topology.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            ecn = fifos.get(end.node, FifoOptions()).ecn
            if ecn is not None and link.spec.rate is not None and ecn >= link.spec.queue:
                refuse(
                    f"switches.{end.node}.ecn",
                    f"'{ecn} packets' are never reached: the queue to {other.node} drops when"
                    f" {link.spec.queue} wait; write less",
                )
