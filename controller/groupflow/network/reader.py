"""Reads the YAML form of a topology and refuses topologies that would not work.

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Interface, NetmaskValueError
from types import MappingProxyType
from typing import TypeVar, cast

from groupflow.network import units
from groupflow.network.forms import FormReader, Map
from groupflow.network.topology import CPU_PORT, End, Host, Link, LinkSpec, Switch, Topology, TopologyError

_NAME = re.compile(r"[a-z][a-z0-9]{0,9}")  # `<name>-eth12` must fit Linux's 15 characters
_DEFAULT_LINK = LinkSpec(rate=100_000_000, delay_ns=10_000_000, loss=0, queue=200)
_LINK_KEYS = ("rate", "delay", "loss", "queue")

_T = TypeVar("_T")


def read(text: str, source: str) -> Topology:
    reader = _Reader(source, TopologyError)
    return reader.topology(reader.yaml(text))


def read_form(form: object, source: str, *, last_device_id: int) -> Topology:
    """Reads a topology that YAML has parsed. Simulated networks may have more switches than real ones."""
    return _Reader(source, TopologyError, last_device_id).topology(form)


@dataclass(frozen=True)
class _HostForm:
    address: IPv4Interface


@dataclass(frozen=True)
class _SwitchForm:
    device_id: int
    grpc: str
    agent: str | None


@dataclass(frozen=True)
class _Reader(FormReader):
    last_device_id: int = 255

    def topology(self, form: object) -> Topology:
        root = self.map(form, "", ("name", "description", "defaults", "switches", "hosts", "links"))
        default = self._defaults(root.get("defaults", {}))
        switches = {
            name: self._switch(f"switches.{name}", form)
            for name, form in self._nodes(root, "switches").items()
        }
        hosts = {name: self._host(f"hosts.{name}", form) for name, form in self._nodes(root, "hosts").items()}
        for name in switches:
            if name in hosts:
                self.refuse(f"hosts.{name}", "duplicate name: a switch has it too; rename one")
        self._unique(switches, hosts)
        links = self._links(root.get("links", []), default, switches, hosts)
        return Topology(
            name=self.text(root, "name", "topology"),
            description=self.text(root, "description", ""),
            switches=MappingProxyType(_build_switches(switches, links)),
            hosts=MappingProxyType(_build_hosts(hosts, switches, links)),
            links=links,
        )

    def _defaults(self, value: object) -> LinkSpec:
        defaults = self.map(value, "defaults", ("link",))
        return self._link_spec(
            "defaults.link", self.map(defaults.get("link", {}), "defaults.link", _LINK_KEYS), _DEFAULT_LINK
        )

    def _nodes(self, root: Map, key: str) -> Map:
        nodes = self.map(root.get(key, {}), key, None)
        for name in nodes:
            if not _NAME.fullmatch(name):
                self.refuse(
                    f"{key}.{name}",
                    "bad name; use a letter, then letters and digits, at most 10, all lower case",
                )
        if not nodes:
            self.refuse(key, "none given; name at least one")
        return nodes

    def _switch(self, key: str, value: object) -> _SwitchForm:
        form = self.map(value, key, ("device_id", "grpc", "agent"))
        device_id = self.integer(form, key, "device_id", 1, self.last_device_id)
        agent = form.get("agent")
        if agent is not None and not isinstance(agent, str):
            self.refuse(f"{key}.agent", f"{agent!r} is no name; write the name of a host")
        return _SwitchForm(device_id, self._grpc(form, key), agent)

    def _grpc(self, form: Map, key: str) -> str:
        value = form.get("grpc")
        if isinstance(value, str):
            address, _, port = value.rpartition(":")
            if address and port.isdecimal() and 1 <= int(port) <= 65535:
                return value
            self.refuse(f"{key}.grpc", f"{value!r} is no address; write a port or HOST:PORT")
        return f"127.0.0.1:{self.integer(form, key, 'grpc', 1, 65535)}"

    def _host(self, key: str, value: object) -> _HostForm:
        form = self.map(value, key, ("ip",))
        text = form.get("ip")
        try:
            address = IPv4Interface(str(text))
        except (AddressValueError, NetmaskValueError, ValueError):
            self.refuse(f"{key}.ip", f"{text!r} is no address; write one like 10.0.1.1/24")
        last = int(address.ip) & 0xFF
        if address.network.prefixlen != 24 or last in (0, 254, 255):
            self.refuse(f"{key}.ip", f"{text!r} will not do; write a /24 address ending in .1 to .253")
        if (
            address.ip.is_multicast
            or address.ip.is_loopback
            or address.ip.is_reserved
            or int(address.ip) < 1 << 24
        ):
            self.refuse(f"{key}.ip", f"{text!r} is no host's address; write one like 10.0.1.1/24")
        return _HostForm(address)

    def _unique(self, switches: dict[str, _SwitchForm], hosts: dict[str, _HostForm]) -> None:
        """Refuses nodes that share an address, id or P4Runtime server, and agents that are not hosts."""
        self._no_duplicate(switches, "switches", "device_id", lambda form: form.device_id)
        self._no_duplicate(switches, "switches", "grpc", lambda form: form.grpc)
        self._no_duplicate(hosts, "hosts", "ip", lambda form: form.address.ip)
        for name, form in switches.items():
            if form.agent is not None and form.agent not in hosts:
                self.refuse(f"switches.{name}.agent", f"unknown host {form.agent!r}; declare it under hosts")

    def _no_duplicate(
        self, forms: dict[str, _T], kind: str, field: str, value: Callable[[_T], object]
    ) -> None:
        owners: dict[object, str] = {}
        for name, form in forms.items():
            owner = owners.setdefault(value(form), name)
            if owner != name:
                self.refuse(
                    f"{kind}.{name}.{field}", f"duplicate {value(form)}: {owner} has it too; change one"
                )

    def _links(
        self, value: object, default: LinkSpec, switches: dict[str, _SwitchForm], hosts: dict[str, _HostForm]
    ) -> tuple[Link, ...]:
        if not isinstance(value, list):
            self.refuse("links", "not a list; write `- {ends: [h1, s1]}` for each link")
        next_port = dict.fromkeys(switches, 1)
        attached: dict[str, str] = {}
        links: list[Link] = []
        for number, item in enumerate(cast(list[object], value)):
            key = f"links[{number}]"
            form = self.map(item, key, ("ends", *_LINK_KEYS))
            ends = self._ends(key, form.get("ends"), switches, hosts)
            for name in ends:
                if name in hosts and attached.setdefault(name, key) != key:
                    self.refuse(
                        f"{key}.ends", f"host {name!r} already has {attached[name]}; give it one link"
                    )
            built: list[End] = []
            for name in ends:
                port = next_port.get(name, 0)
                if port >= CPU_PORT:
                    self.refuse(f"{key}.ends", f"switch {name!r} has {CPU_PORT - 1} links already; use two")
                if name in switches:
                    next_port[name] = port + 1
                built.append(End(name, port))
            links.append(Link(built[0], built[1], self._link_spec(key, form, default)))
        for name in hosts:
            if name not in attached:
                self.refuse(f"hosts.{name}", "has no link; add one to links")
        for name, form in switches.items():
            if form.agent and not any({form.agent, name} == {link.a.node, link.b.node} for link in links):
                self.refuse(f"switches.{name}.agent", f"host {form.agent!r} is not linked to it; link them")
        return tuple(links)

    def _ends(
        self, key: str, value: object, switches: dict[str, _SwitchForm], hosts: dict[str, _HostForm]
    ) -> tuple[str, str]:
        names = cast(list[object], value) if isinstance(value, list) else []
        if len(names) != 2:
            self.refuse(f"{key}.ends", "not two names; write `ends: [h1, s1]`")
        for name in names:
            if name not in switches and name not in hosts:
                self.refuse(f"{key}.ends", f"no host or switch {name!r}; declare it under hosts or switches")
        one, other = cast(list[str], names)
        if one == other:
            self.refuse(f"{key}.ends", f"{one!r} is linked to itself; name two nodes")
        if one in hosts and other in hosts:
            self.refuse(f"{key}.ends", f"hosts {one!r} and {other!r} need a switch between them; add one")
        return one, other

    def _link_spec(self, key: str, form: Map, default: LinkSpec) -> LinkSpec:
        return LinkSpec(
            rate=self.quantity(form, key, "rate", units.parse_rate, default.rate),
            delay_ns=self.quantity(form, key, "delay", units.parse_delay, default.delay_ns),
            loss=self.quantity(form, key, "loss", units.parse_loss, default.loss),
            queue=self.integer(form, key, "queue", 1, 1_000_000) if "queue" in form else default.queue,
        )


def router_mac(device_id: int) -> str:
    return f"02:00:00:00:{device_id >> 8:02x}:{device_id & 0xFF:02x}"


def host_mac(ip: IPv4Address) -> str:
    return "02:00:" + ip.packed.hex(":")


def _build_switches(forms: dict[str, _SwitchForm], links: tuple[Link, ...]) -> dict[str, Switch]:
    ports: dict[str, dict[int, End]] = {name: {} for name in forms}
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if near.node in ports:
                ports[near.node][near.port] = far
    return {
        name: Switch(
            name=name,
            device_id=form.device_id,
            grpc=form.grpc,
            agent=form.agent,
            mac=router_mac(form.device_id),
            ports=MappingProxyType(ports[name]),
        )
        for name, form in forms.items()
    }


def _build_hosts(
    forms: dict[str, _HostForm], switches: dict[str, _SwitchForm], links: tuple[Link, ...]
) -> dict[str, Host]:
    uplinks: dict[str, End] = {}
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if near.node in forms:
                uplinks[near.node] = far
    return {
        name: Host(
            name=name,
            ip=form.address.ip,
            prefix=form.address.network.prefixlen,
            mac=host_mac(form.address.ip),
            gateway=IPv4Address((int(form.address.ip) & ~0xFF) | 254),
            gateway_mac=router_mac(switches[uplinks[name].node].device_id),
            switch=uplinks[name].node,
            port=uplinks[name].port,
        )
        for name, form in forms.items()
    }
