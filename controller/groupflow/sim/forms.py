"""The form of a scenario file: a topology's YAML form, with traffic and simulator-only properties.

Keys, bounds and cures are those of the values (`model`): a form is made of the annotations of their fields.
"""
# Forms are frozen, which pyright cannot see: a field may be narrower than the same field of a parent.
# pyright: reportIncompatibleVariableOverride=false

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import partial
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin

from pydantic import Field, PlainValidator, create_model

from groupflow import units
from groupflow.files import forms
from groupflow.files import topology_forms as network
from groupflow.files.forms import Form
from groupflow.model.fields import BYTES, LOSS, Range, Written
from groupflow.model.topology import LinkSpec
from groupflow.sim.diffusion import Diffusion
from groupflow.sim.model import (
    FLAT,
    Downs,
    FifoOptions,
    Flow,
    GilbertElliott,
    InFile,
    LinkExtra,
    QueueSetting,
    Scenario,
    TcpTraffic,
    Threshold,
    UdpTraffic,
)

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Form)


def _written(model: type) -> Iterator[tuple[str, object, Any, tuple[object, ...]]]:
    """The fields that a file has: name, default, type and annotations."""
    for field in fields(model):
        if get_origin(field.type) is Annotated:
            kind, *notes = get_args(field.type)
            yield field.name, ... if field.default is MISSING else field.default, kind, tuple(notes)


def form_of(model: type, base: type[_F]) -> type[_F]:
    """The form of a mapping that has the keys of a dataclass, beside those of `base`."""
    own: dict[str, Any] = {}
    for name, otherwise, kind, notes in _written(model):
        if FLAT in notes:
            base = form_of(kind, base)
            continue
        said = next((note for note in notes if isinstance(note, InFile)), InFile())
        written = next((note for note in notes if isinstance(note, Written)), None)
        rest = [note for note in notes if not isinstance(note, InFile)]
        if otherwise is None and written is None:
            rest.append(forms.GIVEN)
        field = Field(
            said.otherwise if otherwise is ... else otherwise,
            alias=said.key or None,
            description=said.cure or next((note.cure for note in notes if isinstance(note, Range)), None),
            json_schema_extra=None
            if written is None or otherwise in (..., None)
            else partial(_show, written),
        )
        own[name] = (Annotated[_in_file(kind), *rest] if rest else _in_file(kind), field)
    return create_model(f"{model.__name__}Form", __base__=base, __doc__=model.__doc__, **own)


def _show(written: Written, schema: dict[str, Any]) -> None:
    """Gives a schema its default as a file writes it; none, where a file cannot write it."""
    text = written.show(schema.pop("default"))
    with suppress(ValueError):
        written.parse(text)
        schema["default"] = text


def _in_file(kind: Any) -> Any:
    """The type that a file has in place of a value's: a list for a tuple, a mapping for a dataclass."""
    if get_origin(kind) is UnionType:
        one, other = map(_in_file, get_args(kind))
        return one | other
    if get_origin(kind) is tuple:
        return list[_in_file(get_args(kind)[0])]
    return Annotated[kind, reads(cast(type[object], kind))] if is_dataclass(kind) else kind


def reads(model: type[object]) -> PlainValidator:
    """Makes a value of a mapping."""
    form = form_of(model, Form)

    def read(of: object) -> object:
        return value_of(model, form.model_validate(of))

    return PlainValidator(read, json_schema_input_type=form)


def value_of(model: type[_T], form: Form, **more: Any) -> _T:
    """The value whose fields a form has, but for those in `more`."""
    values: dict[str, object] = {}
    for name, _, kind, notes in _written(model):
        if name not in more:
            value: object = value_of(kind, form) if FLAT in notes else getattr(form, name)
            values[name] = tuple(cast(list[object], value)) if isinstance(value, list) else value
    return model(**values, **more)


_BURSTS = form_of(GilbertElliott, Form)


def _loss(value: object) -> int | GilbertElliott:
    bursts = isinstance(value, dict)
    return value_of(GilbertElliott, _BURSTS.model_validate(value)) if bursts else units.parse_loss(value)


_LOSS = Written(
    _loss,
    f"{LOSS.cure}, or {{to_bad: 1%, to_good: 20%}}",
    {"anyOf": [LOSS.schema, _BURSTS.model_json_schema()]},
)


class LinkForm(network.LinkForm):
    loss: Annotated[int | GilbertElliott, _LOSS] = 0
    queue_bytes: Annotated[int | None, BYTES] = None
    down: Downs = ()

    def spec(self, others: network.LinkSpecForm) -> LinkSpec:
        spec = super().spec(others)
        return replace(spec, loss=0) if isinstance(self.loss, GilbertElliott) else spec

    @property
    def extra(self) -> LinkExtra:
        bursts = self.loss if isinstance(self.loss, GilbertElliott) else None
        return LinkExtra(burst_loss=bursts, down_ns=self.down, queue_bytes=self.queue_bytes)


class SwitchForm(network.SwitchForm):
    kind: Literal["p4", "fifo", "agent"] = "p4"
    queues: list[Annotated[QueueSetting, reads(QueueSetting)]] = Field(
        [], description="`- {port: 1, queue: 0, set: rate=1000pps}`"
    )
    ecn: Threshold = None
    xoff: Threshold = None
    xon: Threshold = None

    @property
    def fifo(self) -> FifoOptions:
        return FifoOptions(self.ecn, self.xoff, self.xon)


class _KindForm(Form):
    kind: Literal["tcp", "udp"]


_TRAFFIC = {"tcp": TcpTraffic, "udp": UdpTraffic}
_FLOWS = {kind: form_of(of, form_of(Flow, _KindForm)) for kind, of in _TRAFFIC.items()}


def _flow(value: object) -> Flow:
    given = cast(dict[str, object], value) if isinstance(value, dict) else {"kind": "tcp"}
    kind = str(given.get("kind"))
    if kind not in _FLOWS:
        problem = f"unknown kind {given['kind']!r}" if "kind" in given else "missing"
        raise forms.refusal(f"{problem}; known are tcp, udp", "kind")
    form = _FLOWS[kind].model_validate(value)
    flow = value_of(Flow, form, name="", traffic=value_of(_TRAFFIC[kind], form))
    if flow.stop_ns is not None and flow.stop_ns <= flow.start_ns:
        raise forms.refusal(f"{given['stop']!r} is not after the start; write a later time", "stop")
    return flow


_FLOW = PlainValidator(_flow, json_schema_input_type=_FLOWS["tcp"] | _FLOWS["udp"])


class NetworkForm(network.NetworkForm):
    """The keys of a scenario's file beside the fields of a `Scenario`."""

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
    traffic: Mapping[str, Annotated[Flow, _FLOW]] = Field({}, description="`a: {kind: tcp}`")
    program: str = Field("", description="the path of what p4c made")
    p4info: str = Field("", description="the path of the P4Info that p4c made")
    diffusion: Annotated[Annotated[Diffusion, reads(Diffusion)] | None, forms.GIVEN] = None


ScenarioForm = form_of(Scenario, NetworkForm)
"""a scenario of `groupflow sim run`"""
