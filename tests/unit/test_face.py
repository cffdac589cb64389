"""What a reader sees first: `dir(groupflow)`, completion and `help(groupflow)`."""

import pydoc
import re
from rlcompleter import Completer
from typing import Any

import pytest

import groupflow
from groupflow.errors import InvalidError


def test_completion_offers_all_names_and_nothing_else() -> None:
    assert [name for name in dir(groupflow) if not name.startswith("__")] == sorted(groupflow.__all__)
    assert Completer({"groupflow": groupflow}).complete("groupflow.Net", 0) == "groupflow.Network("
    with pytest.raises(AttributeError, match="has no attribute 'Sesion'"):
        _ = groupflow.Sesion  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("name", groupflow.__all__)
def test_each_name_says_what_it_is(name: str) -> None:
    assert (getattr(groupflow, name).__doc__ or "").strip()


@pytest.mark.parametrize("name", ["Network", "Session", "Switch", "Topology", "TreeSession", "GatherSender"])
def test_each_class_has_an_example(name: str) -> None:
    found = getattr(groupflow, name)
    assert f"groupflow.{name}" in f"{found.__doc__} {pydoc.inspect.getmodule(found).__doc__}"  # pyright: ignore


def test_help_shows_the_whole_face() -> None:
    text = pydoc.render_doc(groupflow)
    assert all(f"{name}" in text for name in groupflow.__all__) and "needs root" in text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"topology": 3}, "topology: 3 will not do"),
        ({"switch": "bmw2"}, "switch: 'bmw2' will not do; it should be 'gfswitch' or 'bmv2'"),
        ({"name": "a/b"}, "name='a/b': write letters"),
        ({"name": 7}, "name: 7 will not do"),
        ({"p4": "nosuch.p4"}, "p4= nosuch.p4: no such file"),
    ],
)
def test_a_network_with_a_wrong_argument_is_refused_when_it_is_made(given: Any, text: str) -> None:
    with pytest.raises(InvalidError, match=re.escape(text)):
        groupflow.Network(**{"topology": "star"} | given)
