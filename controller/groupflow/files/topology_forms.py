"""The YAML form of a topology: what a file may have, simulated or real."""
# Forms are frozen, which pyright cannot see: a field may be narrower than the same field of a parent.
# pyright: reportIncompatibleVariableOverride=false

import re
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv4Interface
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from groupflow import units
from groupflow.files import forms
from groupflow.files.forms import Form, default, number, refuse, some
from groupflow.model.fields import Delay, Loss, Packets, Rate, Written, number_or, text_like
from groupflow.model.topology import LinkSpec, Step

NAME = re.compile(r"[a-z][a-z0-9]{0,9}")  # `<name>-eth12` must fit Linux's 15 characters
END = re.compile(r"(.+)-p([0-9]{1,3})")
"""an end of a link that names its port, as p4lang/tutorials write it: s1-p3"""
LAST_DEVICE_ID = 0xFFFF


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no name; write it as text")
    if not NAME.fullmatch(value):
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


def grpc_address(value: object) -> str:
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
_NAMES = rf"{NAME.pattern}|[a-z][a-z0-9]*({_REPEATED}[a-z0-9]*)+"
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
Grpc: TypeAlias = Annotated[str, Written(grpc_address, "a port or HOST:PORT", _GRPC)]


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
