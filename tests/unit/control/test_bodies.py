"""Bodies with the fields of a model: names, numbers, bounds, changes."""

from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from groupflow.control.api.schemas import RunningSession
from groupflow.control.bodies import Change, New, View
from groupflow.control.sessions.model import Tcp
from groupflow.model.client import Client
from groupflow.model.session import MemberTargets, NewSession, NewTcp, TcpSettings

NEW: TypeAdapter[NewSession] = TypeAdapter(Annotated[NewSession, New()])
CHANGE: TypeAdapter[dict[str, Any]] = TypeAdapter(Annotated[dict[str, Any], Change(RunningSession)])


def test_a_body_becomes_the_model() -> None:
    body = {"id": 7, "tcp": {"ports": [5000], "cache_bytes": 1 << 20, "agents": ["s1"]}}
    tcp = NewTcp(ports=(5000,), cache=1 << 20, agents=("s1",))
    assert NEW.validate_python(body) == NewSession(id=7, tcp=tcp)


@pytest.mark.parametrize(
    ("tcp", "where"),
    [
        ({}, "ports"),
        ({"ports": []}, "ports"),
        ({"ports": [1] * 17}, "ports"),
        ({"ports": [65536]}, "ports.0"),
        ({"cache_bytes": 1}, "cache_bytes"),
        ({"cache": 1 << 20}, "cache"),
        ({"history_bytes": -1}, "history_bytes"),
        ({"send_buffer": 1}, "send_buffer"),
        ({"receive_buffer": 1 << 31}, "receive_buffer"),
        ({"receive_buffer": "64KiB"}, "receive_buffer"),
        ({"congestion": "no such; thing"}, "congestion"),
        ({"congestion": "sixteen_letters_"}, "congestion"),
        ({"budget": -1}, "budget"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(tcp: dict[str, object], where: str) -> None:
    with pytest.raises(ValidationError) as refused:
        NEW.validate_python({"tcp": ({"ports": [5000]} if tcp else {}) | tcp})
    assert ".".join(map(str, refused.value.errors()[0]["loc"])) == f"tcp.{where}"


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        ({}, {}),
        ({"window": 9}, {"window": 9}),
        ({"mode": None, "tcp": None}, {"tcp": None}),
        ({"tcp": {"history_bytes": 7, "replies": None}}, {"tcp": {"history": 7}}),
        ({"tcp": {"congestion": None}}, {"tcp": {"congestion": None}}),
    ],
)
def test_a_change_has_what_is_given(body: dict[str, object], changes: dict[str, object]) -> None:
    assert CHANGE.validate_python(body) == changes


def test_a_change_keeps_bounds_and_what_cannot_change() -> None:
    targets: TypeAdapter[dict[str, Any]] = TypeAdapter(Annotated[dict[str, Any], Change(MemberTargets)])
    client: TypeAdapter[dict[str, Any]] = TypeAdapter(Annotated[dict[str, Any], Change(Client, but="name")])
    assert targets.validate_python({"target_bps": None}) == {"target": None}
    assert client.validate_python({"target_bps": None, "minimum_bps": None}) == {"minimum": None}
    for adapter, body in (
        (targets, {"target_bps": 0}),
        (targets, {"priority": 1001}),
        (targets, {"target_bps": "1mbit"}),
        (client, {"name": "other"}),
        (CHANGE, {"tcp": {"ports": [1]}}),
        (CHANGE, {"window": 0}),
    ):
        with pytest.raises(ValidationError):
            adapter.validate_python(body)


def test_a_view_has_the_keys() -> None:
    view: TypeAdapter[Any] = TypeAdapter(Annotated[Any, View(Tcp)])
    tcp = Tcp(address="10.200.0.1", ports=(5000,))
    shown = view.dump_python(view.validate_python(tcp))
    assert shown["cache_bytes"] == 64 << 20 and shown["address"] == "10.200.0.1" and "cache" not in shown


def test_the_store_has_the_keys_and_nested_models_too() -> None:
    session = NewSession(id=7, tcp=NewTcp(ports=(5000,), history=9))
    text = NEW.dump_json(session)
    assert NEW.validate_json(text) == session and b"history_bytes" in text


def test_the_schema_has_help_and_bounds() -> None:
    properties = TypeAdapter(Annotated[Client, New()]).json_schema()["properties"]
    assert properties["target_bps"] == {
        "description": "throughput that the client is to reach (T_t)",
        "minimum": 1,
        "title": "Target Bps",
        "type": "integer",
    }
    assert properties["priority"]["maximum"] == 1000


def test_the_schema_of_a_text_that_may_be_none_says_so() -> None:
    properties = TypeAdapter(Annotated[TcpSettings, New()]).json_schema()["properties"]
    assert {"type": "null"} in properties["congestion"]["anyOf"]
    assert properties["congestion"]["anyOf"][0]["type"] == "string"
