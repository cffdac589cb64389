"""What a reader sees first: `dir(groupflow)`, completion and `help(groupflow)`."""

import pydoc
from rlcompleter import Completer

import pytest

import groupflow


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
