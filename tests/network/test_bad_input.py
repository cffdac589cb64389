"""Bad input gets one clear line and a non-zero exit, from every command that may get it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from groupflow.agents.agent_process import find_program
from groupflow.agents.errors import AgentError
from groupflow.errors import InvalidError
from groupflow.lab.controller_process import SessionAccess
from groupflow.lab.network import running
from tests.network.harness import NOBODY, Lab
from tests.support.tokens import token_file

ROOT = Path(__file__).parents[2]
GROUPFLOW = (sys.executable, "-m", "groupflow.cli.main")


def run(*command: str, host: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*host, *command], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False, env=os.environ
    )


def one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """The command failed, with one line that contains these words."""
    assert done.returncode not in (0, -6, -11, 101), done
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert all(word in lines[0] for word in words), lines[0]


def test_the_demo_without_root() -> None:
    one_line(run(*NOBODY, *GROUPFLOW, "demo"), "root", "sudo")


def test_the_demo_without_its_file() -> None:
    one_line(run(*GROUPFLOW, "demo", "--file", "/nonexistent"), "/nonexistent: no such file")


def test_send_without_its_file(pair: Lab) -> None:
    host = pair.network.hosts["ma1"].launcher()
    one_line(
        run(*GROUPFLOW, "session", "send", "7", "--file", "/nonexistent", host=host),
        "/nonexistent: no such file",
    )


WORDS = {"wrong token": "the token does not let", "unknown session": "no session 16000000"}


@pytest.mark.parametrize("kind", WORDS)
async def test_whoever_may_not_join_is_refused(pair: Lab, kind: str) -> None:
    session = pair.session()
    if kind == "wrong token":
        session = SessionAccess(session.id, "00" * 16)
    else:
        session = SessionAccess(16_000_000, session.token)
    async with pair.receiver(session, "mb1") as agent:
        with pytest.raises(AgentError) as refused:
            await agent.wait_for("joined")
    assert WORDS[kind] in str(refused.value)
    assert (refused.value.code, refused.value.exit_code) == ("refused", 4)
    host = pair.network.hosts["mb1"].launcher()
    words = ("session", "recv", str(session.id), "--token-file", token_file(session.token))
    done = run(*GROUPFLOW, *words, host=host)
    assert done.returncode == 4
    one_line(done, WORDS[kind])


def test_two_networks_of_the_same_name(pair: Lab, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="belongs to another run"), running(pair.topology, tmp_path):
        pass


def test_a_switch_whose_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        address = f"127.0.0.1:{port}"
        done = run(
            str(find_program("gfswitch")),
            "--no-p4",
            "--grpc-server-addr",
            address,
            "--control-socket",
            "none",
        )
    one_line(done, str(port))


def test_a_controller_whose_port_is_taken(pair: Lab) -> None:
    address = pair.controller.url.removeprefix("http://")
    topology = pair.folder / "logs" / "topology.yaml"
    one_line(run(*GROUPFLOW, "controller", "run", "--topology", str(topology), "--listen", address), address)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("switches: {s1: {device_id: 1, grpc: 9561}}\nhosts: {s1: {ip: 10.0.0.1/24}}\n", "duplicate name"),
        (
            "switches: {s1: {device_id: 1, grpc: 9561}}\nhosts: {h1: {ip: 10.0.0.1/24}}\n"
            "links: [{ends: [h1, s9]}]\n",
            "no host or switch 's9'",
        ),
        ("switches: [", "valid YAML"),
    ],
)
def test_a_bad_topology(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    one_line(run(*GROUPFLOW, "controller", "run", "--topology", str(file)), "bad.yaml", words)


@pytest.mark.parametrize("text", ["", "{}", "[1, 2", '{"parsers": 3}', "\0\1\2"])
def test_a_program_that_is_not_p4cs(tmp_path: Path, text: str) -> None:
    file = tmp_path / "program.json"
    file.write_text(text)
    one_line(
        run(
            str(find_program("gfswitch")), str(file), "--grpc-server-addr", "none", "--control-socket", "none"
        ),
        "program.json",
    )


def test_a_p4info_that_does_not_match(tmp_path: Path) -> None:
    p4info = (ROOT / "p4src/build/groupflow.p4info.txtpb").read_text().replace("ipv4_route", "other_route")
    file = tmp_path / "other.p4info.txtpb"
    file.write_text(p4info)
    program = ROOT / "p4src/build/groupflow.json"
    command = [str(find_program("gfswitch")), "--p4info", str(file), "--grpc-server-addr", "none"]
    one_line(run(*command, "--control-socket", "none", str(program)), "ipv4_route of the program is not in")
