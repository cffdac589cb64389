"""`gfswitch-cli`: values as they are written and shown, P4Info of JSON, queues and ports."""

import readline
from pathlib import Path
from time import time_ns
from typing import Any, cast
from unittest.mock import patch

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from groupflow.bmv2.arrays import Arrays
from groupflow.bmv2.main import carry_out, commands, edit_lines
from groupflow.bmv2.p4info import derived
from groupflow.bmv2.remote import RefusedError, Remote
from groupflow.bmv2.tables import Tables
from groupflow.bmv2.values import cut, field_name, parse, parse_match, show_match

PROGRAMS = Path(__file__).parents[3] / "dataplane/switch/tests/programs"
MATCH = p4i.MatchField.MatchType


@pytest.mark.parametrize(
    ("text", "width", "value"),
    [
        ("10.0.1.2", 32, "0a000102"),
        ("0x0a", 9, "0a"),
        ("300", 9, "012c"),
        ("00:00:00:00:01:05", 48, "0105"),
        ("2001:db8::1", 128, "20010db8000000000000000000000001"),
        ("0", 8, "00"),
        ("Ethernet0", 0, "45746865726e657430"),
    ],
)
def test_values_are_numbers_addresses_or_strings(text: str, width: int, value: str) -> None:
    assert parse(text, width).hex() == value


def test_a_number_is_cut_to_its_bits_as_on_bmv2() -> None:
    assert parse("600", 9).hex() == "0258" and cut(parse("600", 9), 9).hex() == "58"


def test_keys_are_called_as_on_bmv2() -> None:
    names = ("hdr.ipv4.$valid$", "hdr.ipv4.dst", "meta.flag", "low_ttl")
    shown = [field_name(p4i.MatchField(name=name)) for name in names]
    assert shown == ["ipv4_valid", "ipv4.dst", "meta.flag", "low_ttl"]


@pytest.mark.parametrize(
    ("text", "width"), [("10.0.1", 32), ("256", 8), ("-1", 8), ("1:2", 48), ("100:0:0:0:0:0", 48), ("x", 8)]
)
def test_values_that_do_not_fit_are_refused(text: str, width: int) -> None:
    with pytest.raises(RefusedError, match=f"Error while parsing {text} - "):
        parse(text, width)


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        (MATCH.EXACT, "5", "00:05"),
        (MATCH.LPM, "0x101/8", "01:00/8"),
        (MATCH.LPM, "0x101/0", "00:00/0"),
        (MATCH.TERNARY, "0x101&&&0xff", "00:01 &&& 00:ff"),
        (MATCH.TERNARY, "7&&&0", "00:00 &&& 00:00"),
        (MATCH.OPTIONAL, "7&&&0xffff", "00:07 &&& ff:ff"),
        (MATCH.OPTIONAL, "7&&&0", "00:00 &&& 00:00"),
        (MATCH.RANGE, "1->0x100", "00:01 -> 01:00"),
        (MATCH.RANGE, "0->0xffff", "00:00 -> ff:ff"),
    ],
)
def test_keys_are_canonical_and_come_back(
    kind: p4i.MatchField.MatchType.ValueType, text: str, shown: str
) -> None:
    field = p4i.MatchField(id=1, name="f", bitwidth=16, match_type=kind)
    match = parse_match(field, text)
    assert show_match(field, match, ":") == shown


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (MATCH.LPM, "5"),
        (MATCH.LPM, "5/17"),
        (MATCH.LPM, "5/x"),
        (MATCH.TERNARY, "5"),
        (MATCH.RANGE, "5->4"),
        (MATCH.RANGE, "5"),
        (MATCH.OPTIONAL, "5&&&1"),
    ],
)
def test_bad_keys_are_refused(kind: p4i.MatchField.MatchType.ValueType, text: str) -> None:
    with pytest.raises(RefusedError, match="Invalid match key"):
        parse_match(p4i.MatchField(id=1, name="f", bitwidth=16, match_type=kind), text)


def essence(info: p4i.P4Info) -> dict[str, object]:
    """The parts of entries and arrays, by name."""
    actions = {each.preamble.id: each.preamble.name for each in info.actions}
    profiles = {each.preamble.id: each.preamble.name for each in info.action_profiles}
    tables = {each.preamble.id: each.preamble.name for each in info.tables}

    def kind(field: p4i.MatchField) -> int:
        return MATCH.TERNARY if field.match_type == MATCH.OPTIONAL else field.match_type

    found: dict[str, object] = {
        table.preamble.name: (
            [(field.name, field.bitwidth, kind(field)) for field in table.match_fields],
            sorted(actions[each.id] for each in table.action_refs),
            profiles.get(table.implementation_id),
        )
        for table in info.tables
        if not table.preamble.name.startswith("tbl_")  # p4c's own
    }
    used = {each.id for table in info.tables for each in table.action_refs}
    for action in info.actions:
        if action.preamble.id in used and "." in action.preamble.name:
            found[action.preamble.name] = [(param.name, param.bitwidth) for param in action.params]
    for direct in (*info.direct_counters, *info.direct_meters):
        found[direct.preamble.name] = tables[direct.direct_table_id]
    for array in (*info.counters, *info.meters, *info.registers):
        found[array.preamble.name] = array.size
    for profile in info.action_profiles:
        found[profile.preamble.name] = (profile.with_selector, profile.size)
    return found


@pytest.mark.parametrize("name", ["testbed", "references"])
def test_p4info_of_the_json_is_p4cs_in_what_commands_use(name: str) -> None:
    theirs = text_format.Parse((PROGRAMS / f"{name}.p4info.txtpb").read_text(), p4i.P4Info())
    ours = essence(derived((PROGRAMS / f"{name}.json").read_bytes()))
    expected = essence(theirs)
    assert {key: ours[key] for key in expected} == expected


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"header_types": 3}', "[" * 100_000])
def test_json_of_something_else_has_no_p4info(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|Expecting"):
        derived(text.encode())


class FakeRemote:
    """A control socket with two ports of two queues, which keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, object]] = []
        self.p4info = p4i.P4Info()

    def control(self, **question: object) -> dict[str, object]:
        queues = {"queues": [{"priority": 0}, {"priority": 1}]}
        ports = [
            {"port": 1, "interface": "a", "up": True, "out": queues},
            {"port": 2, "interface": "b", "up": False, "out": queues},
        ]
        if question["op"] != "stats":
            self.asked.append(question)
        return {"ports": ports, "uptime_ns": 5_000}


@pytest.fixture
def remote() -> FakeRemote:
    return FakeRemote()


@pytest.fixture
def arrays(remote: FakeRemote) -> Arrays:
    real = cast(Remote, cast(Any, remote))
    return Arrays(real, Tables(real))


def test_a_rate_is_for_a_queue_a_port_or_all(remote: FakeRemote, arrays: Arrays) -> None:
    for arguments in (["100", "2", "1"], ["0", "1"], ["7"]):
        arrays.queue_rate(*arguments)
    assert [(each["port"], each["queue"], each["spec"]) for each in remote.asked] == [
        (2, 1, "rate=100pps"),
        (1, 0, "rate=unlimited"),
        (1, 1, "rate=unlimited"),
        (1, 0, "rate=7pps"),
        (1, 1, "rate=7pps"),
        (2, 0, "rate=7pps"),
        (2, 1, "rate=7pps"),
    ]
    with pytest.raises(RefusedError, match="no port 3 has an interface"):
        arrays.queue_rate("7", "3")
    with (
        patch.object(remote, "control", return_value={"ports": []}),
        pytest.raises(RefusedError, match=r"^no port has an interface$"),
    ):
        arrays.queue_rate("7")


def test_depth_and_ports(remote: FakeRemote, arrays: Arrays) -> None:
    arrays.queue_depth("50", "1", "0")
    arrays.port_remove("2")
    assert remote.asked == [
        {"op": "queue", "port": 1, "queue": 0, "spec": "packets=50"},
        {"op": "link", "port": 2, "spec": "down"},
    ]
    shown = [line.split() for line in arrays.show_ports()][2:]
    assert shown == [["1", "a", "UP"], ["2", "b", "DOWN"]]


def test_the_times_are_since_the_start_and_since_1970(remote: FakeRemote) -> None:
    known = commands(cast(Remote, cast(Any, remote)))
    assert list(carry_out(known, "get_time_elapsed")) == ["5"]
    before = time_ns() // 1000
    (since_1970,) = carry_out(known, "get_time_since_epoch")
    assert before <= int(since_1970) <= time_ns() // 1000


def test_tab_completes_the_names_of_commands() -> None:
    edit_lines(["table_add", "mc_dump", "table_dump"])
    complete = readline.get_completer()
    assert complete is not None
    assert [complete("table_", number) for number in range(3)] == ["table_add ", "table_dump ", None]
