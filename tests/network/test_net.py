"""`groupflow net`: a stranger's network comes up with one command, is seen, used, and leaves nothing."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from groupflow.agents.agent_process import find_program
from groupflow.errors import Kind
from tests.support.waiting import wait_until

HALL = """
name: hall
defaults: {link: {rate: 20mbit, delay: 1ms}}
switches:
  s1: {device_id: 1, grpc: 9561, agent: c1}
  s2: {device_id: 2, grpc: 9562}
hosts:
  h1: {ip: 10.0.1.1/24}
  h2: {ip: 10.0.2.1/24}
  h3: {ip: 10.0.3.1/24}
  c1: {ip: 10.0.101.1/24}
links:
  - {ends: [h1, s1]}
  - {ends: [s1, s2]}
  - {ends: [h2, s2]}
  - {ends: [h3, s2]}
  - {ends: [c1, s1], rate: unlimited, delay: 0ms}
"""
TOKENS = Path("/run/groupflow/api")
NAMES = Path("/run/groupflow/networks")
GFSWITCH = str(find_program("gfswitch"))
COMMAND = (sys.executable, "-m", "groupflow.cli.main", "net")
FAILED, INVALID, USAGE = (kind.exit_code for kind in (Kind.FAILED, Kind.INVALID, Kind.USAGE))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a topology in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hall.yaml").write_text(HALL)
    return tmp_path


def net(*words: str, code: int = 0) -> str:
    """Output of a command that ends with `code`: of stderr when it fails."""
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if code else done.stdout


@contextmanager
def up(*words: str, stderr: int | None = None) -> Generator[subprocess.Popen[str]]:
    command = [*COMMAND, "up", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            assert re.search(r"switch(es)? \(gfswitch\)", first), first
            yield process
        finally:
            process.terminate()
            process.wait(20)


def test_two_networks_side_by_side(folder: Path) -> None:
    with up("hall.yaml"), up("hall.yaml", "--name", "barn") as barn:
        listed = json.loads(net("list", "--json"))
        assert [each["name"] for each in listed] == ["barn", "hall"]
        assert len({each["api"] for each in listed}) == 2
        for name in ("hall", "barn"):
            assert " 0% packet loss" in net("exec", "--net", name, "h1", "ping", "-c1", "-W3", "10.0.2.1")
            state = json.loads(net("show", name, "--json"))
            assert state["health"]["switches_up"] == 2
            caches = [agent["host"] for agent in state["agents"] if agent["kind"] == "cache"]
            assert caches == ["c1"]
        assert "s2-eth1" in net("exec", "--net", "barn", "s1", "ip", "-br", "link")
        assert "name one of barn, hall" in net("show", code=4)
        assert "runs already" in net("up", "hall.yaml", code=4)
        assert "no node h9" in net("exec", "--net", "hall", "h9", "true", code=4)
        assert len(list(TOKENS.iterdir())) == 2
        stats = net("exec", "--net", "hall", "s1", GFSWITCH, "stats", "--json", "--device-id", "2")
        assert json.loads(stats)["device_id"] == 2
        net("down", "barn")
        assert barn.wait(20) == 0
        assert net("exec", "h1", "sh", "-c", "echo $GROUPFLOW_NAME") == "h1\n"
    assert "no network runs" in net("show", code=4)
    assert net("list", "--json").strip() == "[]"
    assert not list(TOKENS.iterdir())


def test_a_prompt_ends_with_its_network_and_its_programs(folder: Path) -> None:
    command = [*COMMAND, "up", "hall.yaml", "--cli"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("h1 sleep 1000 &\nh2 iperf3 -s -D\n")
        process.stdin.flush()
        assert "switches (gfswitch)" in process.stdout.readline()
        beside = subprocess.Popen([*COMMAND, "exec", "s1", "sleep", "1000"])
        net("down", "hall")
        assert process.wait(20) == 0
        assert beside.wait(20) == -signal.SIGKILL


def test_a_killed_controller_is_started_again_with_its_sessions(folder: Path) -> None:
    """Whatever ends a network, its name's file goes with it."""
    with up("hall.yaml", "--record", "hall.rec", stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        subprocess.run([*COMMAND[:-1], "session", "create", "7"], check=True, capture_output=True)
        pid = int(subprocess.check_output(["pgrep", "-f", "controller run --topology"]))
        os.kill(pid, signal.SIGKILL)
        told = process.stderr.readline()
        assert f"controller (pid {pid}) was ended by signal 9; " in told
        assert "started again, with its sessions" in told
        wait_until(lambda: [each["id"] for each in status()["sessions"]] == [7])
        wait_until(lambda: [each["state"] for each in status()["agents"]] == ["up", "up"])
        assert (folder / f"hall.{pid}.rec").exists() and (folder / "hall.rec").exists()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert not list(NAMES.glob("*.json"))


def test_a_killed_controller_is_started_again_at_an_idle_prompt(folder: Path) -> None:
    pipe = subprocess.PIPE
    command = [*COMMAND, "up", "hall.yaml", "--cli"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "switches (gfswitch)" in process.stdout.readline()
        try:
            for _ in range(2):
                pid = int(subprocess.check_output(["pgrep", "-f", "controller run --topology"]))
                os.kill(pid, signal.SIGKILL)
                assert "started again, with its sessions" in process.stderr.readline()
                wait_until(lambda: [each["state"] for each in status()["agents"]] == ["up", "up"])
        finally:
            process.terminate()
            assert process.wait(20) == 0


def status() -> dict[str, list[dict[str, object]]]:
    """Of the only network, by its controller; nothing while that is being started again."""
    done = subprocess.run([*COMMAND, "show", "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {"sessions": [], "agents": []}


def test_nothing_is_left_of_a_killed_network(folder: Path) -> None:
    """The fixture of all tests here looks for processes, interfaces and namespaces."""
    with up("hall.yaml") as process:
        process.send_signal(signal.SIGKILL)
    assert net("list", "--json").strip() == "[]"


def test_the_prompt_has_mininets_commands_and_ours(folder: Path) -> None:
    (folder / "f.bin").write_bytes(os.urandom(300_000))
    commands = (
        *("h1 tcpdump --version", "pingall", "iperf h1 h3", "send h1 f.bin h2 h3", "sessions", "status"),
        *("link s1 s2 down", "h1 ping -c1 -W1 h2", "iperf h1 h2", "link s1 s2 up", "h1 ping -c1 -W3 h2"),
        *("link s1 s9 down", "exit"),
    )
    done = subprocess.run(
        [*COMMAND, "up", "hall.yaml", "--cli"],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for expected in (
        *("0% dropped (12/12 received)", "TCP from h1 to h3: ", "300000 bytes to h2 h3 in", "libpcap"),
        *("2 of 2 switches up", "100% packet loss", " 0% packet loss"),
    ):
        assert expected in done.stdout + done.stderr
    assert "no link s1-s9; links are h1-s1, " in done.stderr
    assert "iperf3: h1 does not reach h2" in done.stderr
    for name in ("h2", "h3"):
        assert (folder / f"out/net/hall/{name}-f.bin").read_bytes() == (folder / "f.bin").read_bytes()


MISTAKES = (
    *("source nosuch", "x h9", "h1 ( asdf", 'h1 echo "a', "h1 cat <<E", "h1 exit", "h1 kill -9 $$", "h1 cat"),
    *("h1 exec true", "s1 exit", "h1 bash", "py exit()", "px import sys; sys.exit(3)", "switch s1 start"),
    *(
        "dpctl dump-flows",
        "time source nosuch",
        "noecho h1 cat",
        "sh cat",
        "link s1 h1 rate=0",
        "send h1 /tmp",
    ),
    *('send h1 "a b', "trace s9", "groupflow 'a", "pingall 1 2 3", "h1 sleep 100 &", "EOF_", "'", "\udcff"),
)


def test_no_mistake_at_the_prompt_ends_or_stops_the_network(folder: Path) -> None:
    (folder / "a b.txt").write_text("some bytes\n")
    (folder / "more").write_text("h2 exit\nh2 cat\n")
    lines = [line for number, each in enumerate(MISTAKES) for line in (each, f"sh echo mark {number}")]
    lines += ["source more", 'send h1 "a b.txt" h2', "h1 hostname -I", "exit"]
    done = subprocess.run(
        [*COMMAND, "up", "hall.yaml", "--cli"],
        input="\n".join(lines).encode(errors="surrogateescape"),
        capture_output=True,
        timeout=120,
        check=False,
    )
    told = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, told
    assert told.count("mark ") == len(MISTAKES)
    assert "Traceback" not in told
    assert "11 bytes to h2" in told and (folder / "out/net/hall/h2-a b.txt").exists()
    assert "10.0.1.1" in told.splitlines()[-1] or "10.0.1.1 " in told, "the host is as it was"


def test_links_are_changed_and_shown_from_outside(folder: Path) -> None:
    with up("hall.yaml"):
        told = net("set", "s1-eth2", "rate=1mbit", "delay=7ms", "loss=2%", "down")
        assert told.splitlines()[1].split()[:6] == ["s1-s2", "down", "1mbit", "7ms", "0.02", "200"]
        shown = [line.split() for line in (net("set") + net("show")).splitlines()]
        assert shown.count(told.splitlines()[1].split()) == 2
        net("exec", "h2", "ip", "link", "set", "h2-eth0", "down")
        assert [row["link"] for row in json.loads(net("set", "--json")) if row["state"] != "up"] == [
            "s1-s2",
            "h2-s2",
        ]
        net("set", "s1-s2", "up", "loss=0")
        assert " up " in net("set", "s1-s2")
        assert "no link s1-s9" in net("set", "s1-s9", "down", code=INVALID)


def test_programs_know_where_they_run(folder: Path) -> None:
    text = HALL.replace("h1: {", "h1: {tcp: reno, ").replace("name: hall", "name: hall\ntcp: cubic")
    (folder / "hall.yaml").write_text(text)
    with up("hall.yaml"):
        assert " 0% packet loss" in net("exec", "h1", "ping", "-c1", "-W3", "h2")
        assert net("exec", "s2", "getent", "hosts", "h3").split() == ["10.0.3.1", "h3"]
        assert net("exec", "h3", "sh", "-c", 'echo "$PS1$GROUPFLOW_NAME"') == "(h3) # h3\n"
        shell = ["script", "-qec", f"{' '.join(COMMAND)} exec h2 bash", "/dev/null"]
        assert (
            "(h2) "
            in subprocess.run(shell, input=b"exit\n", capture_output=True, check=False).stdout.decode()
        )
        assert net("exec", "s2", GFSWITCH, "stats").startswith("device 2 ")
        assert net("exec", "s1", GFSWITCH, "stats").startswith("device 1 ")
        tcp = json.loads(net("show", "--json"))["tcp"]
        assert tcp == {"h1": "reno", "h2": "cubic", "h3": "cubic", "c1": "cubic"}
    (folder / "hall.yaml").write_text(HALL.replace("h1: {", "h1: {tcp: nosuch, "))
    assert "tcp: nosuch is none of the kernel's: " in net("up", "hall.yaml", code=FAILED)


def test_a_packet_is_followed_through_all_switches(folder: Path) -> None:
    command = (*COMMAND[:-1], "switch", "trace", "--match", "ipv4.dst=10.0.2.1", "--json")
    with up("hall.yaml"), subprocess.Popen([*COMMAND, "exec", "h1", "ping", "-q", "-i0.1", "h2"]) as pinging:
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        assert [json.loads(line)["switch"] for line in told.splitlines()] == ["s1", "s2"]
        net("set", "s1-s2", "down")
        dropped = subprocess.run(
            [*command, "--dropped"], capture_output=True, text=True, timeout=60, check=True
        )
        assert json.loads(dropped.stdout)["switch"] == "s1"
        pinging.terminate()


def test_a_packets_way_is_traced(folder: Path) -> None:
    command = (*COMMAND[:-1], "switch", "trace", "s1", "--match", "ipv4.protocol=1", "--json")
    with up("hall.yaml"):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tracing:
            assert tracing.stdout is not None
            net("exec", "h1", "ping", "-c", "20", "-i", "0.2", "10.0.2.1")
            trace = json.loads(tracing.stdout.readline())
        assert tracing.wait(10) == 0
        assert trace["verdict"].startswith("to port ") and trace["copies"][0]["verdict"] == "sent"
        routed = [step for step in trace["steps"] if str(step.get("table")).endswith(".ipv4_route")]
        assert routed[0]["hit"] and "stages/forwarding.p4:" in routed[0]["at"]
        wrong = subprocess.run(
            [*command[:-3], "--match", "ipv6.dst=1"], capture_output=True, text=True, check=False
        )
        assert wrong.returncode == 1 and len(wrong.stderr.splitlines()) == 1
        assert "the program extracts no such field; its headers are " in wrong.stderr


def test_a_trace_of_all_packets_slows_no_packet(folder: Path) -> None:
    """Of a reader that reads nothing; later it learns how many packets were not traced, and has enough."""
    pipe = subprocess.PIPE
    command = (*COMMAND[:-1], "switch", "trace", "s1", "--next", "1000000", "--json")
    with up("hall.yaml"), subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as tracing:
        assert tracing.stdout is not None and tracing.stderr is not None
        told = net("exec", "h1", "ping", "-q", "-i", "0.002", "-c", "1000", "-s", "1000", "10.0.2.1")
        assert "1000 received" in told
        with subprocess.Popen(
            [*COMMAND, "exec", "h1", "ping", "-q", "-i", "0.1", "-w", "40", "10.0.2.1"]
        ) as pinging:
            assert any(json.loads(line)["missed"] for line in tracing.stdout)
            tracing.stdout.close()
            assert tracing.wait(20) == 0
            assert tracing.stderr.read().count("\n") <= 1
            pinging.terminate()
        assert "cpu_bound false" in net("exec", "s1", GFSWITCH, "stats", "--device-id", "1")


def test_without_a_controller_switches_have_no_program(folder: Path) -> None:
    with up("hall.yaml", "--no-controller"):
        assert "h1    10.0.1.1/24" in net("show")
        listening = net("exec", "s1", "ss", "-Hltn")
        assert "127.0.0.1:9561" in listening
        assert ":9580" not in listening


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("up", "nothing.yaml"), INVALID, "nothing.yaml: no such file"),
        (("up", "hall.yaml", "--name", "a/b"), INVALID, "--name 'a/b': write letters"),
        # fails within the network's namespaces
        (("up", "hall.yaml", "--out", "hall.yaml"), INVALID, "hall.yaml"),
        (("up", "hall.yaml", "--listen", "192.0.2.1:80"), FAILED, "cannot serve at 192.0.2.1:80"),
        (("up", "hall.yaml", "--listen", "0.0.0.0:0"), USAGE, "the API is not encrypted; write 127.0.0.1:"),
        (("down",), INVALID, "no network runs; start one: groupflow net up FILE.yaml"),
        (("exec", "h1", "true"), INVALID, "no network runs"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, words: tuple[str, ...], code: int, error: str) -> None:
    told = net(*words, code=code)
    assert error in told
    assert len(told.splitlines()) == 1
    assert not TOKENS.is_dir() or not list(TOKENS.iterdir())
