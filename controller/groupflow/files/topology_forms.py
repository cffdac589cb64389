"""The YAML form of a topology: what a file may have, simulated or real; and the map of names."""
# Forms are frozen, which pyright cannot see: a field may be narrower than the same field of a parent.
# pyright: reportIncompatibleVariableOverride=false

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, Field, model_validator

from groupflow.files.forms import Form, form_of, reads, some
from groupflow.model.topology import (
    NAME,
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
    forms = [{"ends": cast(object, each)} if isinstance(each, list) else each for each in links]
    return [{**of_all, **cast(dict[str, object], each)} if isinstance(each, dict) else each for each in forms]


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
_LETTERS = {"switches": "s", "hosts": "h"}
"""the first letters of the names of nodes whose own have no letter"""


def mapped(form: object) -> tuple[object, dict[str, str]]:
    """A topology's form with names that Linux and Mininet take, and the map of those that they do not:
    `SW_1` is sw1, `leaf-1` is leaf1."""
    if not isinstance(form, dict):
        return form, {}
    whole, found = cast(dict[str, object], form), dict[str, str]()
    nodes = {kind: [name for name in _items(whole.get(kind)) if isinstance(name, str)] for kind in _LETTERS}
    used = {name for names in nodes.values() for name in names}
    for kind, names in nodes.items():
        for number, name in enumerate(names, 1):
            if not NAME.fullmatch(name) and name not in found:
                found[name] = _name(name, _LETTERS[kind], number, used)
                used.add(found[name])
    if not found:
        return whole, found
    keys = {key: whole[key] for key in (*_LETTERS, "links", "pcap") if key in whole}
    return whole | cast(dict[str, object], _renamed(keys, found)), found


def _items(value: object) -> Iterable[object]:
    return cast(Iterable[object], value) if isinstance(value, dict | list) else ()


def _name(name: str, letter: str, number: int, used: set[str]) -> str:
    """Letters and digits of a name, at most ten with the number at its end, unlike all others."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    base = re.sub("[^a-z0-9]|^[^a-z]+", "", plain) or letter + (re.sub("[^0-9]", "", plain) or str(number))
    tail = base[len(base.rstrip("0123456789")) :][-6:]
    base = base.removesuffix(tail)[: 10 - len(tail)] + tail
    others = (f"{base[:7]}{'x' * bool(tail)}{n}" for n in count(2))
    return base if base not in used else next(each for each in others if each not in used)


def _renamed(value: object, names: Mapping[str, str]) -> object:
    """The value with the names, also where a port is named: `leaf-1-p3`."""
    if isinstance(value, dict):
        items = cast(dict[object, object], value).items()
        return {_renamed(key, names): _renamed(each, names) for key, each in items}
    if isinstance(value, list):
        return [_renamed(each, names) for each in cast(list[object], value)]
    if not isinstance(value, str):
        return value
    port = END.fullmatch(value)
    if value not in names and port and port[1] in names:
        return f"{names[port[1]]}-p{port[2]}"
    return names.get(value, value)
