"""The form of a scenario file: a topology's YAML form, with traffic and simulator-only properties."""
# Forms are frozen, which pyright cannot see: a field may be narrower than the same field of a parent.
# pyright: reportIncompatibleVariableOverride=false

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import Field, PlainValidator

from groupflow import units
from groupflow.files import forms
from groupflow.files import topology as network
from groupflow.files.forms import Form, default, number
from groupflow.model.fields import (
    BYTES,
    DELAY,
    LOSS,
    PACKETS,
    Bytes,
    Delay,
    FiniteRate,
    Loss,
    Packets,
    Rate,
    Written,
)
from groupflow.model.topology import LinkSpec
from groupflow.sim.model import Pattern, Profile, Variant


def _downs(value: object) -> tuple[tuple[int, int], ...]:
    cure = "write pairs of times in order, such as [[1s, 1.5s]]"
    downs: list[tuple[int, int]] = []
    for item in cast(list[object], value) if isinstance(value, list) else [None]:
        pair = cast(list[object], item) if isinstance(item, list) else []
        if len(pair) != 2:
            raise ValueError(f"{item!r} is no pair of times; {cure}")
        start, end = (units.parse_delay(time) for time in pair)
        if start >= end or (downs and start < downs[-1][1]):
            raise ValueError(f"{item!r} is not in order; {cure}")
        downs.append((start, end))
    return tuple(downs)


def _threshold(value: object) -> int:
    """A number of packets, with its unit."""
    if isinstance(value, int):
        cure = f"write a number with its unit, as in '{max(value, 1)} packets'"
        raise units.UnitError(f"{value!r} cannot be read; {cure}")
    return units.parse_packets(value)


def _flag(*, otherwise: bool) -> Any:
    return Field(otherwise, description="true or false")


def _packet(least: int) -> Any:
    cure = f"{least} to 65535 bytes (an IP packet)"
    return default("1500 bytes", ge=least, le=0xFFFF, description=cure)


_NUMBER = {"type": ["number", "string"]}
_PAIR = {"type": "array", "items": DELAY.schema, "minItems": 2, "maxItems": 2}
_DOWNS = Written(_downs, "pairs of times, such as [[1s, 1.5s]]", {"type": "array", "items": _PAIR})
_THRESHOLD = Written(_threshold, "packets, as in '40 packets'", PACKETS.schema["anyOf"][1])
_D = Written(lambda value: units.parse_number(str(value), "D"), "a number such as 0.1", _NUMBER)
_ALPHA = Written(lambda value: units.parse_number(str(value), "alpha"), "a number such as 0.9", _NUMBER)
_TIME = "a time such as 1ms"
_HOST = "the name of a host"
_AnyThreshold: TypeAlias = Annotated[int | None, _THRESHOLD]
_AnyBytes: TypeAlias = Annotated[int | None, BYTES]
_AnyTime: TypeAlias = Annotated[int | None, DELAY]


class BurstForm(Form):
    to_bad: Loss
    to_good: Loss
    good_loss: Loss = default(0, alias="good")
    bad_loss: Loss = default("100%", alias="bad")


def _loss(value: object) -> int | BurstForm:
    return BurstForm.model_validate(value) if isinstance(value, dict) else units.parse_loss(value)


_LOSS_SCHEMA = {"anyOf": [LOSS.schema, BurstForm.model_json_schema()]}
_LOSS = Written(_loss, f"{LOSS.cure}, or {{to_bad: 1%, to_good: 20%}}", _LOSS_SCHEMA)


class LinkForm(network.LinkForm):
    loss: Annotated[int | BurstForm, _LOSS] = default(0)
    queue_bytes: _AnyBytes = None
    down: Annotated[tuple[tuple[int, int], ...], _DOWNS] = ()

    def spec(self, others: network.LinkSpecForm) -> LinkSpec:
        spec = super().spec(others)
        return replace(spec, loss=0) if isinstance(self.loss, BurstForm) else spec


class QueueForm(Form):
    port: int = number(1, 511)
    queue: int = number(0, 63)
    settings: str = Field(alias="set", description="settings such as rate=1000pps")


class SwitchForm(network.SwitchForm):
    kind: Literal["p4", "fifo", "agent"] = "p4"
    queues: list[QueueForm] = Field([], description="`- {port: 1, queue: 0, set: rate=1000pps}`")
    ecn: _AnyThreshold = None
    xoff: _AnyThreshold = None
    xon: _AnyThreshold = None


class MessagesForm(Form):
    size: Bytes
    period_ns: Delay = Field(alias="period", gt=0, description=_TIME)


class TcpOptionsForm(Form):
    variant: Variant = Field(description="one such as newreno")
    window: Packets = default("1000 packets")
    packet: Bytes = _packet(100)
    profile: Profile = "rfc"
    size: _AnyBytes = None
    messages: Annotated[MessagesForm | None, forms.GIVEN] = None
    delayed_ack_ns: _AnyTime = Field(None, alias="delayed_ack")
    ecn: bool = _flag(otherwise=False)
    initial_window: Annotated[int | None, PACKETS] = None
    min_rto_ns: _AnyTime = Field(None, alias="min_rto")


class FlowForm(Form):
    kind: Literal["tcp", "udp"]
    source: str = Field(alias="from", description=_HOST)
    to: str = Field(description=_HOST)
    start: Delay = default("0s")
    stop: _AnyTime = None
    shaped_as: Annotated[int | None, forms.GIVEN] = number(0, 0xFFFF, None)


class TcpForm(TcpOptionsForm, FlowForm):
    kind: Literal["tcp"]


class UdpForm(FlowForm):
    kind: Literal["udp"]
    rate: FiniteRate
    packet: Bytes = _packet(44)
    arrivals: Pattern = "constant"
    on_for: _AnyTime = Field(None, gt=0, description=_TIME)
    off_for: _AnyTime = Field(None, gt=0, description=_TIME)
    random: bool = _flag(otherwise=False)
    sizes: Literal["constant", "exponential"] = "constant"


def _flow(value: object) -> TcpForm | UdpForm:
    fields = cast(dict[str, object], value) if isinstance(value, dict) else {"kind": "tcp"}
    kind = fields.get("kind")
    if kind not in ("tcp", "udp"):
        problem = f"unknown kind {kind!r}" if "kind" in fields else "missing"
        raise forms.refusal(f"{problem}; known are tcp, udp", "kind")
    form = (TcpForm if kind == "tcp" else UdpForm).model_validate(value)
    if form.stop is not None and form.stop <= form.start:
        raise forms.refusal(f"{fields['stop']!r} is not after the start; write a later time", "stop")
    return form


class SessionForm(Form):
    id: int = number(1, 0x7FFF)
    source: str = Field(alias="from", description=_HOST)
    to: list[str] = forms.some("to: [h2, h3]")
    size: Bytes
    mode: Literal["e2e", "n2n"] = "e2e"
    policy: Literal["strict", "isolate"] = "strict"
    rate: Rate = default("unlimited")
    start: Delay = default("0s")


class SplitForm(TcpOptionsForm):
    name: str = Field("", description="a word")
    source: str = Field(alias="from", description=_HOST)
    to: list[str] = forms.some("to: [h2, h3]")
    mode: Literal["e2e", "n2n"] = "n2n"
    start: Delay = default("0s")
    cache: _AnyBytes = None


class DiffusionForm(Form):
    d: Annotated[Fraction, _D]
    alpha: Annotated[Fraction, _ALPHA] = default(1)
    flows: Annotated[list[str] | None, forms.GIVEN] = Field(
        None, description="names of flows, as in [target, other]"
    )
    packet: int = number(64, 9216, 1514)
    hosts: _AnyTime = None


_FLOW = PlainValidator(_flow, json_schema_input_type=TcpForm | UdpForm)


class ScenarioForm(network.NetworkForm):
    """A scenario of `groupflow sim run`."""

    name: str = Field("scenario", description="a word")
    switches: Annotated[Mapping[network.Name, SwitchForm], network.nodes(SwitchForm)] = Field(
        {}, description="a list of names"
    )
    hosts: Annotated[Mapping[network.Name, network.HostForm], network.nodes(network.HostForm)] = Field(
        {}, description="a list of names"
    )
    links: Sequence[Annotated[LinkForm, network.link(LinkForm)]] = Field(
        (), description="`- [h1, s1]` for each link"
    )
    topology: str = Field("", description="the path of a topology's file, or a name like fig5")
    traffic: Mapping[str, Annotated[TcpForm | UdpForm, _FLOW]] = Field({}, description="`a: {kind: tcp}`")
    duration: Delay = Field(gt=0, description=_TIME)
    sample: Delay = default("1ms", gt=0, description=_TIME)
    seed: int = number(0, 2**64 - 1, 1)
    program: str = Field("", description="the path of what p4c made")
    p4info: str = Field("", description="the path of the P4Info that p4c made")
    routes: bool = _flag(otherwise=True)
    queues: int = number(1, 64, 8)
    trace: bool = _flag(otherwise=False)
    diffusion: Annotated[DiffusionForm | None, forms.GIVEN] = None
    sessions: list[SessionForm] = Field([], description="`- {id: 7, from: h1, to: [h2], size: 9 bytes}`")
    splits: list[SplitForm] = Field([], description="`- {name: a, from: h1, to: [h2, h3], variant: sack}`")
