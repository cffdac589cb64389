"""The YAML form of a topology: what a file may have, simulated or real."""
# Forms are frozen, which pyright cannot see: a field may be narrower than the same field of a parent.
# pyright: reportIncompatibleVariableOverride=false

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, Field, model_validator

from groupflow.files.forms import Form, form_of, reads, some
from groupflow.model.topology import (
    HostSettings,
    LinkSettings,
    LinkSpec,
    Name,
    NetworkFiles,
    RealHostSettings,
    RealLinkSettings,
    RealSwitchSettings,
    SwitchSettings,
)

END = re.compile(r"(.+)-p([0-9]{1,3})")
"""an end of a link that names its port, as p4lang/tutorials write it: s1-p3"""


class DefaultsForm(Form):
    link: Annotated[LinkSpec, reads(LinkSpec)] = Field(default_factory=LinkSpec)


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


def nodes(model: type) -> BeforeValidator:
    form = form_of(model, Form)
    return BeforeValidator(_nodes, json_schema_input_type=Mapping[Name, form | None] | list[Name])


ENDS = Annotated[list[str], Field(min_length=2, max_length=2)]
"""a link with two ends and nothing else"""


def _with_defaults(links: list[object], defaults: object) -> list[object]:
    """`[h1, s1]` has only ends; what a link leaves out is of the defaults."""
    others = cast(dict[str, object], defaults).get("link") if isinstance(defaults, dict) else None
    of_all = cast(dict[str, object], others) if isinstance(others, dict) else {}
    found: list[object] = []
    for each in links:
        if isinstance(each, list):
            found.append({"ends": cast(object, each), **of_all})
        else:
            found.append({**of_all, **cast(dict[str, object], each)} if isinstance(each, dict) else each)
    return found


SWITCHES = some("switches: [s1, s2]")
HOSTS = some("hosts: [h1, h2]")
LINKS = Field((), description="`- [h1, s1]` for each link")


class NetworkForm(Form):
    """A network that is simulated."""

    name: str = Field("topology", description="a word")
    description: str = Field("", description="a sentence")
    defaults: DefaultsForm = Field(default_factory=DefaultsForm)
    switches: Annotated[
        Mapping[Name, Annotated[SwitchSettings, reads(SwitchSettings)]], nodes(SwitchSettings)
    ] = SWITCHES
    hosts: Annotated[Mapping[Name, Annotated[HostSettings, reads(HostSettings)]], nodes(HostSettings)] = HOSTS
    links: Sequence[Annotated[LinkSettings, reads(LinkSettings, ENDS)]] = LINKS
    agents: Literal["auto", "none"] = "none"
    """auto: each switch with hosts has a cache agent; where switches are a list, it is the default"""

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        form = cast(dict[str, object], value)
        if isinstance(form.get("switches"), list):
            form = {"agents": "auto", **form}
        links = form.get("links")
        if isinstance(links, list):
            form = {**form, "links": _with_defaults(cast(list[object], links), form.get("defaults"))}
        return form


class RealNetworkForm(NetworkForm):
    """A network that Mininet, the controller and the simulator read."""

    switches: Annotated[
        Mapping[Name, Annotated[RealSwitchSettings, reads(RealSwitchSettings)]], nodes(RealSwitchSettings)
    ] = SWITCHES
    hosts: Annotated[
        Mapping[Name, Annotated[RealHostSettings, reads(RealHostSettings)]], nodes(RealHostSettings)
    ] = HOSTS
    links: Sequence[Annotated[RealLinkSettings, reads(RealLinkSettings, ENDS)]] = LINKS


TopologyForm = form_of(NetworkFiles, RealNetworkForm)
