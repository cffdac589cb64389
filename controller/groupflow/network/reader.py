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
from groupflow.network.forms import Delay, Form, Loss, Rate, Written, default, number, refuse, some
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


def _address(value: object) -> IPv4Interface:
    try:
        address = IPv4Interface(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is no address; write one like 10.0.1.1/24") from None
    last = int(address.ip) & 0xFF
    if address.network.prefixlen != 24 or last in (0, 254, 255):
        raise ValueError(f"{value!r} will not do; write a /24 address ending in .1 to .253")
    if (
        address.ip.is_multicast
        or address.ip.is_loopback
        or address.ip.is_reserved
        or int(address.ip) < 1 << 24
    ):
        raise ValueError(f"{value!r} is no host's address; write one like 10.0.1.1/24")
    return address


def _grpc(value: object) -> str:
    """HOST:PORT; a port alone is on this machine."""
    text = f"127.0.0.1:{value}" if type(value) is int else str(value)
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise ValueError(f"{value!r} is no address; write a port or HOST:PORT")
    return text


Name: TypeAlias = Annotated[
    str, Written(_name, "the name of a node", {"type": "string", "allOf": [forms.text_like(_NAME.pattern)]})
]
Address: TypeAlias = Annotated[
    IPv4Interface,
    Written(_address, "an address like 10.0.1.1/24", forms.text_like(r"([0-9]{1,3}\.){3}[0-9]{1,3}/24")),
]
Grpc: TypeAlias = Annotated[
    str, Written(_grpc, "a port or HOST:PORT", forms.number_or(1, 65535, ".+:[0-9]{1,5}"))
]


class LinkSpecForm(Form):
    rate: Rate = default("100mbit")
    delay: Delay = default("10ms")
    loss: Loss = default(0)
    queue: int = number(1, 1_000_000, 200)

    def spec(self, others: "LinkSpecForm") -> LinkSpec:
        """What the file says of a link, or else of all."""
        chosen = {key: getattr(self if key in self.model_fields_set else others, key) for key in _SPEC}
        return LinkSpec(chosen["rate"], chosen["delay"], chosen["loss"], chosen["queue"])


_SPEC = tuple(LinkSpecForm.model_fields)


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
    return Topology(
        name=form.name,
        description=form.description,
        switches=MappingProxyType(_build_switches(form.switches, links)),
        hosts=MappingProxyType(_build_hosts(form.hosts, form.switches, links)),
        links=links,
    )


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


def _build_switches(switches: Mapping[str, SwitchForm], links: tuple[Link, ...]) -> dict[str, Switch]:
    ports: dict[str, dict[int, End]] = {name: {} for name in switches}
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if near.node in ports:
                ports[near.node][near.port] = far
    return {
        name: Switch(
            name=name,
            device_id=switch.device_id,
            grpc=switch.grpc,
            agent=switch.agent,
            mac=router_mac(switch.device_id),
            ports=MappingProxyType(ports[name]),
        )
        for name, switch in switches.items()
    }


def _build_hosts(
    hosts: Mapping[str, HostForm], switches: Mapping[str, SwitchForm], links: tuple[Link, ...]
) -> dict[str, Host]:
    uplinks: dict[str, End] = {}
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if near.node in hosts:
                uplinks[near.node] = far
    return {
        name: Host(
            name=name,
            ip=host.ip.ip,
            prefix=host.ip.network.prefixlen,
            mac=host_mac(host.ip.ip),
            gateway=IPv4Address((int(host.ip.ip) & ~0xFF) | 254),
            gateway_mac=router_mac(switches[uplinks[name].node].device_id),
            switch=uplinks[name].node,
            port=uplinks[name].port,
        )
        for name, host in hosts.items()
    }
