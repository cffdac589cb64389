"""Reads the YAML form of a topology and refuses what would not work.

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from groupflow.data import TOPOLOGIES
from groupflow.files import forms
from groupflow.files.forms import refuse
from groupflow.files.repetition import expand
from groupflow.files.topology_forms import END, NetworkForm, RealNetworkForm, TopologyForm, mapped
from groupflow.model.topology import (
    CPU_PORT,
    LAST_DEVICE_ID,
    NAME,
    End,
    Host,
    HostSettings,
    Link,
    NetworkFiles,
    ProgramFiles,
    RealHostSettings,
    RealLinkSettings,
    RealSwitchSettings,
    Step,
    Switch,
    SwitchSettings,
    Topology,
    TopologyError,
    grpc_address,
    read_address,
)

_T = TypeVar("_T")
_LONE_P4INFO = "is of no program; write its `program` beside it"


def load(path: str | Path, folder: Path = Path()) -> Topology:
    """Reads a topology file, a path from `folder`; or by its name, like `fig5`, one of the package's.

    JSON and Python are of p4lang/tutorials or p4-utils, GraphML of the Topology Zoo; all else is YAML.

    Raises TopologyError.
    """
    file = folder / path
    if not {"/", "."} & set(str(path)):
        file = TOPOLOGIES / f"{path}.yaml"
        if not file.is_file():
            known = ", ".join(sorted(shipped.stem for shipped in TOPOLOGIES.glob("*.yaml")))
            raise TopologyError(f"{path}: unknown topology; write {known}, or a file's path: {path}.yaml")
    text = forms.load_text(file, TopologyError)
    if file.suffix not in (".json", ".graphml", ".py", ".mn"):
        return parse(text, str(file))
    from groupflow.files.imports import read_foreign  # here, because few topologies need it

    return read_form(read_foreign(text, file), str(file), real=True)


def parse(text: str, source: str = "topology") -> Topology:
    """Reads a topology from YAML text. `source` names the text in errors, and files that the text names
    stand beside it. Raises TopologyError."""
    with forms.naming(source, TopologyError):
        written = forms.read_yaml(text)
        forms.refuse_other("topology", written, source)
        return read_form(expand(written), source, real=True)


def read_form(form: object, source: str, *, real: bool = False) -> Topology:
    """Reads what YAML made of a topology. Simulated networks may have more switches than `real` ones."""
    with forms.naming(source, TopologyError):
        plain, names = mapped(form)
        if names:
            changed = ", ".join(f"{name} is {of}" for name, of in names.items())
            warnings.warn(f"{source}: names: {changed}", stacklevel=3)
        return build(forms.validate(TopologyForm if real else NetworkForm, plain), Path(source).parent)


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
    _no_duplicate(form.hosts, "hosts", "ip", lambda host: _address(host).ip)
    _no_duplicate(form.hosts, "hosts", "ip6", lambda host: getattr(host, "ip6", None))
    for name, switch in form.switches.items():
        if switch.agent is not None and switch.agent not in form.hosts:
            refuse(f"switches.{name}.agent", f"unknown host {switch.agent!r}; declare it under hosts")
    links = _links(form)
    ends: dict[str, dict[int, End]] = {name: {} for name in form.switches}
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            ends.setdefault(near.node, {})[near.port] = far
    files = forms.value_of(NetworkFiles, form) if isinstance(form, TopologyForm) else NetworkFiles()
    if files.p4info and not files.program:
        refuse("p4info", _LONE_P4INFO)
    switches = {name: _switch(name, at, ends[name], files, folder) for name, at in form.switches.items()}
    hosts = {name: _host(name, host, ends[name][0], switches, files.tcp) for name, host in form.hosts.items()}
    return Topology(
        form.name,
        form.description,
        MappingProxyType(switches),
        MappingProxyType(hosts),
        links,
        _pcap(form, files.pcap),
    )


def _address(host: HostSettings) -> IPv4Interface:
    assert host.address is not None, "`chosen` chooses one"
    return host.address


def _switch(
    name: str, settings: SwitchSettings, ends: dict[int, End], network: ProgramFiles, folder: Path
) -> Switch:
    real = settings if isinstance(settings, RealSwitchSettings) else RealSwitchSettings()
    if real.p4info and not real.program:
        refuse(f"switches.{name}.p4info", _LONE_P4INFO)
    of = real if real.program else network
    device_id = settings.device_id or 0
    return Switch(
        name=name,
        device_id=device_id,
        grpc=settings.grpc or "",
        agent=settings.agent,
        mac=f"02:00:00:00:{device_id >> 8:02x}:{device_id & 0xFF:02x}",
        ports=MappingProxyType(ends),
        program=of.program and folder / of.program,
        p4info=of.p4info and folder / of.p4info,
        entries=real.entries and folder / real.entries,
    )


def _pcap(form: NetworkForm, asked: Sequence[str] | None) -> frozenset[str]:
    if asked is None:
        return frozenset(form.switches)
    if unknown := [name for name in asked if name not in form.switches]:
        refuse("pcap", f"no switch {unknown[0]!r}; declare it under switches")
    return frozenset(asked)


def _no_duplicate(nodes: Mapping[str, _T], kind: str, field: str, value: Callable[[_T], object]) -> None:
    owners: dict[object, str] = {}
    for name, node in nodes.items():
        owner = owners.setdefault(value(node), name)
        if owner != name and value(node) is not None:
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
            steps = item.schedule if isinstance(item, RealLinkSettings) else ()
            _check_steps(steps)
            links.append(Link(built[0], built[1], item.spec, steps))
    for name in form.hosts:
        if name not in attached:
            refuse(f"hosts.{name}", "has no link; add one to links")
    for name, switch in form.switches.items():
        if switch.agent and not any({switch.agent, name} == {link.a.node, link.b.node} for link in links):
            refuse(f"switches.{name}.agent", f"host {switch.agent!r} is not linked to it; link them")
    return tuple(links)


def _check_steps(steps: tuple[Step, ...]) -> None:
    for place, step in enumerate(steps):
        if not step.change:
            refuse(f"schedule[{place}]", "changes nothing; write rate, delay, loss or state")
        if place and step.at_ns < steps[place - 1].at_ns:
            refuse(f"schedule[{place}].at", "earlier than the change before it; write changes in order")


def _split(key: str, ends: Sequence[str], form: NetworkForm) -> list[tuple[str, int | None]]:
    """Names of the ends of a link, with the ports that they name."""
    found: list[tuple[str, int | None]] = []
    for text in ends:
        match = END.fullmatch(text)
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


def host_mac(ip: IPv4Address) -> str:
    return "02:00:" + ip.packed.hex(":")


def _host(
    name: str, settings: HostSettings, uplink: End, switches: Mapping[str, Switch], tcp: str | None
) -> Host:
    address = _address(settings)
    real = settings if isinstance(settings, RealHostSettings) else RealHostSettings()
    if real.gateway is None:
        try:
            read_address(address)
        except ValueError as error:
            refuse(f"hosts.{name}.ip", str(error))
    for key, own, gateway in (("gateway", address, real.gateway), ("gateway6", real.ip6, real.gateway6)):
        if gateway and (own is None or gateway not in own.network):
            network = own.network if own else "the network of an ip6"
            refuse(f"hosts.{name}.{key}", f"{gateway} is not in {network}; write an address in it")
    found: dict[str, Any] = {
        "address": address,
        "mac": real.mac or host_mac(address.ip),
        "gateway": real.gateway or IPv4Address((int(address.ip) & ~0xFF) | 254),
        "gateway_mac": real.gateway_mac or switches[uplink.node].mac,
        "tcp": real.tcp or tcp,
    }
    fixed = real.gateway_mac is not None
    return Host(**vars(real) | found, name=name, switch=uplink.node, port=uplink.port, fixed_gateway=fixed)


FIRST_PORT = 9561
"""of switches for which a file names none"""
MOST_ADDRESSES = (1 << 16) - 1
"""networks 10.X.Y.0/24, one for each host without an address of its own"""


def chosen(form: NetworkForm) -> NetworkForm:
    """The form with what it leaves out: the lowest free device ids, ports from 9561 on, addresses 10.X.Y.1,
    and with `agents: auto` a cache agent beside each switch with hosts."""
    switches, hosts, links = dict(form.switches), dict(form.hosts), list(form.links)
    real = isinstance(form, RealNetworkForm)
    agent_link = replace(form.defaults.link, rate=None, delay_ns=0)
    for name in _without_agent(form) if form.agents == "auto" else ():
        agent = f"{name}c"
        if agent in switches or agent in hosts or not NAME.fullmatch(agent):
            refuse("agents", f"{agent!r} cannot be the agent of {name}; rename a node, or write agents: none")
        switches[name] = replace(switches[name], agent=agent)
        hosts[agent] = RealHostSettings() if real else HostSettings()
        links.append(type(links[0])(ends=(agent, name), spec=agent_link))
    ids = {switch.device_id for switch in switches.values()}
    free_ids = (number for number in range(1, LAST_DEVICE_ID) if number not in ids)
    ports = {switch.grpc for switch in switches.values()}
    free_ports = (text for text in map(grpc_address, range(FIRST_PORT, 1 << 16)) if text not in ports)
    addresses = {host.address.ip for host in hosts.values() if host.address}
    every = (read_address(f"10.{n >> 8}.{n & 0xFF}.1/24") for n in range(1, MOST_ADDRESSES + 1))
    free_addresses = (address for address in every if address.ip not in addresses)
    most = 255 if real else LAST_DEVICE_ID
    for name, switch in switches.items():
        number = next(free_ids, LAST_DEVICE_ID) if switch.device_id is None else switch.device_id
        if number > most:
            refuse(f"switches.{name}", f"no device id is left up to {most}; name fewer switches")
        # No socket is opened for a simulated switch, of which there may be more than ports.
        grpc = switch.grpc or (next(free_ports) if most == 255 else f"{name}:9559")
        switches[name] = replace(switch, device_id=number, grpc=grpc)
    for name, host in hosts.items():
        if host.address is None:
            if (address := next(free_addresses, None)) is None:
                refuse(f"hosts.{name}", f"no address is left after {MOST_ADDRESSES}; give it an `ip`")
            hosts[name] = replace(host, address=address)
    return form.model_copy(update={"switches": switches, "hosts": hosts, "links": links})


def _without_agent(form: NetworkForm) -> list[str]:
    """The switches that have hosts, and no agent."""
    ends = [{END.sub(r"\1", text) for text in item.ends} for item in form.links]
    linked = {name for pair in ends if pair & form.hosts.keys() for name in pair}
    return [name for name, switch in form.switches.items() if name in linked and switch.agent is None]
