"""Reads the YAML form of a topology and refuses what would not work.

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Interface
from types import MappingProxyType
from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field

from groupflow.network import forms
from groupflow.network.forms import Delay, Form, Loss, Packets, Rate, Written, default, number, refuse, some
from groupflow.network.topology import CPU_PORT, End, Host, Link, LinkSpec, Switch, Topology, TopologyError

_NAME = re.compile(r"[a-z][a-z0-9]{0,9}")  # `<name>-eth12` must fit Linux's 15 characters

_T = TypeVar("_T")


def read(text: str, source: str) -> Topology:
    with forms.naming(source, TopologyError):
        return build(forms.parse(TopologyForm, text))


def read_form(form: object, source: str) -> Topology:
    """Reads what YAML made of a topology. Simulated networks may have more switches than real ones."""
    with forms.naming(source, TopologyError):
        return build(forms.validate(NetworkForm, form))


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no name; write it as text")
    if not _NAME.fullmatch(value):
        raise ValueError("bad name; use a letter, then letters and digits, at most 10, all lower case")
    return value


def read_address(value: object) -> IPv4Interface:
    try:
        address = IPv4Interface(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is no address; write one like 10.0.1.1/24") from None
    last = int(address.ip) & 0xFF
    if address.network.prefixlen != 24 or last in (0, 254, 255):
        raise ValueError(f"{value!r} will not do; write a /24 address ending in .1 to .253")
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


_PATTERN = {"type": "string", "allOf": [forms.text_like(_NAME.pattern)]}  # a bare one allows all other keys
_ADDRESS = forms.text_like(r"([0-9]{1,3}\.){3}[0-9]{1,3}/24")
_GRPC = forms.number_or(1, 65535, ".+:[0-9]{1,5}")
Name: TypeAlias = Annotated[str, Written(_name, "the name of a node", _PATTERN)]
Address: TypeAlias = Annotated[IPv4Interface, Written(read_address, "an address like 10.0.1.1/24", _ADDRESS)]
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


class SwitchForm(Form):
    device_id: int = number(1, 0xFFFF)
    grpc: Grpc
    agent: str | None = Field(None, description="the name of a host")


class HostForm(Form):
    ip: Address


class LinkForm(LinkSpecForm):
    ends: list[str] = Field(min_length=2, max_length=2, description="two names, as in `ends: [h1, s1]`")


_SWITCHES = some("s1: {device_id: 1, grpc: 9561}")


class NetworkForm(Form):
    """A network that is simulated."""

    name: str = Field("topology", description="a word")
    description: str = Field("", description="a sentence")
    defaults: DefaultsForm = Field(default_factory=DefaultsForm)
    switches: Mapping[Name, SwitchForm] = _SWITCHES
    hosts: Mapping[Name, HostForm] = some("h1: {ip: 10.0.1.1/24}")
    links: Sequence[LinkForm] = Field((), description="`- {ends: [h1, s1]}` for each link")


class RealSwitchForm(SwitchForm):
    device_id: int = number(1, 255)


class TopologyForm(NetworkForm):
    """A network that Mininet, the controller and the simulator read."""

    switches: Mapping[Name, RealSwitchForm] = _SWITCHES  # pyright: ignore[reportIncompatibleVariableOverride]


def build(form: NetworkForm) -> Topology:
    """Refuses what no form can say: names that nothing has, or two; hosts without a link, or with two."""
    for name in form.switches:
        if name in form.hosts:
            refuse(f"hosts.{name}", "duplicate name: a switch has it too; rename one")
    _no_duplicate(form.switches, "switches", "device_id", lambda switch: switch.device_id)
    _no_duplicate(form.switches, "switches", "grpc", lambda switch: switch.grpc)
    _no_duplicate(form.hosts, "hosts", "ip", lambda host: host.ip.ip)
    for name, switch in form.switches.items():
        if switch.agent is not None and switch.agent not in form.hosts:
            refuse(f"switches.{name}.agent", f"unknown host {switch.agent!r}; declare it under hosts")
    links = _links(form)
    ends: dict[str, dict[int, End]] = {}
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            ends.setdefault(near.node, {})[near.port] = far
    macs = {name: router_mac(switch.device_id) for name, switch in form.switches.items()}
    switches = {
        name: Switch(name, at.device_id, at.grpc, at.agent, macs[name], MappingProxyType(ends.get(name, {})))
        for name, at in form.switches.items()
    }
    hosts = {name: _host(name, host.ip, ends[name][0], macs) for name, host in form.hosts.items()}
    return Topology(form.name, form.description, MappingProxyType(switches), MappingProxyType(hosts), links)


def _no_duplicate(nodes: Mapping[str, _T], kind: str, field: str, value: Callable[[_T], object]) -> None:
    owners: dict[object, str] = {}
    for name, node in nodes.items():
        owner = owners.setdefault(value(node), name)
        if owner != name:
            refuse(f"{kind}.{name}.{field}", f"duplicate {value(node)}: {owner} has it too; change one")


def _links(form: NetworkForm) -> tuple[Link, ...]:
    next_port = dict.fromkeys(form.switches, 1)
    attached: dict[str, str] = {}
    links: list[Link] = []
    for place, item in enumerate(form.links):
        key = f"links[{place}]"
        _check_ends(f"{key}.ends", item.ends, form)
        built: list[End] = []
        for name in item.ends:
            if name in form.hosts and attached.setdefault(name, key) != key:
                refuse(f"{key}.ends", f"host {name!r} already has {attached[name]}; give it one link")
            port = next_port.get(name, 0)
            if port >= CPU_PORT:
                refuse(f"{key}.ends", f"switch {name!r} has {CPU_PORT - 1} links already; use two")
            if name in form.switches:
                next_port[name] = port + 1
            built.append(End(name, port))
        links.append(Link(built[0], built[1], item.spec(form.defaults.link)))
    for name in form.hosts:
        if name not in attached:
            refuse(f"hosts.{name}", "has no link; add one to links")
    for name, switch in form.switches.items():
        if switch.agent and not any({switch.agent, name} == {link.a.node, link.b.node} for link in links):
            refuse(f"switches.{name}.agent", f"host {switch.agent!r} is not linked to it; link them")
    return tuple(links)


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


def _host(name: str, address: IPv4Interface, uplink: End, macs: Mapping[str, str]) -> Host:
    return Host(
        name=name,
        ip=address.ip,
        prefix=address.network.prefixlen,
        mac=host_mac(address.ip),
        gateway=IPv4Address((int(address.ip) & ~0xFF) | 254),
        gateway_mac=macs[uplink.node],
        switch=uplink.node,
        port=uplink.port,
    )
