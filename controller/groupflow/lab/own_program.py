"""P4 programs of one's own on the switches of a network, with the entries of their tables at first.

Modules of P4Runtime are imported where they are needed: that takes long, and most networks run groupflow's
program.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from groupflow.compiler import CompileError, compiled_files
from groupflow.data import RUN_FOLDER
from groupflow.errors import InvalidError, reason
from groupflow.model.topology import Switch, Topology, TopologyError

if TYPE_CHECKING:
    from finsy.proto import p4r

    from groupflow.p4rt.program import Program

_P4INFO_SUFFIXES = (".p4info.txtpb", ".p4.p4info.txtpb", ".p4info.txt", ".p4.p4info.txt")
_COMMANDS = re.compile(
    r"(?:\s|(?://|#).*(?:\n|$))*(?:(?:table|act_prof|mc|mirroring|register|counter|meter|set)_|$)"
)
"""how a file begins that has the commands of BMv2's simple_switch_CLI, or none yet"""
_REFUSAL = re.compile("^(?:Error|Invalid).*", re.MULTILINE)


class Work(NamedTuple):
    """Entries to write to a switch when it runs."""

    switch: Switch
    program: "Program"
    updates: "Sequence[p4r.Update]"


def check_program(path: Path, option: str) -> None:
    """Raises InvalidError for a file that is no program, naming the option."""
    wanted = "name prog.p4, or its prog.json"
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InvalidError(f"{option} {path}: {reason(error)}; {wanted}") from None
    if path.suffix != ".p4" and b'"pipelines"' not in text:
        raise InvalidError(f"{option} {path}: no program; {wanted}")


def prepare(topology: Topology, folder: Path) -> tuple[Topology, list[Work]]:
    """The topology with what the compiler made of each program, in `folder`, and the entries to write.

    Raises InvalidError.
    """
    switches = dict(topology.switches)
    work: list[Work] = []
    for name, switch in switches.items():
        if switch.program is None:
            if switch.entries:
                raise TopologyError(f"switches.{name}.entries: of no program; name one: --p4 FILE")
            continue
        blob = _compiled(switch.program, folder)
        ready = switches[name] = replace(switch, program=blob, p4info=p4info_of(switch, blob))
        if switch.entries is None or _has_commands(switch.entries):
            continue
        if ready.p4info is None:
            raise TopologyError(f"{blob}: no P4Info beside it, which entries need; write p4info: FILE")
        work.append(_work(ready, ready.p4info, blob, switch.entries))
    return replace(topology, switches=MappingProxyType(switches)), work


def _work(switch: Switch, p4info: Path, blob: Path, entries: Path) -> Work:
    from groupflow.p4rt.program import Program
    from groupflow.p4rt.runtime_file import load_entries

    program = Program.of(p4info, blob)
    return Work(switch, program, load_entries(entries, program))


def is_groupflows(switches: Mapping[str, Switch]) -> bool:
    """Whether groupflow's controller can control these switches: they have one program, with its tables."""
    programs = {(switch.p4info, switch.program) for switch in switches.values()}
    p4info, blob = programs.pop()
    if blob is None or p4info is None or programs:
        return not programs and blob is None
    from groupflow.p4rt.program import Program, ProgramError

    try:
        Program.load(p4info, blob)
    except ProgramError:
        return False
    return True


def write(work: Sequence[Work]) -> None:
    """Writes entries to running switches. Raises TopologyError."""
    if not work:
        return
    from groupflow.p4rt.connection import ConnectionFailedError
    from groupflow.p4rt.program import ProgramError
    from groupflow.p4rt.runtime_file import write_entries

    async def write_all() -> None:
        for switch, program, updates in work:
            try:
                await write_entries(switch.grpc, switch.device_id, program, updates)
            except (ProgramError, ConnectionFailedError) as error:
                raise TopologyError(f"{switch.name}: {switch.entries or 'entries'}: {error}") from None

    asyncio.run(write_all())


def carry_out_commands(switches: Iterable[Switch]) -> None:
    """Gives the command files of running switches to gfswitch-cli. Raises TopologyError."""
    for switch in switches:
        if switch.entries is None or not _has_commands(switch.entries):
            continue
        command = [sys.executable, "-m", "groupflow.bmv2.main", "--grpc", switch.grpc, "--device-id"]
        command += [str(switch.device_id), "--control", str(RUN_FOLDER / f"{switch.name}.sock")]
        command += ["--json", str(switch.program)]
        with switch.entries.open() as commands:
            done = subprocess.run(command, stdin=commands, capture_output=True, text=True, check=False)
        if refusal := _REFUSAL.search(done.stdout.replace("RuntimeCmd: ", "")):
            raise TopologyError(f"{switch.name}: {switch.entries}: {refusal[0]}")
        if done.returncode:
            raise TopologyError(f"{switch.name}: {switch.entries}: {done.stderr.strip()}")


def _has_commands(file: Path) -> bool:
    try:
        return _COMMANDS.match(file.read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False  # refused where it is read as entries


@cache  # one compilation for all switches
def _compiled(path: Path, folder: Path) -> Path:
    if not path.is_file():
        raise TopologyError(f"{path}: no such file; name a P4 program, or the JSON that p4c made of it")
    if path.suffix != ".p4":
        from groupflow.p4rt.program import check_json

        check_json(path)
        return path
    try:
        return compiled_files(path, folder)[0]
    except CompileError as error:
        raise TopologyError(f"{path} has errors\n{error}") from None


def p4info_of(switch: Switch, blob: Path) -> Path | None:
    """The P4Info that is named, or beside the program, or named by the entries."""
    if switch.p4info is not None:
        return switch.p4info
    beside = (blob.with_name(blob.stem + suffix) for suffix in _P4INFO_SUFFIXES)
    if (found := next((path for path in beside if path.is_file()), None)) or switch.entries is None:
        return found
    from groupflow.p4rt.runtime_file import named_p4info

    named = named_p4info(switch.entries)
    places = (switch.entries.parent, Path(), *switch.entries.parents)
    return next((place / named for place in places if named and (place / named).is_file()), None)
