"""Reads the YAML form of a topology and refuses what would not work.

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""
# Forms are frozen, which pyright cannot see: a field may be narrower than the same field of a parent.
# pyright: reportIncompatibleVariableOverride=false

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, TypeAlias, TypeVar, cast

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from groupflow import units
from groupflow.data import TOPOLOGIES
from groupflow.files import forms
from groupflow.files.forms import Form, default, number, refuse, some
from groupflow.files.repetition import expand
from groupflow.model.fields import Delay, Loss, Packets, Rate, Written, number_or, text_like
from groupflow.model.topology import (
    CPU_PORT,
    End,
    Host,
    Link,
    LinkSpec,
    Step,
    Switch,
    Topology,
    TopologyError,
)

_NAME = re.compile(r"[a-z][a-z0-9]{0,9}")  # `<name>-eth12` must fit Linux's 15 characters
_END = re.compile(r"(.+)-p([0-9]{1,3})")
"""an end of a link that names its port, as p4lang/tutorials write it: s1-p3"""

LAST_DEVICE_ID = 0xFFFF
FIRST_PORT = 9561
"""of switches for which a file names none"""
MOST_ADDRESSES = (1 << 16) - 1
"""networks 10.X.Y.0/24, one for each host without an address of its own"""
_AGENT_LINK = {"rate": "unlimited", "delay": "0ms"}

_T = TypeVar("_T")


def load(path: str | Path, folder: Path = Path()) -> Topology:
    """Reads a topology file, a path from `folder`; or by its name, like `fig5`, one of the package's.

    JSON is of p4lang/tutorials or p4-utils, GraphML of the Topology Zoo; all else is YAML.

    Raises TopologyError.
    """
    file = folder / path
    if not {"/", "."} & set(str(path)):
        file = TOPOLOGIES / f"{path}.yaml"
        if not file.is_file():
            known = ", ".join(sorted(shipped.stem for shipped in TOPOLOGIES.glob("*.yaml")))
            raise TopologyError(f"{path}: unknown topology; write {known}, or a file's path: {path}.yaml")
    text = forms.load_text(file, TopologyError)
    if file.suffix not in (".json", ".graphml"):
        return parse(text, str(file))
    from groupflow.files.imports import read_foreign  # here, because few topologies need it

    return read_form(read_foreign(text, file), str(file), real=True)


def parse(text: str, source: str = "topology") -> Topology:
    """Reads a topology from YAML text. `source` names the text in errors, and files that the text names
    stand beside it. Raises TopologyError."""
    with forms.naming(source, TopologyError):
        form = forms.validate(TopologyForm, expand(forms.read_yaml(text)))
        return build(form, Path(source).parent)


def read_form(form: object, source: str, *, real: bool = False) -> Topology:
    """Reads what YAML made of a topology. Simulated networks may have more switches than `real` ones."""
    with forms.naming(source, TopologyError):
        return build(forms.validate(TopologyForm if real else NetworkForm, form), Path(source).parent)


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no name; write it as text")
    if not _NAME.fullmatch(value):
        raise ValueError("bad name; use a letter, then letters and digits, at most 10, all lower case")
    return value


def read_address(value: object) -> IPv4Interface:
    """The address of a host whose gateway is its switch."""
    address = _interface(value)
    if address.network.prefixlen != 24 or int(address.ip) & 0xFF in (0, 254, 255):
        raise ValueError(f"'{address}' will not do; write a /24 address ending in .1 to .253")
    return address


def _interface(value: object) -> IPv4Interface:
    try:
        address = IPv4Interface(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is no address; write one like 10.0.1.1/24") from None
    ip = address.ip
    if ip.is_multicast or ip.is_loopback or ip.is_reserved or int(ip) < 1 << 24:
        raise ValueError(f"{value!r} is no host's address; write one like 10.0.1.1/24")
    return address


def _grpc(value: object) -> str:
    """HOST:PORT; a port alone is on this machine."""
    text = f"127.0.0.1:{value}" if type(value) is int else value if isinstance(value, str) else ""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise ValueError(f"{value!r} is no address; write a port or HOST:PORT")
    return text


def _gateway(value: object) -> IPv4Address:
    try:
        return IPv4Address(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is no address; write one like 10.0.1.254") from None


def _mac(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch("([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", value):
        raise ValueError(f"{value!r} is no MAC address; write one like '08:00:00:00:01:11'")
    if int(value[:2], 16) & 1:
        raise ValueError(f"{value!r} is a group's MAC address; write a host's, like '08:00:00:00:01:11'")
    return value.lower()


_REPEATED = r"\{[0-9]+\.\.[0-9]+\}"
_NAMES = rf"{_NAME.pattern}|[a-z][a-z0-9]*({_REPEATED}[a-z0-9]*)+"
_PATTERN = {"type": "string", "allOf": [text_like(_NAMES)]}  # a bare one allows all other keys
_OCTETS = rf"(([0-9]{{1,3}}|{_REPEATED})\.){{3}}([0-9]{{1,3}}|{_REPEATED})"
_ADDRESS = text_like(f"{_OCTETS}/[0-9]{{1,2}}")
_MAC = text_like(r"(([0-9a-fA-F]{2}|\{[0-9]+\.\.[0-9]+\}):){5}.*")
_GRPC = number_or(1, 65535, f".+:[0-9]{{1,5}}|{_REPEATED}")
Name: TypeAlias = Annotated[str, Written(_name, "the name of a node", _PATTERN)]
Address: TypeAlias = Annotated[IPv4Interface, Written(read_address, "an address like 10.0.1.1/24", _ADDRESS)]
_AnyAddress: TypeAlias = Annotated[
    IPv4Interface, Written(_interface, "an address like 10.0.1.1/24", _ADDRESS)
]
_Gateway: TypeAlias = Annotated[
    IPv4Address | None, Written(_gateway, "an address like 10.0.1.254", text_like(_OCTETS))
]
_Mac: TypeAlias = Annotated[str, Written(_mac, "a MAC address like '08:00:00:00:01:11'", _MAC)]
Grpc: TypeAlias = Annotated[str, Written(_grpc, "a port or HOST:PORT", _GRPC)]


class LinkSpecForm(Form):
    rate: Rate = default("100mbit")
    delay: Delay = default("10ms")
    loss: Loss = default(0)
    queue: Packets = default("200 packets")

    def spec(self, others: "LinkSpecForm") -> LinkSpec:
        """The link's values in the file, and for missing ones those of `others`."""
        keys = ("rate", "delay", "loss", "queue")
        return LinkSpec(*(getattr(self if key in self.model_fields_set else others, key) for key in keys))


class DefaultsForm(Form):
    link: LinkSpecForm = Field(default_factory=LinkSpecForm)


def _nodes(value: object) -> object:
    """A list of names is a mapping of nodes without settings, as `s1:` is a node without settings."""
    if isinstance(value, dict):
        nodes = cast(dict[object, object], value).items()
        return {name: dict[str, object]() if of is None else of for name, of in nodes}
    if not isinstance(value, list):
        return value
    found: dict[str, object] = {}
    for name in cast(list[object], value):
        if not isinstance(name, str):
            raise ValueError(f"{name!r} is no name; write it as text")
        if name in found:
            raise ValueError(f"duplicate name {name!r}; rename one")
        found[name] = {}
    return found


def _link(value: object) -> object:
    """`[h1, s1]` is a link with two ends and nothing else."""
    return {"ends": cast(object, value)} if isinstance(value, list) else value


def nodes(form: type[Form]) -> BeforeValidator:
    return BeforeValidator(_nodes, json_schema_input_type=Mapping[Name, form | None] | list[Name])


def link(form: type[Form]) -> BeforeValidator:
    ends = Annotated[list[str], Field(min_length=2, max_length=2)]
    return BeforeValidator(_link, json_schema_input_type=form | ends)


class SwitchForm(Form):
    device_id: Annotated[int | None, forms.GIVEN] = number(1, LAST_DEVICE_ID, None)
    grpc: Annotated[Grpc | None, forms.GIVEN] = None
    agent: str | None = Field(None, description="the name of a host")


class HostForm(Form):
    ip: Annotated[Address | None, forms.GIVEN] = None


class LinkForm(LinkSpecForm):
    ends: list[str] = Field(min_length=2, max_length=2, description="two names, as in `ends: [h1, s1]`")

    def steps(self) -> tuple[Step, ...]:
        return ()


_SWITCHES = some("switches: [s1, s2]")
_HOSTS = some("hosts: [h1, h2]")
_LINKS: Sequence[LinkForm] = Field((), description="`- [h1, s1]` for each link")
_PROGRAM = Field("", description="the path of a P4 program, or of what p4c made of it")
_P4INFO = Field("", description="the path of the P4Info that p4c made")


class NetworkForm(Form):
    """A network that is simulated."""

    name: str = Field("topology", description="a word")
    description: str = Field("", description="a sentence")
    defaults: DefaultsForm = Field(default_factory=DefaultsForm)
    switches: Annotated[Mapping[Name, SwitchForm], nodes(SwitchForm)] = _SWITCHES
    hosts: Annotated[Mapping[Name, HostForm], nodes(HostForm)] = _HOSTS
    links: Sequence[Annotated[LinkForm, link(LinkForm)]] = _LINKS
    agents: Literal["auto", "none"] = "none"
    """auto: each switch with hosts has a cache agent; where switches are a list, it is the default"""

    @model_validator(mode="before")
    @classmethod
    def _list_has_agents(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        form = cast(dict[str, object], value)
        return {"agents": "auto", **form} if isinstance(form.get("switches"), list) else form


class RealSwitchForm(SwitchForm):
    device_id: Annotated[int | None, forms.GIVEN, WithJsonSchema(number_or(0, 255, _REPEATED))] = number(
        0, 255, None
    )
    program: str = _PROGRAM
    p4info: str = _P4INFO
    entries: str = Field("", description="the path of entries, as in `entries: s1-runtime.json`")


class RealHostForm(HostForm):
    ip: Annotated[_AnyAddress | None, forms.GIVEN] = None
    mac: _Mac = Field("")
    gateway: _Gateway = None
    gateway_mac: _Mac = Field("")
    commands: Sequence[str] = Field((), description="`- a shell's command` for each")
    programs: Sequence[str] = Field((), description="`- a shell's command` for each")


def _named(value: object) -> object:
    """Names as they are; None: all."""
    return {True: None, False: ()}[value] if isinstance(value, bool) else value


_PCAP = "true, or names of switches: [s1, s2]"
_FLAG_OR_NAMES = {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}


class StepForm(Form):
    at: Delay
    rate: Rate = default("unlimited")
    delay: Delay = default(0)
    loss: Loss = default(0)
    state: Literal["up", "down"] = Field("up", description="up or down")

    def step(self) -> Step:
        texts = {
            "rate": f"rate={units.format_rate(self.rate)}",
            "delay": f"delay={units.format_delay(self.delay)}",
            "loss": f"loss={units.format_loss(self.loss)}",
            "state": self.state,
        }
        return Step(self.at, ",".join(text for key, text in texts.items() if key in self.model_fields_set))


class RealLinkForm(LinkForm):
    schedule: Sequence[StepForm] = Field((), description="`- {at: 5s, rate: 1mbit}` for each change")

    def steps(self) -> tuple[Step, ...]:
        steps = tuple(each.step() for each in self.schedule)
        for place, step in enumerate(steps):
            if not step.change:
                refuse(f"schedule[{place}]", "changes nothing; write rate, delay, loss or state")
            if place and step.at_ns < steps[place - 1].at_ns:
                refuse(f"schedule[{place}].at", "earlier than the change before it; write changes in order")
        return steps


class TopologyForm(NetworkForm):
    """A network that Mininet, the controller and the simulator read."""

    switches: Annotated[Mapping[Name, RealSwitchForm], nodes(RealSwitchForm)] = _SWITCHES
    hosts: Annotated[Mapping[Name, RealHostForm], nodes(RealHostForm)] = _HOSTS
    links: Sequence[Annotated[RealLinkForm, link(RealLinkForm)]] = _LINKS
    program: str = _PROGRAM
    p4info: str = _P4INFO
    pcap: Annotated[Sequence[str] | None, Written(_named, _PCAP, _FLAG_OR_NAMES)] = ()


def build(form: NetworkForm, folder: Path = Path()) -> Topology:
    """Refuses what no form can say: names that nothing has, or two; hosts without a link, or with two.

    Files that the form names are in `folder`. What the form leaves out is chosen (`chosen`).
    """
    form = chosen(form)
    for name in form.switches:
        if name in form.hosts:
            refuse(f"hosts.{name}", "duplicate name: a switch has it too; rename one")
    _no_duplicate(form.switches, "switches", "device_id", lambda switch: switch.device_id)
    _no_duplicate(form.switches, "switches", "grpc", lambda switch: switch.grpc)
    _no_duplicate(form.hosts, "hosts", "ip", lambda host: _ip(host).ip)
    for name, switch in form.switches.items():
        if switch.agent is not None and switch.agent not in form.hosts:
            refuse(f"switches.{name}.agent", f"unknown host {switch.agent!r}; declare it under hosts")
    links = _links(form)
    ends: dict[str, dict[int, End]] = {name: {} for name in form.switches}
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            ends.setdefault(near.node, {})[near.port] = far
    switches = {name: _switch(name, at, ends[name], form, folder) for name, at in form.switches.items()}
    hosts = {name: _host(name, host, ends[name][0], switches) for name, host in form.hosts.items()}
    return Topology(
        form.name, form.description, MappingProxyType(switches), MappingProxyType(hosts), links, _pcap(form)
    )


def chosen(form: NetworkForm) -> NetworkForm:
    """The form with what it leaves out: the lowest free device ids, ports from 9561 on, addresses 10.X.Y.1,
    and with `agents: auto` a cache agent beside each switch with hosts."""
    switches, hosts, links = dict(form.switches), dict(form.hosts), list(form.links)
    for name in _without_agent(form) if form.agents == "auto" else ():
        agent = f"{name}c"
        if agent in switches or agent in hosts or not _NAME.fullmatch(agent):
            refuse("agents", f"{agent!r} cannot be the agent of {name}; rename a node, or write agents: none")
        switches[name] = switches[name].model_copy(update={"agent": agent})
        hosts[agent] = (RealHostForm if isinstance(form, TopologyForm) else HostForm).model_validate({})
        links.append(type(links[0]).model_validate({"ends": [agent, name], **_AGENT_LINK}))
    ids = {switch.device_id for switch in switches.values()}
    free_ids = (number for number in range(1, LAST_DEVICE_ID) if number not in ids)
    ports = {switch.grpc for switch in switches.values()}
    free_ports = (text for text in map(_grpc, range(FIRST_PORT, 1 << 16)) if text not in ports)
    addresses = {host.ip for host in hosts.values()}
    every = (read_address(f"10.{n >> 8}.{n & 0xFF}.1/24") for n in range(1, MOST_ADDRESSES + 1))
    free_addresses = (address for address in every if address not in addresses)
    most = 255 if isinstance(form, TopologyForm) else LAST_DEVICE_ID
    for name, switch in switches.items():
        number = next(free_ids, LAST_DEVICE_ID) if switch.device_id is None else switch.device_id
        if number > most:
            refuse(f"switches.{name}", f"no device id is left up to {most}; name fewer switches")
        # No socket is opened for a simulated switch, of which there may be more than ports.
        grpc = switch.grpc or (next(free_ports) if most == 255 else f"{name}:9559")
        switches[name] = switch.model_copy(update={"device_id": number, "grpc": grpc})
    for name, host in hosts.items():
        if host.ip is None:
            if (address := next(free_addresses, None)) is None:
                refuse(f"hosts.{name}", f"no address is left after {MOST_ADDRESSES}; give it an `ip`")
            hosts[name] = host.model_copy(update={"ip": address})
    return form.model_copy(update={"switches": switches, "hosts": hosts, "links": links})


def _without_agent(form: NetworkForm) -> list[str]:
    """The switches that have hosts, and no agent."""
    ends = [{_END.sub(r"\1", text) for text in item.ends} for item in form.links]
    linked = {name for pair in ends if pair & form.hosts.keys() for name in pair}
    return [name for name, switch in form.switches.items() if name in linked and switch.agent is None]


def _ip(host: HostForm) -> IPv4Interface:
    assert host.ip is not None, "`chosen` chooses one"
    return host.ip


def topology(
    switches: Sequence[str] | Mapping[str, Mapping[str, object]],
    hosts: Sequence[str] | Mapping[str, Mapping[str, object]],
    links: Sequence[Sequence[str] | Mapping[str, object]],
    **more: object,
) -> Topology:
    """`groupflow.Topology`: the network of a file with these keys, and with `defaults` of its links.

        groupflow.Topology(["s1"], ["h1", "h2"], [("h1", "s1"), ("h2", "s1")], defaults={"rate": "50mbit"})

    Raises TopologyError.
    """
    form: dict[str, object] = {
        "switches": dict(switches) if isinstance(switches, Mapping) else list(switches),
        "hosts": dict(hosts) if isinstance(hosts, Mapping) else list(hosts),
        "links": [dict(each) if isinstance(each, Mapping) else list(each) for each in links],
    }
    if "defaults" in more:
        more["defaults"] = {"link": more["defaults"]}
    return read_form(expand(form | more), "topology", real=True)


def _switch(name: str, form: SwitchForm, ends: dict[int, End], network: NetworkForm, folder: Path) -> Switch:
    files: dict[str, Path] = {}
    if isinstance(form, RealSwitchForm) and isinstance(network, TopologyForm):
        of = form if form.program else network
        texts = {"program": of.program, "p4info": of.p4info, "entries": form.entries}
        files = {key: folder / text for key, text in texts.items() if text}
    device_id, grpc = form.device_id or 0, form.grpc or ""
    mac = router_mac(device_id)
    return Switch(name, device_id, grpc, form.agent, mac, MappingProxyType(ends), **files)


def _pcap(form: NetworkForm) -> frozenset[str]:
    asked = form.pcap if isinstance(form, TopologyForm) else ()
    if asked is None:
        return frozenset(form.switches)
    if unknown := [name for name in asked if name not in form.switches]:
        refuse("pcap", f"no switch {unknown[0]!r}; declare it under switches")
    return frozenset(asked)


def _no_duplicate(nodes: Mapping[str, _T], kind: str, field: str, value: Callable[[_T], object]) -> None:
    owners: dict[object, str] = {}
    for name, node in nodes.items():
        owner = owners.setdefault(value(node), name)
        if owner != name:
            refuse(f"{kind}.{name}.{field}", f"duplicate {value(node)}: {owner} has it too; change one")


def _links(form: NetworkForm) -> tuple[Link, ...]:
    ends = [_split(f"links[{place}].ends", item.ends, form) for place, item in enumerate(form.links)]
    taken: dict[End, str] = {}
    for place, pair in enumerate(ends):
        for name, port in pair:
            key = f"links[{place}].ends"
            if port is not None and taken.setdefault(End(name, port), key) != key:
                refuse(key, f"port {port} of {name!r} is {taken[End(name, port)][:-5]}'s too; change one")
    next_port = dict.fromkeys(form.switches, 1)
    attached: dict[str, str] = {}
    links: list[Link] = []
    for place, item in enumerate(form.links):
        key = f"links[{place}]"
        built: list[End] = []
        for name, port in ends[place]:
            if name in form.hosts and attached.setdefault(name, key) != key:
                refuse(f"{key}.ends", f"host {name!r} already has {attached[name]}; give it one link")
            if name in form.switches and port is None:
                while End(name, next_port[name]) in taken:
                    next_port[name] += 1
                port = next_port[name]
                next_port[name] += 1
            if (port or 0) >= CPU_PORT:
                refuse(f"{key}.ends", f"switch {name!r} has {CPU_PORT - 1} links already; use two")
            built.append(End(name, port or 0))
        with forms.below(key):
            links.append(Link(built[0], built[1], item.spec(form.defaults.link), item.steps()))
    for name in form.hosts:
        if name not in attached:
            refuse(f"hosts.{name}", "has no link; add one to links")
    for name, switch in form.switches.items():
        if switch.agent and not any({switch.agent, name} == {link.a.node, link.b.node} for link in links):
            refuse(f"switches.{name}.agent", f"host {switch.agent!r} is not linked to it; link them")
    return tuple(links)


def _split(key: str, ends: Sequence[str], form: NetworkForm) -> list[tuple[str, int | None]]:
    """Names of the ends of a link, with the ports that they name."""
    found: list[tuple[str, int | None]] = []
    for text in ends:
        match = _END.fullmatch(text)
        name, port = (match[1], int(match[2])) if match else (text, None)
        if port is not None and (name in form.hosts or not 1 <= port < CPU_PORT):
            cure = "hosts have one" if name in form.hosts else f"ports are 1 to {CPU_PORT - 1}"
            refuse(key, f"{text!r} will not do: {cure}; write {name}, or another port")
        found.append((name, port))
    _check_ends(key, [name for name, _ in found], form)
    return found


def _check_ends(key: str, ends: Sequence[str], form: NetworkForm) -> None:
    for name in ends:
        if name not in form.switches and name not in form.hosts:
            refuse(key, f"no host or switch {name!r}; declare it under hosts or switches")
    one, other = ends
    if one == other:
        refuse(key, f"{one!r} is linked to itself; name two nodes")
    if one in form.hosts and other in form.hosts:
        refuse(key, f"hosts {one!r} and {other!r} need a switch between them; add one")


def router_mac(device_id: int) -> str:
    return f"02:00:00:00:{device_id >> 8:02x}:{device_id & 0xFF:02x}"


def host_mac(ip: IPv4Address) -> str:
    return "02:00:" + ip.packed.hex(":")


def _host(name: str, form: HostForm, uplink: End, switches: Mapping[str, Switch]) -> Host:
    address = _ip(form)
    real = form if isinstance(form, RealHostForm) else None
    gateway = real.gateway if real else None
    if gateway is None:
        try:
            read_address(address)
        except ValueError as error:
            refuse(f"hosts.{name}.ip", str(error))
    elif gateway not in address.network:
        refuse(f"hosts.{name}.gateway", f"{gateway} is not in {address.network}; write an address in it")
    return Host(
        name=name,
        ip=address.ip,
        prefix=address.network.prefixlen,
        mac=(real and real.mac) or host_mac(address.ip),
        gateway=gateway or IPv4Address((int(address.ip) & ~0xFF) | 254),
        gateway_mac=(real and real.gateway_mac) or switches[uplink.node].mac,
        switch=uplink.node,
        port=uplink.port,
        fixed_gateway=bool(real and real.gateway_mac),
        commands=tuple(real.commands) if real else (),
        programs=tuple(real.programs) if real else (),
    )
