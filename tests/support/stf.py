"""STF, the form of p4c's tests of programs: what to send, what must leave, and entries of tables.

A line is a step, and `#` begins a comment:

    packet PORT BYTES
    expect PORT [BYTES]      as a beginning; `*` is any digit, and `$` at the end that of the frame
    add TABLE [PRIORITY] KEY:VALUE ... ACTION([PARAMETER:]VALUE, ...) [= HANDLE]
    setdefault TABLE ACTION([PARAMETER:]VALUE, ...)
    remove all               or an entry by its HANDLE
    check_counter COUNTER(INDEX or HANDLE) [packets|bytes RELATION NUMBER]
    wait                     until everything sent has left
    no_packet

or any command of BMv2's CLI, such as `mc_mgrp_create 5`. A priority is better the higher it is, in BMv2's
CLI the lower.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from finsy.proto import p4i

from groupflow.bmv2.remote import RefusedError, lookup

BITS = {"0x": 4, "0o": 3, "0b": 1}
"""of a digit, by the prefix of the number"""
WORST = 10_000
"""the priority in BMv2's CLI of an entry without one"""
RELATIONS: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip

_NAME = r'(?:"[^"]+"|[\w$.\[\]]+)'
_VALUE = r"[\w*.]+(?:\s*(?:&&&|/|->)\s*\w+)?"
_CALL = rf"(?P<action>{_NAME})\s*\((?P<arguments>[^()]*)\)"
_ADD = re.compile(
    rf"(?P<table>{_NAME})(?:\s+(?P<priority>\d+)(?=\s))?(?P<keys>(?:\s+{_NAME}\s*:\s*{_VALUE})*)\s+{_CALL}"
    r"(?:\s*=\s*\$?(?P<handle>\w+))?"
)
_KEY = re.compile(rf"({_NAME})\s*:\s*({_VALUE})")
_DEFAULT = re.compile(rf"(?P<table>{_NAME})\s+{_CALL}")
_CHECK = re.compile(
    rf"({_NAME})\s*\(\s*(\$?\w+)\s*\)(?:\s*(packets|bytes)\s*({'|'.join(sorted(RELATIONS)[::-1])})\s*(\w+))?"
)
_PACKET = re.compile(r"(\d+)\s+((?:[0-9a-f]{2})+)")
_EXPECT = re.compile(r"(\d+)\s*([0-9a-f*]*)(\$?)")
_FAULT = re.compile(r"^(?:RuntimeCmd: )?((?:Invalid|Error|\*\*\*|Bad format)[^\n]*)", re.MULTILINE)


class StfError(Exception):
    """A line that is no step, a name that the program lacks, or a command that a switch refuses. One line."""


@dataclass(frozen=True)
class Packet:
    port: int
    data: bytes


@dataclass(frozen=True)
class Expect:
    """A frame that must leave."""

    port: int
    pattern: str = ""
    """hexadecimal digits of its beginning, `*` for any"""
    whole: bool = False
    """nothing may follow"""

    def matches(self, frame: bytes) -> bool:
        digits = frame.hex()
        if len(digits) < len(self.pattern) or (self.whole and len(digits) != len(self.pattern)):
            return False
        return all(one in ("*", other) for one, other in zip(self.pattern, digits, strict=False))

    def __str__(self) -> str:
        return self.pattern + "$" * self.whole


@dataclass(frozen=True)
class Call:
    action: str
    arguments: Mapping[str, str]
    """by the parameter's name, or by its place from 0 on"""


@dataclass(frozen=True)
class Add:
    table: str
    priority: int | None
    keys: Sequence[tuple[str, str]]
    call: Call
    handle: str | None


@dataclass(frozen=True)
class Default:
    table: str
    call: Call


@dataclass(frozen=True)
class Remove:
    handle: str | None
    """None: all entries"""


@dataclass(frozen=True)
class Check:
    counter: str
    index: str
    """a number, or a handle behind `$`"""
    unit: str | None
    relation: str
    number: int


@dataclass(frozen=True)
class Command:
    """A line for the switch's CLI; without words, a wait."""

    line: str


Step: TypeAlias = Packet | Expect | Add | Default | Remove | Check | Command


def parse(text: str) -> list[Step]:
    """The steps of a file. Raises StfError."""
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split(maxsplit=1)
        if not words or words[0].lower() == "no_packet":  # frames that nothing expects are faults anyhow
            continue
        step = _step(words[0].lower(), words[1].strip() if words[1:] else "")
        if step is None:
            raise StfError(f"line {number} is no step: {line.strip()}")
        steps.append(step)
    return steps


def _step(name: str, rest: str) -> Step | None:
    data = " ".join([rest[: len(rest) - len(rest.lstrip("0123456789"))], "".join(rest.split()[1:])]).lower()
    match name:
        case "packet":
            found = _PACKET.fullmatch(data)
            return found and Packet(int(found[1]), bytes.fromhex(found[2]))
        case "expect":
            found = _EXPECT.fullmatch(data)
            return found and Expect(int(found[1]), found[2], bool(found[3]))
        case "add":
            if not (found := _ADD.fullmatch(rest)):
                return None
            keys = [(_name(key), "".join(value.split())) for key, value in _KEY.findall(found["keys"])]
            priority = int(found["priority"]) if found["priority"] else None
            return Add(_name(found["table"]), priority, keys, _call(found), found["handle"])
        case "setdefault":
            found = _DEFAULT.fullmatch(rest)
            return found and Default(_name(found["table"]), _call(found))
        case "remove":
            return Remove(None if rest.lower() == "all" else rest.lstrip("$")) if rest else None
        case "check_counter":
            if not (found := _CHECK.fullmatch(rest)):
                return None
            return Check(_name(found[1]), found[2], found[3], found[4] or "==", int(found[5] or "0", 0))
        case "wait":
            return Command("")
        case _:
            return Command(f"{name} {rest}".strip()) if "_" in name else None


def _name(text: str) -> str:
    return text.strip('"')


def _call(found: re.Match[str]) -> Call:
    given = [argument.strip() for argument in found["arguments"].split(",") if argument.strip()]
    named = [each if ":" in each else f"{place}:{each}" for place, each in enumerate(given)]
    pairs = [pair.partition(":") for pair in named]
    return Call(_name(found["action"]), {name.strip(): value.strip() for name, _, value in pairs})


def missed(expected: Iterable[Expect], left: Mapping[int, Sequence[bytes]]) -> str:
    """The first difference of the frames that left each port from those expected, or nothing."""
    wanted: dict[int, list[Expect]] = {}
    for each in expected:
        wanted.setdefault(each.port, []).append(each)
    for port in sorted({*wanted, *left}):
        here, there = wanted.get(port, []), left.get(port, [])
        for number, (one, frame) in enumerate(zip(here, there, strict=False), 1):
            if not one.matches(frame):
                return f"frame {number} of port {port} is {frame.hex()}, not {one}"
        if len(here) != len(there):
            return f"frames of port {port}: {len(there)}, not {len(here)}"
    return ""


class Commands:
    """Carries out the steps other than frames, as lines of BMv2's CLI for a program."""

    def __init__(self, info: p4i.P4Info, run: Callable[[str], str]) -> None:
        """`run` gives the output of a line."""
        self._info, self._run = info, run
        self._handles: dict[str, tuple[str, str]] = {}
        """tables and handles of the CLI, by the file's handles"""

    def carry_out(self, step: Add | Default | Remove | Check | Command) -> None:
        """Raises StfError where a name is unknown, the switch refuses, or a counter differs."""
        try:
            match step:
                case Add():
                    self._add(step)
                case Default(name, call):
                    table = lookup("table", self._info.tables, name)
                    self._send("table_set_default", table.preamble.name, *self._called(table, call))
                case Remove(None):
                    for table in self._info.tables:
                        self._send("table_clear", table.preamble.name)
                case Remove(handle):
                    self._send("table_delete", *self._handle(handle or ""))
                case Check():
                    self._check(step)
                case Command(line):
                    self._send(*line.split())
        except RefusedError as error:
            raise StfError(str(error)) from None

    def _send(self, *words: str) -> str:
        output = self._run(" ".join(words)) if words else ""
        if fault := _FAULT.search(output):
            raise StfError(f"{' '.join(words)}: {fault[1]}")
        return output

    def _handle(self, name: str) -> tuple[str, str]:
        if name not in self._handles:
            raise StfError(f"no entry has the handle {name}")
        return self._handles[name]

    def _called(self, table: p4i.Table, call: Call) -> list[str]:
        """An action's name, and its arguments in the order of its parameters."""
        allowed = {ref.id for ref in table.action_refs}
        actions = [action for action in self._info.actions if action.preamble.id in allowed]
        action = lookup("action", actions, call.action)
        names = [param.name for param in action.params]
        if "0" in call.arguments:
            names = [str(place) for place in range(len(names))]
        if {*names} != {*call.arguments}:
            raise StfError(f"the parameters of {action.preamble.name} are not {', '.join(call.arguments)}")
        return [action.preamble.name, *(plain(call.arguments[name]) for name in names)]

    def _add(self, step: Add) -> None:
        table = lookup("table", self._info.tables, step.table)
        given = {field_of(table, name).id: value for name, value in step.keys}
        action, *arguments = self._called(table, step.call)
        words = [key(field, given.get(field.id)) for field in table.match_fields]
        kinds = {field.match_type for field in table.match_fields}
        if kinds & {p4i.MatchField.TERNARY, p4i.MatchField.RANGE, p4i.MatchField.OPTIONAL}:
            arguments.append(str(WORST - (step.priority or 0)))
        output = self._send("table_add", table.preamble.name, action, *words, "=>", *arguments)
        if step.handle and (found := re.search(r"added with handle (\d+)", output)):
            self._handles[step.handle] = (table.preamble.name, found[1])

    def _check(self, step: Check) -> None:
        index = self._handle(step.index[1:])[1] if step.index.startswith("$") else step.index
        output = self._send("counter_read", step.counter, index)
        if step.unit and (found := re.search(rf"(\d+) {step.unit}|{step.unit}=(\d+)", output)):
            counted = int(found[1] or found[2])
            if not RELATIONS[step.relation](counted, step.number):
                asked = f"{step.relation} {step.number}"
                raise StfError(f"{step.counter}({index}) has {counted} {step.unit}, not {asked}")


def field_of(table: p4i.Table, name: str) -> p4i.MatchField:
    """The field of a key that a file names by its last parts, and its index in a stack behind `$`."""
    indexed = re.sub(r"\$(\d+)", r"[\1]", name)
    for wanted in (indexed, re.sub(r"\$?valid\$?$", "$valid$", indexed)):
        found = [field for field in table.match_fields if f".{field.name}".endswith(f".{wanted}")]
        exact = [field for field in found if field.name == wanted]
        if len(exact or found) == 1:
            return (exact or found)[0]
    raise StfError(f"{table.preamble.name} has no key {name}")


def plain(number: str) -> str:
    """A number as Python reads it: decimal digits may begin with 0."""
    return str(int(number)) if number.isdecimal() else number


def key(field: p4i.MatchField, text: str | None) -> str:
    """A key's value in the form of BMv2's CLI; without one, everything matches."""
    bits, most = BITS.get((text or "")[:2].lower(), 0), (1 << field.bitwidth) - 1
    digits = (text or "")[2:] if bits else text or ""
    zeros = plain((text or "0").replace("*", "0"))
    match field.match_type:
        case p4i.MatchField.LPM:
            if text is None or "/" in text:
                return text or "0/0"
            return f"{zeros}/{max(0, field.bitwidth - bits * digits.count('*'))}"
        case p4i.MatchField.TERNARY | p4i.MatchField.OPTIONAL:
            if text is None or "&&&" in text:
                return text or "0&&&0"
            # As in p4c's tests, digits that a number does not have are any.
            mask = 0 if bits else most
            for digit in digits if bits else "":
                mask = mask << bits | (0 if digit == "*" else (1 << bits) - 1)
            return f"{zeros}&&&{mask & most:#x}"
        case p4i.MatchField.RANGE:
            return f"0->{most}" if text is None else text if "->" in text else f"{zeros}->{zeros}"
        case _:
            if "*" in digits:
                raise StfError(f"{text} of {field.name} has to be exact")
            return zeros
