"""What p4c made of the sources: up to date, and fit for a hardware target."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from scripts import p4_artefacts
from tests.unit.p4.network import JSON


def test_artefacts_are_of_these_sources() -> None:
    assert p4_artefacts.differences() == [], "run `make p4`"


def test_a_changed_source_is_noticed(monkeypatch: Any) -> None:
    now = p4_artefacts.current()
    now["sources"]["stages/acks.p4"] = "changed"
    monkeypatch.setattr(p4_artefacts, "current", lambda: now)
    assert p4_artefacts.differences() == ["stages/acks.p4"]


def primitives() -> list[dict[str, Any]]:
    program = json.loads(JSON.read_text())
    return [p for action in program["actions"] for p in action["primitives"]]


def test_a_register_is_read_once_and_written_once() -> None:
    """Tofino's rule: one access a packet. A read and the write after it are one stateful operation."""
    reads, writes = Counter[str](), Counter[str]()
    for primitive in primitives():
        if primitive["op"] == "register_read":
            reads[primitive["parameters"][1]["value"]] += 1
        elif primitive["op"] == "register_write":
            writes[primitive["parameters"][0]["value"]] += 1
    assert len(reads | writes) == 26
    assert set(reads.values()) == set(writes.values()) == {1}
    managers = {name.rpartition(".")[2]: (name in reads, name in writes) for name in set(reads) ^ set(writes)}
    assert managers == {  # the traffic manager does the other half
        "queue_depth": (True, False),
        "queue_share": (True, False),
        "queue_rate": (False, True),
        "left_behind": (False, True),  # for the rate agent beside BMv2
    }


def test_there_is_no_division() -> None:
    text = JSON.read_text()
    assert not any(f'"op" : "{op}"' in text for op in ("/", "%", "*"))
