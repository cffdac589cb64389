"""The form of a scenario file: a topology's YAML form, with traffic and simulator-only properties.

Keys, bounds and cures are those of the values (`model`).
"""
# Forms are frozen, which pyright cannot see: a field may be narrower than the same field of a parent.
# pyright: reportIncompatibleVariableOverride=false

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, cast

from pydantic import Field, PlainValidator

from groupflow import units
from groupflow.files import forms
from groupflow.files import topology_forms as network
from groupflow.files.forms import Form, form_of, reads, value_of
from groupflow.model.fields import FLAT, LOSS, InFile, Written
from groupflow.model.topology import HostSettings, LinkSettings, Name, SwitchSettings
from groupflow.sim.diffusion import Diffusion
from groupflow.sim.model import (
    NO_EXTRA,
    PLAIN,
    FifoOptions,
    Flow,
    GilbertElliott,
    LinkExtra,
    QueueSetting,
    Scenario,
    TcpTraffic,
    UdpTraffic,
)

_BURSTS = form_of(GilbertElliott, Form)


def _loss(value: object) -> int | GilbertElliott:
    bursts = isinstance(value, dict)
    return value_of(GilbertElliott, _BURSTS.model_validate(value)) if bursts else units.parse_loss(value)


_LOSS = Written(
    _loss,
    f"{LOSS.cure}, or {{to_bad: 1%, to_good: 20%}}",
    {"anyOf": [LOSS.schema, _BURSTS.model_json_schema()]},
)


@dataclass(frozen=True, kw_only=True)
class ScenarioLink(LinkSettings):
    """A link of a scenario."""

    extra: Annotated[LinkExtra, FLAT] = NO_EXTRA
    loss: Annotated[int | GilbertElliott, _LOSS] = 0
    """of `spec`, or in bursts"""


@dataclass(frozen=True, kw_only=True)
class ScenarioSwitch(SwitchSettings):
    """A switch of a scenario."""

    kind: Annotated[Literal["p4", "fifo", "agent"], InFile()] = "p4"
    queues: Annotated[
        tuple[QueueSetting, ...], InFile(cure="`- {port: 1, queue: 0, set: rate=1000pps}`")
    ] = ()
    fifo: Annotated[FifoOptions, FLAT] = PLAIN


_LINK_FORM = form_of(ScenarioLink, Form)


def _link(value: object) -> ScenarioLink:
    link = value_of(ScenarioLink, _LINK_FORM.model_validate(value))
    if not isinstance(link.loss, GilbertElliott):
        return link
    return replace(link, spec=replace(link.spec, loss=0), extra=replace(link.extra, burst_loss=link.loss))


_LINK = PlainValidator(_link, json_schema_input_type=_LINK_FORM | network.ENDS)


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
    switches: Annotated[
        Mapping[Name, Annotated[ScenarioSwitch, reads(ScenarioSwitch)]], network.nodes(ScenarioSwitch)
    ] = Field({}, description="a list of names")
    hosts: Annotated[
        Mapping[Name, Annotated[HostSettings, reads(HostSettings)]], network.nodes(HostSettings)
    ] = Field({}, description="a list of names")
    links: Sequence[Annotated[ScenarioLink, _LINK]] = network.LINKS
    topology: str = Field("", description="the path of a topology's file, or a name like fig5")
    traffic: Mapping[str, Annotated[Flow, _FLOW]] = Field({}, description="`a: {kind: tcp}`")
    program: str = Field("", description="the path of a P4 program, or of its JSON")
    p4info: str = Field("", description="the path of the P4Info that p4c made")
    diffusion: Annotated[Annotated[Diffusion, reads(Diffusion)] | None, forms.GIVEN] = None


ScenarioForm = form_of(Scenario, NetworkForm)
"""a scenario of `groupflow sim run`"""
