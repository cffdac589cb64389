"""Options of hosts are declared in Python and in gfagent: names, choices and defaults agree."""

import re
import subprocess
from dataclasses import fields
from functools import cache
from inspect import getsource
from typing import Any, Literal, get_args, get_origin

import pytest

from groupflow.agents.agent_process import find_program
from groupflow.agents.bone.options import HubOptions, RimOptions
from groupflow.agents.gather.options import GatherSendOptions, ServeOptions
from groupflow.agents.options import CacheOptions, MemberOptions, RecvOptions, RoleOptions, SendOptions
from groupflow.cli.frame import options_of
from groupflow.model.fields import Help, Written
from groupflow.tree.options import TreeRecvOptions, TreeSendOptions

ROLES: tuple[type[RoleOptions], ...] = (
    *(SendOptions, RecvOptions, MemberOptions, CacheOptions, ServeOptions, GatherSendOptions),
    *(HubOptions, RimOptions, TreeSendOptions, TreeRecvOptions),
)
UNITS = {"": 1, "B": 1, "s": 1, "ms": 1, "mbit": 10**6, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@cache
def offered(role: str) -> dict[str, str]:
    """The help of each option of a role of gfagent."""
    command = (str(find_program("gfagent")), role, "--help")
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^ +(?:-\w, )?--([a-z-]+)", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def flag(each: Any) -> str | None:
    return each.metadata.get("flag", each.name.replace("_", "-"))


@pytest.mark.parametrize("kind", ROLES, ids=lambda kind: kind.role)
def test_gfagent_has_every_option(kind: type[RoleOptions]) -> None:
    wanted = {name for each in fields(kind) if (name := flag(each)) is not None}
    assert wanted - offered(kind.role).keys() == set()


def defaults() -> list[Any]:
    found: list[Any] = []
    for kind in ROLES:
        flags = {each.name: flag(each) for each in fields(kind)}
        for name, hint, _ in options_of(kind):
            stated = re.search(r"\(default: ([0-9][\w.:]*)\)", hint.note(Help).text)
            if stated and flags[name]:
                found.append(pytest.param(kind.role, flags[name], stated[1], hint, id=f"{kind.role} {name}"))
    return found


@pytest.mark.parametrize(("role", "option", "stated", "hint"), defaults())
def test_the_default_that_the_help_states_is_gfagents(role: str, option: str, stated: str, hint: Any) -> None:
    said = re.search(r"\[default: ([^\]]+)\]", offered(role)[option])
    assert said, f"{role} --{option} states no default"
    written: Written | None = hint.note(Written)
    assert said[1] == stated or quantity(said[1]) == (written.parse(stated) if written else quantity(stated))


def values() -> list[Any]:
    """Defaults that are values, which gfagent is given, and defaults that docstrings state."""
    found: list[Any] = []
    for kind in ROLES:
        stated = dict(re.findall(r'(\w+): int \| None = None\n    """[^"]*None: (\d+)"""', source_of(kind)))
        for each in fields(kind):
            given, option = stated.get(each.name, each.default), flag(each)
            if isinstance(given, str | int) and given not in ("", False) and option and option != "name":
                found.append(pytest.param(kind.role, option, given, id=f"{kind.role} {each.name}"))
    return found


def source_of(kind: type[RoleOptions]) -> str:
    return "".join(getsource(each) for each in kind.__mro__ if issubclass(each, RoleOptions))


@pytest.mark.parametrize(("role", "option", "given"), values())
def test_a_default_value_is_gfagents(role: str, option: str, given: object) -> None:
    said = re.search(r"\[default: ([^\]]+)\]", offered(role)[option])
    assert said and said[1] == str(given), f"{role} --{option}"


def quantity(text: str) -> int:
    match = re.fullmatch(r"([0-9]+)([A-Za-z]*)", text)
    assert match, text
    return int(match[1]) * UNITS[match[2]]


@pytest.mark.parametrize("kind", ROLES, ids=lambda kind: kind.role)
def test_the_choices_are_gfagents(kind: type[RoleOptions]) -> None:
    flags = {each.name: flag(each) for each in fields(kind)}
    for name, hint, _ in options_of(kind):
        option = flags[name]
        if get_origin(hint.kind) is Literal and option:
            help = offered(kind.role)[option]
            listed = re.findall(r"^ +- ([a-z0-9-]+)(?::|$)", help, re.MULTILINE)
            inline = re.search(r"\[possible values: ([^\]]+)\]|<([a-z|]+)>", help)
            known = re.findall(r"[\w-]+", inline[1] or inline[2]) if inline else listed
            assert set(get_args(hint.kind)) == set(known), f"{kind.role} --{option}"
