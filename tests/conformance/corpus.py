"""Any program on gfswitch and on BMv2: the same entries and packets in, the same packets out.

    python -m tests.conformance.corpus FOLDER... [--seed N] [--only NAME] [--page FILE]

compiles the P4 programs for v1model in and below the folders with p4c-bm2-ss where it is on PATH, takes those
that are compiled already, and tells what gfswitch and simple_switch_grpc load and where their packets differ.
A folder's name is its collection's. The outcomes are kept in `out/corpus`: a run goes on where one before it
ended, unless `--only` asks for programs. `--page` writes all outcomes as a page of the documentation.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import random
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import grpc
from finsy.proto import p4i, p4r, p4r_grpc
from google.protobuf import text_format

from tests.conformance.conftest import free_port
from tests.conformance.findings import (
    COUNTERS,
    CRASHED,
    DIFFER,
    ENDED,
    ENTRIES,
    PAST,
    REFUSED,
    REFUSED_BOTH,
    REFUSED_THERE,
    SAME,
    UNSTEADY_,
    Findings,
    halves,
)
from tests.conformance.process_switch import bmv2_command, gfswitch_command
from tests.support.wires import Wires, wires

PORTS = [0, 1, 2, 3]
DEADLINE = 30.0  # seconds a call may take
QUIET = 0.06  # seconds without a frame, after which no more is expected
LATE = 0.6  # the same before two switches are said to differ
CALLS = grpc.StatusCode
# Programs whose packets depend on the time, on chance or on the queues.
UNSTEADY = re.compile(r'timestamp"\]|timedelta"\]|_qdepth"\]|modify_field_rng_uniform|execute_meter')


@dataclass
class Program:
    """A source as p4c compiled it."""

    name: str
    json: bytes
    p4info: p4i.P4Info

    @property
    def steady(self) -> bool:
        """Whether its packets depend on nothing but packets and entries."""
        uses = json.loads(self.json)
        uses.pop("field_aliases", None)
        return not UNSTEADY.search(json.dumps(uses))


class Target:
    """A switch as a process, which is started again when a program ends it."""

    def __init__(self, name: str, made: Wires) -> None:
        self.name, self.wires = name, made
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> None:
        port, thrift = free_port(), free_port()
        made = self.wires
        command = bmv2_command(made, port, thrift) if self.name == "bmv2" else gfswitch_command(made, port)
        command = ["stdbuf", "-oL", *command]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.max_receive_message_length", -1)])
        grpc.channel_ready_future(channel).result(timeout=DEADLINE)
        self._stub = p4r_grpc.P4RuntimeStub(channel)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        arbitration = p4r.MasterArbitrationUpdate(device_id=1)
        arbitration.election_id.low = 1
        self._requests.put(p4r.StreamMessageRequest(arbitration=arbitration))
        self._stream = self._stub.StreamChannel(iter(self._requests.get, None))
        next(self._stream)
        self.messages: queue.SimpleQueue[p4r.StreamMessageResponse] = queue.SimpleQueue()
        threading.Thread(target=self._listen, args=(self._stream, self.messages), daemon=True).start()

    @staticmethod
    def _listen(
        stream: Iterator[p4r.StreamMessageResponse], messages: queue.SimpleQueue[p4r.StreamMessageResponse]
    ) -> None:
        with contextlib.suppress(grpc.RpcError):
            for message in stream:
                messages.put(message)

    def stop(self) -> None:
        """Ends the process."""
        if self._process:
            self._requests.put(None)
            self._process.kill()
            self._process.wait()
        self._process = None

    def alive(self, patience: float = 0.0) -> bool:
        """Whether the process runs, and does not end within the patience (seconds)."""
        if not self._process:
            return False
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        return self._process.returncode is None

    def load(self, program: Program, tries: int = 2) -> str:
        """Sets the program: the reason why not, or nothing. BMv2 may hang in a packet from before. Over
        P4Runtime it takes a program that it cannot read, and drops all packets: its output has the reason."""
        if not self.alive():
            self.stop()
            self._start()
        self._said()
        config = p4r.ForwardingPipelineConfig(p4info=program.p4info, p4_device_config=program.json)
        commit = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        request = p4r.SetForwardingPipelineConfigRequest(device_id=1, action=commit, config=config)
        request.election_id.low = 1
        try:
            self._stub.SetForwardingPipelineConfig(request, timeout=DEADLINE)
        except grpc.RpcError as error:
            reason = f"{error.code().name}: {error.details()}"  # type: ignore[attr-defined]
            self.stop()
            hung = error.code() == CALLS.DEADLINE_EXCEEDED  # type: ignore[attr-defined]
            return self.load(program, tries - 1) if hung and tries > 1 else reason
        return self._said()

    def _said(self) -> str:
        """The first line of the process's output since the last call."""
        if not self._process or not self._process.stdout:
            return ""
        os.set_blocking(self._process.stdout.fileno(), False)
        return (self._process.stdout.read() or b"").decode().partition("\n")[0]

    def write(self, update: p4r.Update) -> bool:
        """Whether the switch takes an update."""
        request = p4r.WriteRequest(device_id=1, updates=[update])
        request.election_id.low = 1
        try:
            self._stub.Write(request, timeout=DEADLINE)
        except grpc.RpcError:
            return False
        return True

    def counters(self, info: p4i.P4Info) -> dict[str, tuple[int, int]]:
        """Packets and bytes that the program's counters have, by counter and cell or entry."""
        request = p4r.ReadRequest(device_id=1)
        for counter in info.counters:
            request.entities.add().counter_entry.counter_id = counter.preamble.id
        for direct in info.direct_counters:
            request.entities.add().direct_counter_entry.table_entry.table_id = direct.direct_table_id
        counted: dict[str, tuple[int, int]] = {}
        for answer in self._stub.Read(request, timeout=DEADLINE) if request.entities else ():
            for entity in answer.entities:
                cell, entry = entity.counter_entry, entity.direct_counter_entry
                data = cell.data if cell.counter_id else entry.data
                where = f"{cell.counter_id}[{cell.index.index}]" if cell.counter_id else entry.table_entry
                if data.packet_count or data.byte_count:
                    counted[" ".join(str(where).split())] = (data.packet_count, data.byte_count)
        return counted


def collect(targets: tuple[Target, ...], quiet: float) -> list[dict[int, list[bytes]]]:
    """The frames that leave each switch by each port until none comes for a while."""
    got: list[dict[int, list[bytes]]] = [{} for _ in targets]
    last, number = time.monotonic(), 0
    while time.monotonic() - last < quiet and number < 400:
        for frames_, target in zip(got, targets, strict=True):
            for port in PORTS:
                if arrived := target.wires.received(port):
                    frames_.setdefault(port, []).extend(arrived)
                    last, number = time.monotonic(), number + len(arrived)
        time.sleep(0.002)
    return got


def answers(ours: Target, theirs: Target, port: int, frame: bytes) -> list[dict[int, list[bytes]]]:
    """The frames of both switches for one that arrives. A difference has to last: a busy machine is slow."""
    got: list[dict[int, list[bytes]]] = [{}, {}]
    for target in (ours, theirs):
        target.wires.send(port, frame)
    for quiet in (QUIET, LATE):
        for mine, more in zip(got, collect((ours, theirs), quiet), strict=True):
            for out, frames_ in more.items():
                mine[out] = sorted(mine.get(out, []) + frames_)
        if got[0] == got[1]:
            break
    return got


INFO = (".p4info.txtpb", ".p4info.txt", ".proto.txt")  # names of P4Info beside a program's JSON


def ready(folders: list[Path]) -> Iterator[Program]:
    """The programs that are compiled, with their P4Info beside them."""
    for path in sorted(path for folder in folders for path in folder.rglob("*.json")):
        for info in (path.with_suffix(suffix) for suffix in INFO):
            if info.exists():
                yield Program(
                    f"{path.parent.name}/{path.stem}",
                    path.read_bytes(),
                    text_format.Parse(info.read_text(), p4i.P4Info()),
                )


@dataclass(frozen=True)
class Source:
    """A source in or below a collection's folder."""

    folder: Path
    path: Path

    @property
    def name(self) -> str:
        inside = self.path.relative_to(self.folder).with_suffix("")
        return f"{self.folder.name}/{'-'.join(inside.parts)}".replace(" ", "-")


def sources(folders: list[Path]) -> list[Source]:
    """The programs for v1model, of both versions of the language."""
    found = [(folder, path) for folder in folders for path in sorted(folder.rglob("*.p4")) if path.is_file()]
    return [
        Source(folder, path)
        for folder, path in found
        if "p4_14" in str(path) or re.search("V1Switch|v1model.p4", path.read_text(errors="replace"))
    ]


def compiled(source: Source, out: Path) -> Program | None:
    """A program as p4c compiles it, kept in a folder; none if p4c refuses it."""
    made = out / f"{source.name}.json"
    info = made.with_suffix(".p4info.txtpb")
    if not (done := made.with_suffix(".done")).exists():
        made.parent.mkdir(exist_ok=True)
        path = source.path.absolute()
        version = "p4-14" if "p4_14" in str(path) else "p4-16"
        command = ["p4c-bm2-ss", "--std", version, "--Wdisable", str(path), "-o", str(made.absolute())]
        command += ["--p4runtime-files", str(info.absolute())]
        command += [f"-I{folder}" for folder in (source.folder.absolute(), path.parent, path.parent.parent)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, cwd=path.parent, capture_output=True, timeout=300, check=False)
        done.touch()
    if not made.exists() or not info.exists():
        return None
    return Program(source.name, made.read_bytes(), text_format.Parse(info.read_text(), p4i.P4Info()))


def frames(random_: random.Random) -> list[tuple[int, bytes]]:
    """Frames of all kinds, each for a port."""
    addresses = bytes.fromhex("000000000001000000000002")
    ip = bytes.fromhex("45000040000100004011") + b"\0\0" + bytes([10, 0, 0, 1, 10, 0, 0, 2])
    tail = bytes(random_.randrange(256) for _ in range(60))
    udp = bytes.fromhex("0001000200200000")
    made = [
        addresses + b"\x08\0" + ip + udp + tail,
        addresses + b"\x08\0" + ip[:9] + b"\x06" + ip[10:] + tail,
        addresses + b"\x08\0" + b"\x46" + ip[1:] + bytes(4) + udp + tail,
        addresses + b"\x86\xdd" + bytes.fromhex("6000000000201140") + bytes(31) + b"\1" + udp + tail,
        addresses + b"\x81\0\0\x05\x08\0" + ip + udp + tail,
        addresses + b"\x88\x47\0\0\x10\x40\0\0\x21\x40" + ip + udp + tail,
        bytes(14),
        b"\xff" * 64,
        *(bytes(random_.choice([0, 0, 1, 2, 3, 255]) for _ in range(length)) for length in (14, 20, 40, 100)),
        *(bytes(random_.randrange(256) for _ in range(length)) for length in (15, 33, 64, 128)),
    ]
    return [(PORTS[i % len(PORTS)], frame) for i, frame in enumerate(made)]


def entries(program: Program, random_: random.Random) -> Iterator[p4r.Update]:
    """Random entries and default actions for the tables of a program."""
    info = program.p4info
    # BMv2 refuses arguments for parameters that p4c removed because nothing uses them; gfswitch takes them.
    known = {action["name"]: len(action["runtime_data"]) for action in json.loads(program.json)["actions"]}
    kept = [action for action in info.actions if known.get(action.preamble.name) == len(action.params)]
    kept = [action for action in kept if all(param.bitwidth for param in action.params)]
    actions = {action.preamble.id: action for action in kept}

    def allowed(table: p4i.Table, scope: int) -> list[int]:
        return [ref.id for ref in table.action_refs if ref.scope in (0, scope) and ref.id in actions]

    def value(bits: int) -> bytes:
        number = random_.choice([0, 1, 2, 3, 10, 0x0800, random_.getrandbits(bits or 1)]) % (1 << (bits or 1))
        return number.to_bytes((number.bit_length() + 7) // 8 or 1, "big")

    def action(table: p4i.Table, scope: int) -> p4r.TableAction | None:
        usable = allowed(table, scope)
        if table.implementation_id and scope == 1:
            if table.implementation_id in selectors and random_.random() < 0.7:
                return p4r.TableAction(action_profile_group_id=1)
            return p4r.TableAction(action_profile_member_id=1)
        if not usable or table.implementation_id:
            return None
        return p4r.TableAction(action=call(actions[random_.choice(usable)]))

    def call(chosen: p4i.Action) -> p4r.Action:
        made = p4r.Action(action_id=chosen.preamble.id)
        for param in chosen.params:
            port = random_.choice(PORTS).to_bytes(1, "big")
            # The controller's width of a translated type may exceed the program's.
            bits = min(param.bitwidth, 3) if param.type_name.name else param.bitwidth
            made.params.add(param_id=param.id, value=port if bits == 9 else value(bits))
        return made

    selectors = {profile.preamble.id for profile in info.action_profiles if profile.with_selector}
    for profile in info.action_profiles:
        tables = [table for table in info.tables if table.preamble.id in profile.table_ids]
        usable = allowed(tables[0], 1) if tables else []
        for member_id in (1, 2, 3) if usable else ():
            update = p4r.Update(type=p4r.Update.INSERT)
            member = update.entity.action_profile_member
            member.action_profile_id, member.member_id = profile.preamble.id, member_id
            member.action.CopyFrom(call(actions[random_.choice(usable)]))
            yield update
        if profile.with_selector and usable:
            update = p4r.Update(type=p4r.Update.INSERT)
            group = update.entity.action_profile_group
            group.action_profile_id, group.group_id, group.max_size = profile.preamble.id, 1, 8
            for member_id, weight in ((1, 1), (2, random_.choice([1, 2])), (3, 1)):
                group.members.add(member_id=member_id, weight=weight)
            yield update

    for table in info.tables:
        fixed = table.is_const_table or table.has_initial_entries  # BMv2 takes no more where some are initial
        for n in range(0 if fixed else 4):
            update = p4r.Update(type=p4r.Update.INSERT)
            entry = update.entity.table_entry
            entry.table_id = table.preamble.id
            keys = table.match_fields
            if not keys or not all(key.bitwidth for key in keys) or not (made := action(table, 1)):
                break
            entry.action.CopyFrom(made)
            kinds = {key.match_type for key in keys}
            if kinds & {p4i.MatchField.TERNARY, p4i.MatchField.RANGE, p4i.MatchField.OPTIONAL}:
                entry.priority = n + 1
            for key in keys:
                match = p4r.FieldMatch(field_id=key.id)
                bits = key.bitwidth
                if key.match_type == p4i.MatchField.EXACT:
                    match.exact.value = value(bits)
                elif key.match_type == p4i.MatchField.LPM and random_.random() < 0.5:
                    match.lpm.value, match.lpm.prefix_len = b"\0", random_.randint(1, bits)
                elif key.match_type == p4i.MatchField.TERNARY and random_.random() < 0.5:
                    match.ternary.value, match.ternary.mask = b"\0", random_.choice([b"\1", value(bits)])
                    if not any(match.ternary.mask):
                        continue
                elif key.match_type == p4i.MatchField.RANGE and random_.random() < 0.5:
                    match.range.low, match.range.high = b"\0", b"\1"
                else:
                    continue
                entry.match.append(match)
            yield update
        if not table.const_default_action_id and random_.random() < 0.5 and (made := action(table, 2)):
            update = p4r.Update(type=p4r.Update.MODIFY)
            entry = update.entity.table_entry
            entry.table_id, entry.is_default_action = table.preamble.id, True
            entry.action.CopyFrom(made)
            yield update


def is_beyond_bmv2(info: p4i.P4Info, entry: p4r.TableEntry) -> bool:
    """Whether a rule or a translated type concerns an entry: BMv2 knows neither."""
    table = next((table for table in info.tables if table.preamble.id == entry.table_id), p4i.Table())
    refs = {ref.id for ref in table.action_refs}
    actions = [action for action in info.actions if action.preamble.id in refs]
    notes = [note for each in (table, *actions) for note in each.preamble.annotations]
    fields = [*table.match_fields, *(param for action in actions for param in action.params)]
    types = info.type_info.new_types
    return any("_restriction" in note for note in notes) or any(
        types[field.type_name.name].HasField("translated_type") for field in fields if field.type_name.name
    )


def undone(update: p4r.Update) -> p4r.Update:
    """The update that takes an entry away, or gives a table its first default action."""
    undo = p4r.Update(type=p4r.Update.DELETE, entity=update.entity)
    if update.type == p4r.Update.MODIFY:
        undo.type = p4r.Update.MODIFY
        undo.entity.table_entry.ClearField("action")
    return undo


def compare(program: Program, ours: Target, theirs: Target, seed: int) -> tuple[str, str]:
    """The outcome of a program on both switches."""
    mine, other = ours.load(program), theirs.load(program)
    if mine or other:
        return (REFUSED_BOTH if other else REFUSED) if mine else REFUSED_THERE, (mine or other)[:200]
    random_ = random.Random(f"{seed} {program.name}")
    collect((ours, theirs), QUIET)  # what is left of the program before
    updates: list[p4r.Update] = []
    for filled in (False, True):
        updates = list(entries(program, random_)) if filled else []
        for update in list(updates):
            taken = [ours.write(update), theirs.write(update)]
            if taken[0] != taken[1]:
                if not is_beyond_bmv2(program.p4info, update.entity.table_entry):
                    text = " ".join(str(update.entity).split())
                    return ENTRIES, f"gfswitch {taken[0]}, BMv2 {taken[1]}: {text}"
                (ours if taken[0] else theirs).write(undone(update))
                updates.remove(update)
        where = "with entries" if filled else "empty"
        for port, frame in frames(random_):
            got = answers(ours, theirs, port, frame)
            if not theirs.alive(2.0 if got[0] != got[1] else 0.0):  # an abort that dumps core takes a while
                return CRASHED, ""
            if not ours.alive():
                return ENDED, f"{where}, {frame.hex()} on {port}"
            if got[0] != got[1]:
                if not program.steady:
                    return UNSTEADY_, ""
                alike = b'"register_write"' not in program.json and agree(
                    program, ours, theirs, updates, port, frame
                )
                if alike == got[0]:
                    return PAST, f"{where}, {frame.hex()} on {port}"
                shown = [{p: [f.hex() for f in fs][:2] for p, fs in out.items()} for out in got]
                return DIFFER, f"{where}, {frame.hex()} on {port}: gfswitch {shown[0]}, BMv2 {shown[1]}"
        counted = [target.counters(program.p4info) for target in (ours, theirs)]
        if counted[0] != counted[1]:
            only = [dict(sorted(a.items() - b.items())[:3]) for a, b in (counted, counted[::-1])]
            return COUNTERS, f"{where}: gfswitch {only[0]}, BMv2 {only[1]}"
    return SAME, ""


def agree(
    program: Program, ours: Target, theirs: Target, updates: list[p4r.Update], port: int, frame: bytes
) -> dict[int, list[bytes]] | None:
    """The packets that both send for a first frame, if they are the same. In BMv2, fields of invalid headers
    keep the values of packets before, and a loop without end in one packet holds up all others. gfswitch has
    no such state: it has to do what it did before the restart."""
    for target in (ours, theirs):
        target.stop()
        if target.load(program):
            return None
        for update in updates:
            target.write(update)
    got = answers(ours, theirs, port, frame)
    return got[0] if got[0] == got[1] else None


def run(folders: list[Path], out: Path, seed: int, only: str = "") -> Findings:
    """Compares all programs of the folders."""
    out.mkdir(parents=True, exist_ok=True)
    wanted = [source for source in sources(folders) if only in source.name]
    programs = [program for program in ready(folders) if only in program.name]
    if shutil.which("p4c-bm2-ss"):
        with ThreadPoolExecutor(2) as pool:
            programs += [p for p in pool.map(partial(compiled, out=out), wanted) if p]
    kept = out / "outcomes.json"
    found = Findings(json.loads(kept.read_text()) if kept.exists() else {})
    with wires(PORTS) as made, wires(PORTS) as other:
        ours, theirs = Target("gfswitch", made), Target("bmv2", other)
        try:
            for program in programs:
                if program.name in found.outcomes and not only:
                    continue
                outcome = compare(program, ours, theirs, seed)
                found.outcomes[program.name] = outcome
                print(program.name, *outcome, sep=": ", flush=True)
                kept.write_text(json.dumps(found.outcomes, indent=1))
        finally:
            ours.stop()
            theirs.stop()
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("out/corpus"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    results = run(chosen.folders, chosen.out, chosen.seed, chosen.only)
    print(results)
    if chosen.page:
        made = results.page("python -m tests.conformance.corpus FOLDER... --page FILE")
        chosen.page.write_text(made + halves(chosen.page)[1])
