"""`gfswitch-cli` beside real switches: gfswitch, and BMv2 with its own CLI where both are installed."""

import asyncio
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest
from finsy.p4client import P4Client
from finsy.proto import U128, p4r

from groupflow.agents.agent_process import find_program
from groupflow.bmv2.main import main
from tests.support.waiting import until

HERE = Path(__file__).parent
PROGRAMS = Path(__file__).parents[3] / "dataplane/switch/tests/programs"
BMV2_PORT = "19190"
SCRIPTS = ("testbed", "references")
"""programs, and files of commands with their output"""
DUMP = "table_dump destinations\n"


@contextmanager
def switch(*arguments: str) -> Generator[tuple[str, str]]:
    """A running gfswitch: its addresses of P4Runtime and for Thrift."""
    command = [str(find_program("gfswitch")), *arguments, "--control-socket", "none", "--thrift-port", "0"]
    command += ["--log-level", "error", "--", "--grpc-server-addr", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"grpc=(\S+) .*thrift=\S+:(\d+)", line)
            assert found is not None, line
            yield found[1], found[2]
        finally:
            process.terminate()


def program(name: str) -> list[str]:
    return [str(PROGRAMS / f"{name}.json"), "--p4info", str(PROGRAMS / f"{name}.p4info.txtpb")]


def run(thrift: str, commands: str) -> str:
    """The output of a run."""
    output = io.StringIO()
    with patch("sys.stdin", io.StringIO(commands)), redirect_stdout(output):
        assert main(["--thrift-port", thrift]) == 0
    return output.getvalue()


async def run_apart(thrift: str, commands: str) -> str:
    """The output of a run in a process of its own, since gRPC does not like a second event loop in one."""
    line = [sys.executable, "-m", "groupflow.bmv2.main", "--thrift-port", thrift]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*line, stdin=pipe, stdout=pipe)
    output, _ = await process.communicate(commands.encode())
    assert process.returncode == 0
    return output.decode()


@contextmanager
def bmv2(name: str) -> Generator[None]:
    command = ["simple_switch", "--thrift-port", BMV2_PORT, "--log-console", str(PROGRAMS / f"{name}.json")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def of_bmv2(commands: str) -> str:
    line = ["simple_switch_CLI", "--thrift-port", BMV2_PORT]
    done = subprocess.run(line, input=commands, capture_output=True, text=True, timeout=60)
    return done.stdout[done.stdout.find("RuntimeCmd:") :]


def plain(output: str) -> list[str]:
    """Lines without the ends of lines, and without the names of keys, which P4 programs may change."""
    lines = [re.sub(r"^\* \S+ *:", "* :", " ".join(line.split())) for line in output.splitlines()]
    return [line for line in lines if line]


def golden(name: str) -> str:
    return (HERE / f"{name}.output").read_text()


@pytest.mark.parametrize("name", SCRIPTS)
def test_commands_do_and_say_what_they_do_on_bmv2(name: str) -> None:
    with switch(*program(name)) as (_, thrift):
        assert plain(run(thrift, (HERE / f"{name}.commands").read_text())) == plain(golden(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.skipif(
    not (shutil.which("simple_switch") and shutil.which("simple_switch_CLI")),
    reason="simple_switch and simple_switch_CLI (BMv2) are not installed",
)
async def test_the_outputs_are_bmv2s(name: str) -> None:
    with bmv2(name):
        await until(lambda: of_bmv2(""), "BMv2")
        assert plain(of_bmv2((HERE / f"{name}.commands").read_text())) == plain(golden(name))


def test_a_program_without_p4info_has_the_one_of_its_json() -> None:
    with switch(str(PROGRAMS / "testbed.json")) as (_, thrift):
        added = run(thrift, "table_add destinations forward 5 => 2 1\n")
        assert "Entry has been added with handle 0" in added
        assert run(thrift, "table_num_entries destinations\n") == "RuntimeCmd: 1\nRuntimeCmd: \n"


def test_a_table_of_2016_holds_its_profile(tmp_path: Path) -> None:
    form = json.loads((PROGRAMS / "references.json").read_text())
    for pipeline in form["pipelines"]:
        profiles = {profile["name"]: profile for profile in pipeline.pop("action_profiles")}
        for table in pipeline["tables"]:
            if name := table.pop("action_profile", None):
                table |= {**profiles[name], **table, "act_prof_name": name}
    old = tmp_path / "old.json"
    old.write_text(json.dumps(form))
    commands = (
        "act_prof_create_group choices\nact_prof_create_member choices mark 7\n"
        "act_prof_add_member_to_group choices 0 0\ntable_indirect_add_with_group pairs 3 => 0\n"
    )
    with switch(str(old)) as (_, thrift):
        assert "Entry has been added with handle 0" in run(thrift, commands)


def test_mirroring_follows_the_group_until_the_end_of_the_run() -> None:
    made = "mc_mgrp_create 1\nmc_node_create 0 2\nmc_node_associate 1 0\n"
    with switch(*program("testbed")) as (_, thrift):
        later = run(
            thrift,
            f"{made}mirroring_add_mc 5 1\nmc_node_update 0 2 3\nmirroring_get 5\n"
            "mirroring_add 5 4\nmc_node_update 0 6\nmirroring_get 5\n",
        )
    assert re.findall(r"port=([^)]*), mgid", later) == ["[2, 3]", "4"]


def test_handles_and_nodes_outlive_the_run() -> None:
    with switch(*program("testbed")) as (_, thrift):
        run(
            thrift,
            "table_add destinations forward 5 => 2 1\ntable_add destinations forward 6 => 2 1\n"
            "table_delete destinations 0\nmc_mgrp_create 1\nmc_node_create 4 1 2\nmc_node_associate 1 0\n",
        )
        later = run(thrift, "table_dump destinations\nmc_dump\nmc_node_create 5 3\n")
        assert "Dumping entry 0x1\n" in later
        assert "Dumping entry 0x0\n" not in later
        assert "(L1h=0, rid=4) -> (ports=[1, 2], lags=[])" in later
        assert "node was created with handle 1" in later
        again = run(thrift, "table_add destinations forward 7 => 2 1\ntable_delete destinations 1\n")
        assert "Entry has been added with handle 0" in again
        assert run(thrift, "table_num_entries destinations\n").startswith("RuntimeCmd: 1\n")


@pytest.mark.slow
async def test_a_controller_keeps_its_role_and_its_entries_have_handles() -> None:
    with switch(*program("testbed")) as (grpc, thrift):
        async with P4Client(grpc) as client:
            bid = p4r.MasterArbitrationUpdate(device_id=0, election_id=U128.encode(1))
            await client.send(p4r.StreamMessageRequest(arbitration=bid))
            assert (await client.receive()).arbitration.status.code == 0
            added = await run_apart(thrift, "table_add destinations forward 9 => 2 1\n")
            assert "handle 0" in added
            request = p4r.GetForwardingPipelineConfigRequest(device_id=0)
            info = (await client.request(request)).config.p4info
            table = next(each for each in info.tables if each.preamble.alias == "destinations")
            action = next(each for each in info.actions if each.preamble.alias == "drop")
            entry = p4r.TableEntry(table_id=table.preamble.id, metadata=b"mine")
            entry.match.add(field_id=1).exact.value = b"\x05"
            entry.action.action.action_id = action.preamble.id
            update = p4r.Update(type=p4r.Update.INSERT, entity=p4r.Entity(table_entry=entry))
            await client.request(p4r.WriteRequest(device_id=0, election_id=U128.encode(1), updates=[update]))
        own, other = re.findall(r"Dumping entry (0x\w+)", await run_apart(thrift, DUMP))
        assert own == "0x0"
        assert int(other, 16) >= 1 << 24
        left = await run_apart(thrift, f"{DUMP}table_delete destinations {other}\n{DUMP}")
        assert re.findall(r"Dumping entry (0x\w+)", left) == [own, other, own]


def test_what_is_not_offered_is_refused_in_one_line_with_a_cure() -> None:
    commands = (
        "port_add eth0 3\nload_new_config_file x.json\nfrobnicate\ntable_add\n# a comment\n// another\n\n"
        "   # indented\nset_queue_rate 5\nmc_mgrp_create 0\nmc_node_create 1 2 | 3\nmirroring_add x 1\n"
    )
    with switch(*program("testbed")) as (_, thrift):
        lines = run(thrift, commands).replace("RuntimeCmd: ", "").strip().splitlines()
    assert lines == [
        "Error: port_add: gfswitch does not have this command; ports are named when gfswitch starts, as in"
        " -i 3@veth3; a port that was removed comes back by `gfswitch link 3 up`",
        "Error: load_new_config_file: gfswitch does not have this command; set the pipeline over P4Runtime",
        "Error: frobnicate: gfswitch does not have this command; see `help`",
        "Error: table_add: the arguments are TABLE ACTION KEY... => [PARAMETER...] [PRIORITY]",
        "Error: the switch has no control socket, or --control does not name it",
        "Creating multicast group 0",
        "Error: multicast group 0: multicast_group_id: it is not between 1 and 65535",
        "Error: gfswitch has no link aggregation groups: list their ports",
        "Error: Bad format for mirror_id, expected integer",
    ]


def test_no_number_ends_the_run() -> None:
    digits = "9" * 5000  # more than Python converts
    numbers = ("x", "-1", "1e3", str(1 << 60), str(1 << 200), digits)
    commands = [
        "table_delete rules N", "table_modify rules tag N 1", "table_dump_entry rules N",
        "table_set_timeout rules N 1", "table_add rules tag N&&&1 0->1 0&&&0 => 1 1",
        "table_add rules tag 1&&&1 N->1 0&&&0 => 1 1", "table_add rules tag 0&&&0 0->1 0&&&0 => N 1",
        "table_add rules tag 0&&&0 0->1 0&&&0 => 1 N", "table_add prefixes metered 1/N =>",
        "mc_mgrp_create N", "mc_node_create N 1", "mc_node_create 1 N", "mc_node_associate 1 N",
        "mirroring_add N 1", "mirroring_add 1 N", "mirroring_get N", "mirroring_add_mc 1 N",
        "counter_read arrivals N", "counter_write arrivals N 1 1", "counter_write arrivals 1 N 1",
        "meter_set_rates policers N 1:1 1:1", "meter_set_rates policers 1 N:1 N:1",
        "meter_set_rates policers 1 1:1 1:N", "register_read cells N", "register_write cells N 1",
        "register_write cells 1 N", "set_queue_rate N", "port_remove N",
    ]  # fmt: skip
    # Some take a fraction or a large number, none takes these.
    wrong = ("x", "-1", str(1 << 200), digits)
    lines = [command.replace("N", number) for command in commands for number in numbers]
    with switch(*program("testbed")) as (_, thrift):
        answers = run(thrift, "".join(f"{line}\n" for line in lines)).split("RuntimeCmd: ")[1:-1]
    for line, answer in zip(lines, answers, strict=True):
        refused = "Error: " in answer or "Invalid " in answer
        assert refused or not any(number in line.split() for number in wrong), line


def test_a_refused_change_leaves_what_later_commands_send() -> None:
    commands = (
        "table_add destinations forward 5 => 2 1\ntable_set_timeout destinations 0 5000\n"
        "table_modify destinations forward 0 3 1\ntable_dump_entry destinations 0\n"
    )
    with switch(*program("testbed")) as (_, thrift):
        output = run(thrift, commands)
    assert output.count("Error: ") == output.count("there is no idle timeout here") == 1
    assert "Action entry: TestIngress.forward - 03, 01" in output


def test_repeated_commands_and_wrong_handles_get_bmv2s_answers() -> None:
    """As seen on BMv2, in November 2026."""
    commands = {
        "act_prof_create_group choices": "Group has been created with handle 0",
        "act_prof_add_member_to_group choices 0 0": "Invalid table operation (INVALID_MBR_HANDLE)",
        "act_prof_create_member choices mark 7": "Member has been created with handle 0",
        "act_prof_add_member_to_group  choices 0 0": "",
        "act_prof_add_member_to_group choices  0 0": "Invalid table operation (MBR_ALREADY_IN_GRP)",
        "act_prof_delete_member choices 0": "Invalid table operation (MBR_STILL_USED)",
        "act_prof_delete_member choices 5": "Invalid table operation (INVALID_MBR_HANDLE)",
        "table_indirect_add_with_group pairs 3 => 0": "Entry has been added with handle 0",
        "act_prof_delete_group choices 0": "Invalid table operation (GRP_STILL_USED)",
        "act_prof_delete_group choices 5": "Invalid table operation (INVALID_GRP_HANDLE)",
        "mc_mgrp_create 1": "Creating multicast group 1",
        "mc_mgrp_create  1": "Creating multicast group 1",
        "mc_node_associate 2 0": "Invalid PRE operation (INVALID_MGRP_HANDLE)",
    }
    with switch(*program("references")) as (_, thrift):
        answers = run(thrift, "".join(f"{line}\n" for line in commands)).split("RuntimeCmd: ")[1:-1]
    assert ["".join(answer.splitlines()[-1:]) for answer in answers] == [*commands.values()]


def test_the_end_of_the_switch_ends_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        grpc, thrift = stack.enter_context(switch(*program("testbed")))
        lines = iter(["mc_dump", "table_num_entries destinations", "show_tables"])

        def line(_: str) -> str:
            """The next command; the switch has ended at the second."""
            found = next(lines)
            if found.startswith("table_num"):
                stack.close()
            return found

        with patch("builtins.input", line):
            assert main(["--thrift-port", thrift]) == 1
    output, error = capsys.readouterr()
    assert output.startswith("==========\nMC ENTRIES\n")
    assert "TestIngress" not in output
    assert error.startswith(f"gfswitch-cli: the connection to {grpc} is lost: UNAVAILABLE: ")


def test_a_reader_that_has_enough_ends_the_run() -> None:
    with switch(*program("testbed")) as (_, thrift), patch("sys.stderr", io.StringIO()) as error:
        with patch("builtins.print", side_effect=BrokenPipeError):
            assert run(thrift, "mc_dump\n") == "RuntimeCmd: "
        assert error.closed


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--thrift-ip", "..é"], 4, "no switch at ..é:9090: it is no name of a host"),
        (["--grpc", "127.0.0.1:1", "--device-id", "-1"], 2, "argument --device-id: -1 is not between"),
    ],
)
def test_addresses_that_nothing_can_have_are_refused(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        found: object = main(arguments)
    except SystemExit as done:
        found = done.code
    assert found == code
    assert capsys.readouterr().err.startswith(f"gfswitch-cli: {said}")


def test_a_switch_that_is_not_there_ends_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--thrift-port", "1"]) == 4
    cure = "start gfswitch with --thrift-port 1, or name its P4Runtime with --grpc"
    said = f"gfswitch-cli: no switch at 127.0.0.1:1: connection refused; {cure}\n"
    assert capsys.readouterr() == ("", said)
