"""Any program on gfswitch and on BMv2: the same entries and packets in, the same packets out.

    python -m tests.conformance.corpus FOLDER... [--seed N] [--only NAME]

compiles the P4 programs for v1model in the folders with p4c-bm2-ss where it is on PATH, takes those that are
compiled already, and tells what gfswitch and simple_switch_grpc load and where their packets differ.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
import random
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import grpc
from finsy.proto import p4i, p4r, p4r_grpc
from google.protobuf import text_format

from tests.conformance.conftest import free_port
from tests.conformance.process_switch import bmv2_command, gfswitch_command
from tests.support.wires import Wires, wires

PORTS = [0, 1, 2, 3]
DEADLINE = 10.0  # seconds a call may take
QUIET = 0.06  # seconds without a frame, after which no more is expected
CALLS = grpc.StatusCode
# Programs whose packets depend on the time, on chance or on the queues.
UNSTEADY = re.compile(r'timestamp"\]|timedelta"\]|_qdepth"\]|modify_field_rng_uniform|execute_meter')


@dataclass
class Program:
    """What p4c made of a source."""

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
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        grpc.channel_ready_future(channel).result(timeout=DEADLINE)
        self._stub = p4r_grpc.P4RuntimeStub(channel)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        arbitration = p4r.MasterArbitrationUpdate(device_id=1)
        arbitration.election_id.low = 1
        self._requests.put(p4r.StreamMessageRequest(arbitration=arbitration))
        self._stream = self._stub.StreamChannel(iter(self._requests.get, None))
        next(self._stream)

    def stop(self) -> None:
        """Ends the process."""
        if self._process:
            self._requests.put(None)
            self._process.kill()
            self._process.wait()
        self._process = None

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def load(self, program: Program) -> str:
        """Sets the program: the reason why not, or nothing."""
        if not self.alive():
            self.stop()
            self._start()
        config = p4r.ForwardingPipelineConfig(p4info=program.p4info, p4_device_config=program.json)
        commit = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        request = p4r.SetForwardingPipelineConfigRequest(device_id=1, action=commit, config=config)
        request.election_id.low = 1
        try:
            self._stub.SetForwardingPipelineConfig(request, timeout=DEADLINE)
        except grpc.RpcError as error:
            reason = f"{error.code()}: {error.details()}"  # type: ignore[attr-defined]
            self.stop()
            return reason
        return ""

    def write(self, update: p4r.Update) -> bool:
        """Whether the switch takes an update."""
        request = p4r.WriteRequest(device_id=1, updates=[update])
        request.election_id.low = 1
        try:
            self._stub.Write(request, timeout=DEADLINE)
        except grpc.RpcError:
            return False
        return True

    def run(self, frames: list[tuple[int, bytes]]) -> list[dict[int, list[bytes]]]:
        """The frames that leave by each port, for each frame that arrives."""
        self._collect()
        results: list[dict[int, list[bytes]]] = []
        for port, frame in frames:
            self.wires.send(port, frame)
            results.append(self._collect())
        return results

    def _collect(self) -> dict[int, list[bytes]]:
        got: dict[int, list[bytes]] = {}
        last = time.monotonic()
        while time.monotonic() - last < QUIET and sum(map(len, got.values())) < 200:
            for port in PORTS:
                if arrived := self.wires.received(port):
                    got.setdefault(port, []).extend(arrived)
                    last = time.monotonic()
            time.sleep(0.002)
        return {port: sorted(frames) for port, frames in got.items()}


@dataclass
class Findings:
    """What became of the programs, by name."""

    loads: dict[str, Counter[bool]] = field(
        default_factory=lambda: {"gfswitch": Counter(), "bmv2": Counter()}
    )
    refused: dict[str, str] = field(default_factory=dict[str, str])
    crashed: list[str] = field(default_factory=list[str])
    writes: dict[str, str] = field(default_factory=dict[str, str])
    differ: dict[str, str] = field(default_factory=dict[str, str])
    unsteady: list[str] = field(default_factory=list[str])
    same: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        lines = [f"loaded: {name} {counts[True]} of {counts.total()}" for name, counts in self.loads.items()]
        for title, known in (("refused by gfswitch alone", self.refused), ("packets differ", self.differ),
                             ("entries differ", self.writes)):  # fmt: skip
            lines += [
                f"{title}: {len(known)}",
                *(f"  {name}: {text}" for name, text in sorted(known.items())),
            ]
        lines.append(f"not compared, time or chance is in the packets: {len(self.unsteady)}")
        lines.append(f"BMv2 ended: {len(self.crashed)} {' '.join(self.crashed)}")
        lines.append(f"same packets: {len(self.same)}")
        return "\n".join(lines)


INFO = (".p4info.txtpb", ".p4info.txt", ".proto.txt")  # names of P4Info beside a program's JSON


def ready(folders: list[Path]) -> Iterator[Program]:
    """The programs that are compiled, with their P4Info beside them."""
    for path in sorted(path for folder in folders for path in folder.rglob("*.json")):
        for info in (path.with_suffix(suffix) for suffix in INFO):
            if info.exists():
                yield Program(path.stem, path.read_bytes(), text_format.Parse(info.read_text(), p4i.P4Info()))


def sources(folders: list[Path]) -> list[Path]:
    """The programs for v1model, of both versions of the language."""
    found = [path for folder in folders for path in sorted(folder.glob("*.p4"))]
    return [
        path for path in found if "p4_14" in str(path) or "v1model.p4" in path.read_text(errors="replace")
    ]


def compiled(source: Path, folder: Path) -> Program | None:
    """What p4c makes of a program, kept in a folder; none where p4c refuses it."""
    name = f"{source.parent.name}-{source.stem}"
    out, info = folder / f"{name}.json", folder / f"{name}.p4info.txtpb"
    if not (folder / f"{name}.done").exists():
        command = ["p4c-bm2-ss", "--std", "p4-14" if "p4_14" in str(source) else "p4-16", "-o", str(out)]
        command += ["--p4runtime-files", str(info), "--Wdisable", str(source)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=60, check=False)
        (folder / f"{name}.done").touch()
    if not out.exists() or not info.exists():
        return None
    return Program(name, out.read_bytes(), text_format.Parse(info.read_text(), p4i.P4Info()))


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


def entries(info: p4i.P4Info, random_: random.Random) -> Iterator[p4r.Update]:
    """Random entries and default actions for the tables of a program."""
    actions = {action.preamble.id: action for action in info.actions}

    def value(bits: int) -> bytes:
        number = random_.choice([0, 1, 2, 3, 10, 0x0800, random_.getrandbits(bits or 1)]) % (1 << (bits or 1))
        return number.to_bytes((number.bit_length() + 7) // 8 or 1, "big")

    def action(table: p4i.Table, scope: int) -> p4r.TableAction | None:
        usable = [ref.id for ref in table.action_refs if ref.scope in (0, scope)]
        if table.implementation_id and scope == 1:
            grouped = table.implementation_id in selectors and random_.random() < 0.7
            if grouped:
                return p4r.TableAction(action_profile_group_id=1)
            return p4r.TableAction(action_profile_member_id=1)
        if not usable or table.implementation_id:
            return None
        return p4r.TableAction(action=call(actions[random_.choice(usable)]))

    def call(chosen: p4i.Action) -> p4r.Action:
        made = p4r.Action(action_id=chosen.preamble.id)
        for param in chosen.params:
            port = random_.choice(PORTS).to_bytes(1, "big")
            made.params.add(param_id=param.id, value=port if param.bitwidth == 9 else value(param.bitwidth))
        return made

    selectors = {profile.preamble.id for profile in info.action_profiles if profile.with_selector}
    for profile in info.action_profiles:
        table = next(table for table in info.tables if table.preamble.id in profile.table_ids)
        for member_id in (1, 2, 3):
            update = p4r.Update(type=p4r.Update.INSERT)
            member = update.entity.action_profile_member
            member.action_profile_id, member.member_id = profile.preamble.id, member_id
            usable = [ref.id for ref in table.action_refs if ref.scope in (0, 1)]
            member.action.CopyFrom(call(actions[random_.choice(usable)]))
            yield update
        if profile.with_selector:
            update = p4r.Update(type=p4r.Update.INSERT)
            group = update.entity.action_profile_group
            group.action_profile_id, group.group_id, group.max_size = profile.preamble.id, 1, 8
            for member_id, weight in ((1, 1), (2, random_.choice([1, 2])), (3, 1)):
                group.members.add(member_id=member_id, weight=weight)
            yield update

    for table in info.tables:
        for n in range(0 if table.is_const_table else 4):
            update = p4r.Update(type=p4r.Update.INSERT)
            entry = update.entity.table_entry
            entry.table_id = table.preamble.id
            if not table.match_fields or not (made := action(table, 1)):
                break
            entry.action.CopyFrom(made)
            kinds = {key.match_type for key in table.match_fields}
            if kinds & {p4i.MatchField.TERNARY, p4i.MatchField.RANGE, p4i.MatchField.OPTIONAL}:
                entry.priority = n + 1
            for key in table.match_fields:
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


def compare(program: Program, ours: Target, theirs: Target, seed: int, found: Findings) -> None:
    """Runs a program on both switches."""
    reasons = {target.name: target.load(program) for target in (ours, theirs)}
    for name, reason in reasons.items():
        found.loads[name][not reason] += 1
    if reasons["gfswitch"] and not reasons["bmv2"]:
        found.refused[program.name] = reasons["gfswitch"][:150]
    if any(reasons.values()):
        return
    random_ = random.Random(f"{seed} {program.name}")
    for filled in (False, True):
        for update in entries(program.p4info, random_) if filled else ():
            taken = [ours.write(update), theirs.write(update)]
            if taken[0] != taken[1]:
                text = " ".join(str(update.entity).split())
                found.writes[program.name] = f"gfswitch {taken[0]}, BMv2 {taken[1]}: {text}"
                return
        packets = frames(random_)
        a, b = ours.run(packets), theirs.run(packets)
        if not theirs.alive():
            found.crashed.append(program.name)
            return
        if not ours.alive():
            found.differ[program.name] = "gfswitch ended"
            return
        for (port, frame), mine, other in zip(packets, a, b, strict=True):
            if mine != other:
                if not program.steady:
                    found.unsteady.append(program.name)
                    return
                shown = [{p: [f.hex() for f in fs][:2] for p, fs in out.items()} for out in (mine, other)]
                where = "with entries" if filled else "empty"
                text = f"{where}, {frame.hex()} on {port}: gfswitch {shown[0]}, BMv2 {shown[1]}"
                found.differ[program.name] = text
                return
    found.same.append(program.name)


def run(folders: list[Path], out: Path, seed: int, only: str = "") -> Findings:
    """Compares all programs of the folders."""
    out.mkdir(parents=True, exist_ok=True)
    wanted = [source for source in sources(folders) if only in source.stem]
    programs = [program for program in ready(folders) if only in program.name]
    if shutil.which("p4c-bm2-ss"):
        with ThreadPoolExecutor(2) as pool:
            programs += [p for p in pool.map(partial(compiled, folder=out), wanted) if p]
    found = Findings()
    with wires(PORTS) as made, wires(PORTS) as other:
        ours, theirs = Target("gfswitch", made), Target("bmv2", other)
        try:
            for program in programs:
                compare(program, ours, theirs, seed, found)
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
    chosen = parser.parse_args()
    print(run(chosen.folders, chosen.out, chosen.seed, chosen.only))
