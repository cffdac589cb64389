"""Files of steps: their lines, the commands that these become, and frames beside those expected."""

from __future__ import annotations

import pytest
from finsy.proto import p4i

from tests.support.stf import (
    Add,
    Call,
    Check,
    Command,
    Commands,
    Default,
    Expect,
    Packet,
    Remove,
    Step,
    StfError,
    missed,
    parse,
)

EXACT, LPM, TERNARY, RANGE = (
    p4i.MatchField.EXACT, p4i.MatchField.LPM, p4i.MatchField.TERNARY, p4i.MatchField.RANGE,
)  # fmt: skip


def program() -> p4i.P4Info:
    info = p4i.P4Info()
    for number, (name, params) in enumerate({"C.go": ["port", "kind"], "C.lose": []}.items(), 1):
        action = info.actions.add()
        action.preamble.id, action.preamble.name = number, name
        for param_id, param in enumerate(params, 1):
            action.params.add(id=param_id, name=param, bitwidth=9)
    keys = {
        "C.masks": {"hdr.one.kind": (16, TERNARY), "hdr.two.$valid$": (1, EXACT)},
        "C.prefixes": {"hdr.stack[1].address": (32, LPM)},
        "D.ranges": {"meta.kind": (8, RANGE), "hdr.one.kind": (12, EXACT)},
    }
    for number, (name, fields) in enumerate(keys.items(), 1):
        table = info.tables.add()
        table.preamble.id, table.preamble.name = number, name
        table.action_refs.extend(p4i.ActionRef(id=each) for each in (1, 2))
        for field_id, (field, (bits, kind)) in enumerate(fields.items(), 1):
            table.match_fields.add(id=field_id, name=field, bitwidth=bits, match_type=kind)
    return info


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("packet 0 0A0b 0c  # three bytes", Packet(0, bytes([10, 11, 12]))),
        ("PACKET 511 00", Packet(511, b"\0")),
        ("expect 3", Expect(3)),
        ("expect 3 0a*B **", Expect(3, "0a*b**")),
        ("expect 3 0a $", Expect(3, "0a", whole=True)),
        ("expect 3 0a$", Expect(3, "0a", whole=True)),
        ("add t k:1 go()", Add("t", None, [("k", "1")], Call("go", {}), None)),
        (
            'add C.t 7 "h.k$0" : 0x1* k2:0b1/1 C.go ( a:1, b : 0x2 ) = $one',
            Add("C.t", 7, [("h.k$0", "0x1*"), ("k2", "0b1/1")], Call("C.go", {"a": "1", "b": "0x2"}), "one"),
        ),
        ("add t a[1].$valid$:1 go()=it", Add("t", None, [("a[1].$valid$", "1")], Call("go", {}), "it")),
        (
            "add t k:1 &&& 3 j:2->4 go()",
            Add("t", None, [("k", "1&&&3"), ("j", "2->4")], Call("go", {}), None),
        ),
        ("add t go()", Add("t", None, [], Call("go", {}), None)),
        ("setdefault t C.go(a:1)", Default("t", Call("C.go", {"a": "1"}))),
        ("remove ALL", Remove(None)),
        ("remove $one", Remove("one")),
        ("check_counter c(3)", Check("c", "3", None, "==", 0)),
        ("check_counter C.c( $one ) bytes >= 0x10", Check("C.c", "$one", "bytes", ">=", 16)),
        ("check_counter c(3) packets!=1", Check("c", "3", "packets", "!=", 1)),
        ("wait", Command("")),
        ("mc_node_create 400  6 7", Command("mc_node_create 400  6 7")),
        ("Register_Reset r", Command("register_reset r")),
    ],
)
def test_a_line_is_a_step(line: str, step: Step) -> None:
    assert parse(f"\n# nothing\nno_packet\n  {line}") == [step]


@pytest.mark.parametrize(
    "line",
    ["packet 0", "packet 0 0", "packet 0 0*", "packet 00", "expect", "expect 0 0$0", "expect 0 0g", "remove",
     "add t k:1", "add t 1 2 k:1 go()", "add t k go()", "setdefault t", "check_counter c",
     "check_counter c(1) 1", "check_counter c(1) packets = 1", "send 0 00"],
)  # fmt: skip
def test_another_line_is_none(line: str) -> None:
    with pytest.raises(StfError, match=r"^line 2 is no step: \w+"):
        parse(f"wait\n{line}\n")


def carried_out(text: str, answers: dict[str, str]) -> list[str]:
    """The commands of the steps in a text; the switch has these answers to some."""
    lines: list[str] = []
    commands = Commands(program(), lambda line: lines.append(line) or answers.get(line.split()[0], ""))
    for step in parse(text):
        assert not isinstance(step, Packet | Expect)
        commands.carry_out(step)
    return lines


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        ("masks hdr.one.kind:0x1* go(kind:2, port:01)", "C.masks C.go 0x10&&&0xf0 0 => 1 2 10000"),
        ("masks 7 kind:0b1*0 lose()", "C.masks C.lose 0b100&&&0x5 0 => 9993"),
        ("masks kind:5 two.$valid:1 lose()", "C.masks C.lose 5&&&0xffff 1 => 10000"),
        ("masks kind:0x5 hdr.two.valid:1 lose()", "C.masks C.lose 0x5&&&0xf 1 => 10000"),
        ("C.masks kind:5&&&4 valid:01 C.lose()", "C.masks C.lose 5&&&4 1 => 10000"),
        ("prefixes address:0x0a0b**** lose()", "C.prefixes C.lose 0x0a0b0000/16 =>"),
        ("prefixes stack$1.address:0x0a0b0000/15 lose()", "C.prefixes C.lose 0x0a0b0000/15 =>"),
        ("prefixes hdr.stack[1].address:7 lose()", "C.prefixes C.lose 7/32 =>"),
        ("prefixes lose()", "C.prefixes C.lose 0/0 =>"),
        ("ranges meta.kind:3->5 one.kind:9 lose()", "D.ranges C.lose 3->5 9 => 10000"),
        ("ranges meta.kind:3 lose()", "D.ranges C.lose 3->3 0 => 10000"),
        ("ranges lose()", "D.ranges C.lose 0->255 0 => 10000"),
        ("ranges go(3, 0x4)", "D.ranges C.go 0->255 0 => 3 0x4 10000"),
    ],
)
def test_an_entry_is_a_command(entry: str, command: str) -> None:
    assert carried_out(f"add {entry}", {}) == [f"table_add {command}"]


def test_steps_are_commands() -> None:
    text = """
        add prefixes address:1 lose() = $one
        setdefault prefixes go(kind:2, port:1)
        check_counter per_entry($one) packets > 3
        check_counter cells(7) bytes == 60
        check_counter cells(7)
        remove one
        remove all
        wait
        mirroring_add 5 4
    """
    added = {
        "table_add": "Entry has been added with handle 12",
        "counter_read": "c[7]= (60 bytes, 4 packets)",
    }
    commands = [
        "table_add C.prefixes C.lose 1/32 =>",
        "table_set_default C.prefixes C.go 1 2",
        "counter_read per_entry 12",
        "counter_read cells 7",
        "counter_read cells 7",
        "table_delete C.prefixes 12",
        "table_clear C.masks",
        "table_clear C.prefixes",
        "table_clear D.ranges",
        "mirroring_add 5 4",
    ]
    assert carried_out(text, added) == commands
    of_bmv2 = {**added, "counter_read": "RuntimeCmd: cells[7]=  BmCounterValue(packets=4, bytes=60)"}
    assert carried_out(text, of_bmv2) == commands


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("add masks nothing:1 lose()", "C.masks has no key nothing"),
        ("add masks valid:0x* lose()", "0x* of hdr.two.$valid$ has to be exact"),
        ("add mask kind:1 lose()", "Invalid table name (mask)"),
        ("add masks kind:1 loose()", "Invalid action name (loose)"),
        ("setdefault masks go(port:1)", "the parameters of C.go are not port"),
        ("remove $one", "no entry has the handle one"),
        ("check_counter cells(7) packets < 4", "cells(7) has 4 packets, not < 4"),
        ("mirroring_add 5", "mirroring_add 5: Error: two arguments"),
    ],
)
def test_a_step_that_cannot_be_carried_out_is_told(line: str, reason: str) -> None:
    answers = {
        "counter_read": "cells[7]= (60 bytes, 4 packets)",
        "mirroring_add": "RuntimeCmd: Error: two arguments\nRuntimeCmd: ",
    }
    with pytest.raises(StfError) as told:
        carried_out(line, answers)
    assert str(told.value) == reason


@pytest.mark.parametrize(
    ("lines", "left", "reason"),
    [
        ("", {}, ""),
        ("expect 1 0a", {1: ["0a"]}, ""),
        ("expect 1 0a", {1: ["0a0b"]}, ""),
        ("expect 1 0a*", {1: ["0a0b"]}, ""),
        ("expect 1 0a*b $", {1: ["0a0b"]}, ""),
        ("expect 1 0b*b", {1: ["0a0b"]}, "frame 1 of port 1 is 0a0b, not 0b*b"),
        ("expect 1 0a$", {1: ["0a0b"]}, "frame 1 of port 1 is 0a0b, not 0a$"),
        ("expect 1 0a0b", {1: ["0a"]}, "frame 1 of port 1 is 0a, not 0a0b"),
        ("expect 1", {1: ["0a"]}, ""),
        ("expect 1 $", {1: ["0a"]}, "frame 1 of port 1 is 0a, not $"),
        ("expect 1", {2: ["0a"]}, "frames of port 1: 0, not 1"),
        ("expect 1", {1: ["0a"], 2: ["0a"]}, "frames of port 2: 1, not 0"),
        ("expect 2 0b\nexpect 1 0a\nexpect 2 0c", {1: ["0a"], 2: ["0b", "0c"]}, ""),
        ("expect 2 0b\nexpect 2 0c", {2: ["0c", "0b"]}, "frame 1 of port 2 is 0c, not 0b"),
        ("expect 2 0b\nexpect 2 0c", {2: ["0b"]}, "frames of port 2: 1, not 2"),
    ],
)
def test_frames_are_compared(lines: str, left: dict[int, list[str]], reason: str) -> None:
    expected = [step for step in parse(lines) if isinstance(step, Expect)]
    assert missed(expected, {port: list(map(bytes.fromhex, sent)) for port, sent in left.items()}) == reason
