"""Programs in which short names are shared, or a value is a word."""

from __future__ import annotations

from pathlib import Path

import finsy as fy
import pytest

from groupflow import Switch

PROGRAM = Path(__file__).parents[2] / "dataplane/switch/tests/programs/names.json"
KEY = {"headers.ethernet.dst": 5, "headers.ipv4.dst": (10 << 24, 8)}
FRAME = bytes.fromhex("000000000005 020000000001 0800 0a000001 0a000002")


@pytest.fixture
def switch() -> Switch:
    return Switch.load(PROGRAM, PROGRAM.with_suffix(".p4info.txtpb"))


@pytest.mark.parametrize("table", ["second.forward", "NamesIngress.second.forward"])
def test_names_that_one_entity_has_are_taken(switch: Switch, table: str) -> None:
    switch.write(+fy.P4TableEntry(table, match=fy.Match(**KEY), action=fy.Action("second.send", port=3)))
    [entry] = switch.read(fy.P4TableEntry(table))
    assert (entry.table_id, entry.match) == ("second.forward", KEY)
    assert [output.port for output in switch.run(1, FRAME)] == [3]


@pytest.mark.parametrize(
    ("table", "key", "message"),
    [
        ("forward", KEY, "no P4Table named 'forward'. Did you mean .*first.forward.*second.forward"),
        ("first.forward", {"dst": 5}, "'dst' is ambiguous; name one of headers.ethernet.dst, headers.ipv"),
    ],
)
def test_a_name_that_two_have_is_refused(
    switch: Switch, table: str, key: dict[str, int], message: str
) -> None:
    entry = fy.P4TableEntry(table, match=fy.Match(**key), action=fy.Action("first.send", port=3))
    with pytest.raises(ValueError, match=message):
        switch.write(+entry)


def test_an_error_in_a_digest_is_a_word(switch: Switch) -> None:
    switch.write(+fy.P4DigestEntry("report_t", max_list_size=1))
    assert [entry.digest_id for entry in switch.read(fy.P4DigestEntry())] == ["report_t"]


def test_a_name_is_no_entity(switch: Switch) -> None:
    with pytest.raises(ValueError, match="name one, such as P4CounterEntry"):
        switch.read("drops")
