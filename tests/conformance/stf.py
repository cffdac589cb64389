"""p4c's own tests of programs, as groupflow's compiler and p4c compile them, on gfswitch and on BMv2.

    python -m tests.conformance.stf FOLDER... [--only NAME] [--page FILE] [--out FOLDER]

takes the P4_16 programs for v1model in and below the folders that have a file of steps (`.stf`,
tests/support/stf.py) beside them, and tells which of them pass: with the output of either compiler, on either
switch, as far as p4c-bm2-ss and simple_switch are on PATH. The outcomes are kept in `out/stf`: a run goes on
where one before it ended, unless `--only` asks for programs. `--page` writes their section of a page.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import TypeAlias

from finsy import GRPCStatusCode
from finsy.proto import p4i, p4r
from google.protobuf import text_format

from groupflow._native import NativeSwitch
from groupflow.bmv2.main import carry_out, commands
from groupflow.bmv2.p4info import derived
from groupflow.bmv2.remote import Kind, RefusedError, Remote
from groupflow.compiler import CompileError, compile_p4, run_p4c
from tests.conformance.conftest import free_port
from tests.conformance.corpus import Program, Source, sources
from tests.conformance.findings import OWN_TESTS, brief, halves
from tests.support.stf import Commands, Expect, Packet, StfError, missed, parse

START = 20.0  # seconds in which BMv2 has to be ready, and to answer
QUIET = 0.15  # seconds without a frame, after which no more is expected
LATE = 2.5  # the same where some are missing
POLL = 0.01
ROUNDS = 1000  # times that a packet may return into gfswitch
PCAP = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
Way: TypeAlias = tuple[str, str]
WAYS: list[Way] = [(one, other) for other in ("gfswitch", "BMv2") for one in ("groupflow", "p4c")]
"""compilers, each with a switch that runs its output"""

ABOUT = """
Tests (`.stf`: entries, frames in, frames out) lie beside some of p4c's P4_16 programs. These pass with the
output of each compiler, by `python -m tests.conformance.stf FOLDER... --page FILE`:

"""


class Local(Remote):
    """gfswitch in this process, for the commands of gfswitch-cli."""

    def __init__(self, native: NativeSwitch, info: p4i.P4Info) -> None:
        self.p4info = info
        self._native = native

    def write(self, kind: Kind, *entities: p4r.Entity) -> None:
        updates = [p4r.Update(type=kind, entity=entity).SerializeToString() for entity in entities]
        for result in self._native.write(updates):
            if result is not None:
                raise RefusedError(result[1], GRPCStatusCode(result[0]))

    def read(self, *entities: p4r.Entity) -> list[p4r.Entity]:
        try:
            found = self._native.read([entity.SerializeToString() for entity in entities])
        except ValueError as error:
            raise RefusedError(str(error)) from None
        return [p4r.Entity.FromString(message) for message in found]


class Running(ABC):
    """A switch that runs a program. Each method raises StfError where it cannot go on."""

    info: p4i.P4Info
    """the names and the parameters that its CLI knows"""

    @abstractmethod
    def run(self, line: str) -> str:
        """The output of a command."""

    @abstractmethod
    def send(self, port: int, frame: bytes) -> None:
        """A frame arrives."""

    @abstractmethod
    def left(self, number: int, *, last: bool = False) -> dict[int, list[bytes]]:
        """The frames that left so far by their ports, once there are so many or no more come; at last, when
        none is sent any more."""


class Ours(Running):
    """gfswitch in this process, in virtual time."""

    def __init__(self, program: Program, ports: list[int]) -> None:
        info = text_format.MessageToString(program.p4info)
        try:
            self._native = NativeSwitch(program.json.decode(), info, ports, [], 510, 511, 1, 1)
        except ValueError as error:
            raise StfError(f"refused: {error}") from None
        self.info = program.p4info
        self._known = commands(Local(self._native, self.info))
        self._now = 0
        self._left: dict[int, list[bytes]] = {}

    def run(self, line: str) -> str:
        return "\n".join(carry_out(self._known, line))

    def send(self, port: int, frame: bytes) -> None:
        self._now += 1
        self._native.inject(port, frame, self._now)
        for _ in range(ROUNDS):
            outputs, _, due = self._native.advance(self._now)
            for out, _, data in outputs:
                self._left.setdefault(out, []).append(data)
            if due is None or not self._native.holds_packets():
                return
            self._now = max(due, self._now)
        raise StfError("a packet does not leave the switch")

    def left(self, number: int, *, last: bool = False) -> dict[int, list[bytes]]:
        del number, last
        return self._left


class Bmv2(Running):
    """simple_switch as a process, whose ports are files: they carry frames of any length.

    It handles a frame when each of the files has another one, or has ended.
    """

    def __init__(self, program: Program, ports: Mapping[int, bool], folder: Path, cleanup: ExitStack) -> None:
        self._folder, self._ports, self._sent = folder, ports, 0
        try:
            self.info = derived(program.json)
        except ValueError as error:
            raise StfError(str(error)) from None
        (folder / "program.json").write_bytes(program.json)
        self._ends: dict[int, int] = {}
        cleanup.callback(self._close)
        words = ["simple_switch", "--use-files", "0"]
        for port in ports:
            name = folder / f"{port}_in.pcap"
            os.mkfifo(name)
            # For reading, too: so this end need not wait for the switch.
            self._ends[port] = os.open(name, os.O_RDWR)
            os.write(self._ends[port], PCAP)
            words += ["-i", f"{port}@{folder}/{port}"]
        self._thrift = str(free_port())
        words += ["--thrift-port", self._thrift, "--device-id", self._thrift, "program.json"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(words, cwd=folder, stdout=quiet, stderr=quiet)
        cleanup.callback(self._end)
        self._wait()
        for port in ports:
            if not ports[port]:
                os.close(self._ends.pop(port))

    def _close(self) -> None:
        while self._ends:
            os.close(self._ends.popitem()[1])

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        Path(f"/tmp/bmv2-{self._thrift}-notifications.ipc").unlink(missing_ok=True)

    def _wait(self) -> None:
        end = time.monotonic() + START
        while time.monotonic() < end:
            self._look()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(self._thrift))):
                return
            time.sleep(POLL)
        raise StfError("BMv2 does not start")

    def _look(self) -> None:
        if self._process.poll() is not None:
            raise StfError(f"BMv2 ends with {self._process.returncode}")

    def run(self, line: str) -> str:
        words = ["simple_switch_CLI", "--thrift-port", self._thrift]
        try:
            done = subprocess.run(words, input=line + "\n", capture_output=True, text=True, timeout=START)
        except subprocess.TimeoutExpired:
            raise StfError(f"{line}: BMv2 does not answer") from None
        if done.returncode:
            raise StfError(f"{line}: {' '.join(done.stderr.split())[-80:]}")
        return done.stdout[done.stdout.find("RuntimeCmd:") :]

    def send(self, port: int, frame: bytes) -> None:
        self._sent += 1  # stands for the time, by which frames of several files come in their order
        head = struct.pack("<IIII", self._sent, 0, len(frame), len(frame))
        os.write(self._ends[port], head + frame)

    def _frames(self, port: int) -> Iterator[bytes]:
        path = self._folder / f"{port}_out.pcap"
        data, at = path.read_bytes() if path.exists() else b"", len(PCAP)
        while at + 16 <= len(data):
            length = struct.unpack_from("<I", data, at + 8)[0]
            if at + 16 + length > len(data):
                return
            yield data[at + 16 : at + 16 + length]
            at += 16 + length

    def left(self, number: int, *, last: bool = False) -> dict[int, list[bytes]]:
        if last:
            self._close()
        found, since = dict[int, list[bytes]](), time.monotonic()
        while True:
            now = {port: frames for port in self._ports if (frames := list(self._frames(port)))}
            if now != found:
                found, since = now, time.monotonic()
            enough = 0 < number <= sum(map(len, found.values()))
            if time.monotonic() - since > (QUIET if enough else LATE):
                self._look()
                return found
            time.sleep(POLL)


@contextmanager
def running(switch: str, program: Program, ports: Mapping[int, bool]) -> Generator[Running]:
    """A switch with a program, and ports, each with whether frames arrive there. Raises StfError."""
    with TemporaryDirectory() as folder, ExitStack() as cleanup:
        if switch == "gfswitch":
            yield Ours(program, list(ports))
        else:
            yield Bmv2(program, ports, Path(folder), cleanup)


def outcome(switch: str, program: Program, steps_: Path) -> str:
    """The reason why a program does not pass its test on a switch, or nothing."""
    expected: list[Expect] = []
    sent = False
    try:
        steps = parse(steps_.read_text(encoding="utf-8"))
        arriving = {step.port for step in steps if isinstance(step, Packet)}
        every = arriving | {step.port for step in steps if isinstance(step, Expect)}
        ports = {port: port in arriving for port in sorted(every)}
        with running(switch, program, ports) as on:
            cli = Commands(on.info, on.run)
            for step in steps:
                if isinstance(step, Packet):
                    on.send(step.port, step.data)
                    sent = True
                elif isinstance(step, Expect):
                    expected.append(step)
                else:
                    if sent:
                        on.left(len(expected))
                    sent = False
                    cli.carry_out(step)
            return missed(expected, on.left(len(expected), last=True))
    except StfError as error:
        return str(error)


def compiled(source: Source, compiler: str) -> Program:
    """A program as a compiler makes it. Raises StfError."""
    compile_ = compile_p4 if compiler == "groupflow" else run_p4c
    folders = (source.folder, source.path.parent, source.path.parent.parent)
    try:
        made = compile_(source.path.absolute(), include=[folder.absolute() for folder in folders])
    except CompileError as error:
        first = next(each for each in error.messages if each["severity"] == "error")
        told = " ".join(str(first.get("message", first["text"])).split())
        raise StfError(f"does not compile: {told}") from None
    return Program(source.name, made.json.encode(), text_format.Parse(made.p4info, p4i.P4Info()))


def tested(folders: list[Path]) -> list[Source]:
    """The programs that have tests."""
    found = [source for source in sources(folders) if "p4_14" not in str(source.path)]
    return [source for source in found if source.path.with_suffix(".stf").exists()]


def outcomes_of(source: Source, ways: Iterable[Way]) -> dict[str, str]:
    """The reasons why a program does not pass, by the ways in which it does not."""
    found: dict[str, str] = {}
    programs: dict[str, Program | str] = {}
    for compiler, switch in ways:
        if compiler not in programs:
            try:
                programs[compiler] = compiled(source, compiler)
            except StfError as error:
                programs[compiler] = str(error)
        program = programs[compiler]
        steps = source.path.with_suffix(".stf")
        found[f"{compiler} on {switch}"] = (
            program if isinstance(program, str) else outcome(switch, program, steps)
        )
    return found


@dataclass
class Results:
    """The outcomes of programs by name, each by its ways: the reason why it does not pass, or nothing."""

    outcomes: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    def passed(self, way: str) -> int:
        return sum(found.get(way) == "" for found in self.outcomes.values())

    def failed(self) -> dict[str, Mapping[str, str]]:
        """The programs that do not pass everywhere, with the reasons."""
        found = {name: {way: why for way, why in ways.items() if why} for name, ways in self.outcomes.items()}
        return {name: ways for name, ways in sorted(found.items()) if ways}

    def __str__(self) -> str:
        if not self.outcomes:
            return "no program has a test"
        pairs = [way.split(" on ") for found in self.outcomes.values() for way in found]
        compilers, switches = (list(dict.fromkeys(names)) for names in zip(*pairs, strict=True))
        lines = [f"| {len(self.outcomes)} tests | {' | '.join(switches)} |", f"|---|{'---|' * len(switches)}"]
        for compiler in compilers:
            passed = [str(self.passed(f"{compiler} on {switch}")) for switch in switches]
            lines.append(f"| {compiler} | {' | '.join(passed)} |")
        lines += [""] * bool(self.failed())
        for name, reasons in self.failed().items():
            for compiler, why in dict.fromkeys((way.split(" on ")[0], why) for way, why in reasons.items()):
                where = " and ".join(each for each in switches if reasons.get(f"{compiler} on {each}") == why)
                told = f"- `{name}`, {compiler} on {where}: {brief(why)}"
                lines.append(fill(told, 110, subsequent_indent="  "))
        return "\n".join(lines)


def possible() -> list[Way]:
    """The ways that this machine has the programs for."""
    programs = {"p4c": "p4c-bm2-ss", "BMv2": "simple_switch"}
    return [way for way in WAYS if all(shutil.which(programs[each]) for each in way if each in programs)]


def run(folders: list[Path], out: Path, only: str = "", ways: Iterable[Way] | None = None) -> Results:
    """Takes all tests of the folders, in the given ways or in all that are possible."""
    out.mkdir(parents=True, exist_ok=True)
    ways = possible() if ways is None else ways
    kept = out / "outcomes.json"
    found = Results(json.loads(kept.read_text()) if kept.exists() else {})
    for source in tested(folders):
        before = found.outcomes.get(source.name, {})
        missing = [(one, other) for one, other in ways if only or f"{one} on {other}" not in before]
        if only not in source.name or not missing:
            continue
        here = outcomes_of(source, missing)
        found.outcomes[source.name] = {**before, **here}
        told = "; ".join(f"{way}: {why}" for way, why in here.items() if why)
        print(source.name, told or "passes", sep=": ", flush=True)
        kept.write_text(json.dumps(found.outcomes, indent=1))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("out/stf"))
    parser.add_argument("--only", default="")
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    results = run(chosen.folders, chosen.out, chosen.only)
    print(results)
    if chosen.page:
        chosen.page.write_text(f"{halves(chosen.page)[0]}{OWN_TESTS}{ABOUT}{results}\n")
