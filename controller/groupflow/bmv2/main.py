"""`gfswitch-cli`: the commands of BMv2's `simple_switch_CLI`, over P4Runtime and gfswitch's control socket.

Syntax and output follow BMv2, since scripts write the one and read the other. As there, a refused command is
a line of output, and the next one runs.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from finsy import GRPCStatusCode

from groupflow.bmv2.arrays import Arrays
from groupflow.bmv2.engine import Engine
from groupflow.bmv2.profiles import Profiles
from groupflow.bmv2.remote import LostError, Place, RefusedError, Remote, find
from groupflow.bmv2.tables import Tables
from groupflow.bmv2.values import Lines
from groupflow.cli.parser import Parser
from groupflow.errors import Kind

PROMPT = "RuntimeCmd: "

_AT_START = "ports are named when gfswitch starts, as in -i 3@veth3; a port that was removed comes back by"
_RUNTIME = "set the pipeline over P4Runtime"
_NO_VALUES = "fill it over P4Runtime, as a ValueSetEntry"
_NO_DEFAULT = "tables with members have no default entry here; add an entry that matches the rest"
_NO_CHANGE = "write them into the P4 program"
INSTEAD: Mapping[str, str] = {
    "port_add": f"{_AT_START} `gfswitch link 3 up`",
    "load_new_config_file": _RUNTIME,
    "swap_configs": _RUNTIME,
    "reset_state": f"{_RUNTIME}, which clears all tables and arrays",
    "serialize_state": "read the entries over P4Runtime",
    "write_config_to_file": "P4Runtime's GetForwardingPipelineConfig has it",
    "switch_info": "`gfswitch stats` has it",
    "table_indirect_set_default": _NO_DEFAULT,
    "table_indirect_set_default_with_group": _NO_DEFAULT,
    "table_indirect_reset_default": _NO_DEFAULT,
    "set_crc16_parameters": _NO_CHANGE,
    "set_crc32_parameters": _NO_CHANGE,
    "set_toeplitz_hash_key": _NO_CHANGE,
    "mc_set_lag_membership": "list the ports in the node",
    "show_pvs": _NO_VALUES,
    "pvs_add": _NO_VALUES,
    "pvs_remove": _NO_VALUES,
    "pvs_get": _NO_VALUES,
    "pvs_clear": _NO_VALUES,
    "shell": "use a shell",
}
"""Commands that are not offered, each with what to do instead."""


class Command(NamedTuple):
    run: Callable[..., Lines | None]
    arguments: str


def commands(remote: Remote) -> dict[str, Command]:
    tables, profiles, engine = Tables(remote), Profiles(remote), Engine(remote)
    arrays = Arrays(remote, tables)
    key, entry, member = "TABLE KEY... => ", "TABLE HANDLE", "PROFILE MEMBER"
    found = {
        "show_tables": Command(tables.show, ""),
        "show_actions": Command(lambda: tables.show_actions(), ""),
        "table_show_actions": Command(tables.show_actions, "TABLE"),
        "table_info": Command(tables.info, "TABLE"),
        "table_set_default": Command(tables.set_default, "TABLE ACTION [PARAMETER...]"),
        "table_reset_default": Command(tables.reset_default, "TABLE"),
        "table_num_entries": Command(tables.num_entries, "TABLE"),
        "table_clear": Command(tables.clear, "TABLE"),
        "table_add": Command(tables.add, "TABLE ACTION KEY... => [PARAMETER...] [PRIORITY]"),
        "table_set_timeout": Command(tables.set_timeout, f"{entry} MILLISECONDS"),
        "table_modify": Command(tables.modify, "TABLE ACTION HANDLE [PARAMETER...]"),
        "table_delete": Command(tables.delete, entry),
        "table_dump": Command(tables.dump, "TABLE"),
        "table_dump_entry": Command(tables.dump_entry, entry),
        "table_dump_entry_from_key": Command(tables.dump_key, "TABLE KEY... [PRIORITY]"),
        "table_indirect_add": Command(tables.add_indirect("member"), f"{key}MEMBER [PRIORITY]"),
        "table_indirect_add_with_group": Command(tables.add_indirect("group"), f"{key}GROUP [PRIORITY]"),
        "table_indirect_delete": Command(tables.delete, entry),
        "act_prof_create_member": Command(profiles.create_member, "PROFILE ACTION [PARAMETER...]"),
        "act_prof_modify_member": Command(profiles.modify_member, "PROFILE ACTION MEMBER [PARAMETER...]"),
        "act_prof_delete_member": Command(profiles.delete_member, member),
        "act_prof_create_group": Command(profiles.create_group, "PROFILE"),
        "act_prof_delete_group": Command(profiles.delete_group, "PROFILE GROUP"),
        "act_prof_add_member_to_group": Command(profiles.add_to_group, f"{member} GROUP"),
        "act_prof_remove_member_from_group": Command(profiles.remove_from_group, f"{member} GROUP"),
        "act_prof_dump": Command(profiles.dump, "PROFILE"),
        "act_prof_dump_member": Command(profiles.dump_member, member),
        "act_prof_dump_group": Command(profiles.dump_group, "PROFILE GROUP"),
        "mc_mgrp_create": Command(engine.create_group, "GROUP"),
        "mc_mgrp_destroy": Command(engine.destroy_group, "GROUP"),
        "mc_node_create": Command(engine.create_node, "RID [PORT...]"),
        "mc_node_update": Command(engine.update_node, "NODE [PORT...]"),
        "mc_node_associate": Command(engine.associate, "GROUP NODE"),
        "mc_node_dissociate": Command(engine.dissociate, "GROUP NODE"),
        "mc_node_destroy": Command(engine.destroy_node, "NODE"),
        "mc_dump": Command(engine.dump, ""),
        "mirroring_add": Command(engine.mirror, "SESSION PORT"),
        "mirroring_add_mc": Command(engine.mirror_group, "SESSION GROUP"),
        "mirroring_delete": Command(engine.delete_mirror, "SESSION"),
        "mirroring_get": Command(engine.mirrored, "SESSION"),
        "counter_read": Command(arrays.counter_read, "COUNTER INDEX"),
        "counter_write": Command(arrays.counter_write, "COUNTER INDEX PACKETS BYTES"),
        "counter_reset": Command(arrays.counter_reset, "COUNTER"),
        "meter_set_rates": Command(arrays.meter_set, "METER INDEX RATE:BURST RATE:BURST"),
        "meter_array_set_rates": Command(arrays.meters_set, "METER RATE:BURST RATE:BURST"),
        "meter_get_rates": Command(arrays.meter_get, "METER INDEX"),
        "register_read": Command(arrays.register_read, "REGISTER [INDEX]"),
        "register_write": Command(arrays.register_write, "REGISTER INDEX VALUE"),
        "register_reset": Command(arrays.register_reset, "REGISTER"),
        "set_queue_rate": Command(arrays.queue_rate, "PACKETS_PER_SECOND [PORT [QUEUE]]"),
        "set_queue_depth": Command(arrays.queue_depth, "PACKETS [PORT [QUEUE]]"),
        "show_ports": Command(arrays.show_ports, ""),
        "port_remove": Command(arrays.port_remove, "PORT"),
        "get_time_elapsed": Command(arrays.time, ""),
        "get_time_since_epoch": Command(arrays.time_since_epoch, ""),
    }
    of_profiles = {name: command for name, command in found.items() if name.startswith("act_prof_")}
    for name, command in of_profiles.items():  # older names, with the table's name in place of the profile's
        dump = "_dump" in name
        found.setdefault(name.replace("act_prof", "table" if dump else "table_indirect"), command)
    return found


def carry_out(known: Mapping[str, Command], line: str) -> Lines:
    """The lines of output of one command."""
    name, *arguments = line.split()
    if name in ("help", "?"):
        yield from (
            f"{name} {known[name].arguments}".rstrip() for name in arguments or known if name in known
        )
        return
    if name not in known:
        cure = INSTEAD.get(name, "see `help`")
        yield f"Error: {name}: gfswitch does not have this command; {cure}"
        return
    run, usage = known[name]
    try:
        inspect.signature(run).bind(*arguments)
    except TypeError:
        yield f"Error: {name}: the arguments are {usage or 'none'}"
        return
    try:
        yield from run(*arguments) or ()
    except RefusedError as error:
        text = str(error)
        if error.code == GRPCStatusCode.OUT_OF_RANGE:  # of a counter, a meter, a register
            text = f"Invalid {name.split('_')[0]} operation (INVALID_INDEX)"
        yield (
            text
            if re.match(r"Invalid (\w+ operation \(|match key:|runtime data:)", text)
            else f"Error: {text}"
        )


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    if not 0 <= args.device_id < 1 << 64:
        parser.error(f"argument --device-id: {args.device_id} is not between 0 and 2^64 - 1")
    try:
        if args.grpc:
            place = Place(args.device_id, args.grpc, args.control, args.json)
        else:
            place = find(args.thrift_ip, args.thrift_port)
            place = place._replace(program=args.json or place.program)
        remote = Remote(place)
    except RefusedError as error:
        print(f"gfswitch-cli: {error}", file=sys.stderr)
        return Kind.INVALID.exit_code
    known = commands(remote)
    if sys.stdin.isatty():
        edit_lines(known)
    try:
        while (line := input(PROMPT).strip()) != "EOF":
            if line and not line.startswith(("#", "//")):
                for text in carry_out(known, line):
                    print(text, flush=True)
    except EOFError:
        print()
    except LostError as error:
        print(f"gfswitch-cli: {error}", file=sys.stderr)
        return Kind.FAILED.exit_code
    except KeyboardInterrupt:
        return Kind.INTERRUPTED.exit_code
    except BrokenPipeError:  # the reader of the output (`| head`) has enough
        sys.stderr.close()
    finally:
        remote.close()
    return 0


def edit_lines(names: Iterable[str]) -> None:
    """Gives `input` editing, history and completion of the names; without Python's readline, nothing."""
    with suppress(ImportError):
        import readline

        def found(text: str, number: int) -> str | None:
            return dict(enumerate(f"{name} " for name in names if name.startswith(text))).get(number)

        readline.set_completer(found)
        readline.parse_and_bind("tab: complete")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="gfswitch-cli",
        description="The commands of BMv2's simple_switch_CLI for gfswitch, from standard input.",
        epilog="example: gfswitch-cli --thrift-port 9091 < commands.txt",
    )
    add = parser.add_argument
    add("--thrift-port", type=int, default=9090, metavar="PORT", help="the switch's (default: %(default)s)")
    add("--thrift-ip", default="127.0.0.1", metavar="ADDRESS", help="the switch's (default: %(default)s)")
    add("--grpc", metavar="ADDRESS:PORT", help="the switch's P4Runtime, instead of --thrift-port")
    add("--device-id", type=int, default=0, metavar="ID", help="with --grpc (default: %(default)s)")
    add(
        "--control", type=Path, metavar="SOCKET", help="with --grpc: the control socket, for queues and ports"
    )
    add("--json", type=Path, metavar="FILE", help="p4c's JSON, for a switch without P4Info")
    add("--pre", help=argparse.SUPPRESS)  # of BMv2's switches
    return parser


if __name__ == "__main__":
    sys.exit(main())
