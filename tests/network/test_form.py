"""Own programs, schedules, captures and programs in hosts, as a topology's file asks for them."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.network.harness import NOBODY
from tests.network.test_net import COMMAND, FAILED, INVALID, net, up
from tests.support import exercise
from tests.support.capture import read_capture
from tests.support.waiting import wait_until

HALL = """
name: hall
defaults: {link: {rate: 20mbit, delay: 1ms}}
switches:
  s{1..2}: {device_id: "{1..2}", grpc: "{9561..9562}"}
hosts:
  h1: {ip: 10.0.1.1/24}
  h{2..3}: {ip: "10.0.{2..3}.1/24", programs: [touch up-$GROUPFLOW_NAME]}
links:
  - {ends: [h1, s1]}
  - {ends: [s1, s2], schedule: [{at: 1s, delay: 100ms}]}
  - {ends: ["h{2..3}", s2]}
pcap: [s2]
"""
NO_RIGHT = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a topology and an exercise in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hall.yaml").write_text(HALL)
    exercise.write(tmp_path)
    return tmp_path


@pytest.fixture
def sudo(monkeypatch: pytest.MonkeyPatch) -> Generator[int]:
    """The user who called sudo."""
    monkeypatch.setenv("SUDO_UID", "12345")
    monkeypatch.setenv("SUDO_GID", "12345")
    yield 12345


def prompt(*words: str, commands: tuple[str, ...]) -> str:
    """The output of a network's prompt, errors included. Its commands come from a file."""
    with tempfile.TemporaryFile("w+") as file:
        file.writelines(f"{command}\n" for command in (*commands, "exit"))
        file.seek(0)
        done = subprocess.run(
            [*COMMAND, "up", *words, "--cli"],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
            check=False,
            env={name: value for name, value in os.environ.items() if name != "DISPLAY"},
        )
    assert done.returncode == 0, done.stdout
    return done.stdout


def round_trip_ms() -> float:
    told = net("exec", "h1", "ping", "-c1", "-W3", "10.0.2.1")
    found = re.search(r"time=([0-9.]+) ms", told)
    return float(found[1]) if found else 0.0


def test_an_exercise_runs_its_own_program_with_its_entries(folder: Path) -> None:
    words = ("topo/topology.json", "--p4", "build/basic.json", "--pcap", "caps")
    told = prompt(*words, commands=("pingall", "h1 arp -n"))
    assert "controller: none" in told
    assert "0% dropped (6/6 received)" in told
    assert "08:00:00:00:01:00" in told, "the gateway's address is known without asking"
    assert len([*folder.glob("caps/s*-eth*.pcapng")]) == 5
    assert (folder / "caps/groupflow.lua").is_file(), "the dissector is beside them"
    seen = read_capture(folder / "caps/s1-eth1.pcapng")
    assert "in port 1: to port 2" in {frame.comment for frame in seen if frame.inbound}
    assert "out port 1" in {frame.comment for frame in seen if not frame.inbound}


def test_a_switch_that_starts_again_has_its_entries_and_its_captures(folder: Path) -> None:
    words = ("topo/topology.json", "--p4", "build/basic.json", "--pcap", "caps")
    file = folder / "topo/s1-runtime.json"
    groups = {
        "multicast_group_entries": [{"multicast_group_id": 5, "replicas": [{"egress_port": 1}]}],
        "clone_session_entries": [{"clone_session_id": 9, "replicas": [{"egress_port": 2}]}],
    }
    file.write_text(json.dumps(json.loads(file.read_text()) | groups))
    told = prompt(
        *words,
        commands=(
            *(
                "link s1 s2 loss=0.5%",
                "switch s1 stop",
                "link s1-p3 down",
                "link s1 s2 down",
                "switch s1 start",
            ),
            *("links", "h1 ping -c1 -W1 h3", "link s1 s2 up,loss=0", "pingall"),
            *("py s1.daemon.kill()", "switch s1 start", "pingall", "switch s1 start"),
        ),
    )
    assert "s1: stopped" in told
    assert told.count("s1: started; 6 entries written again") == 2, "also when it was killed"
    assert "groupflow: s1 does not run; it gets the change when it starts" in told
    assert re.search(r"s1-s2 +down +\S+ +\S+ +0.005 ", told)
    assert "100% packet loss" in told
    assert told.count("0% dropped (6/6 received)") == 2
    assert "s1 runs already" in told
    kept = {path.name for path in folder.glob("caps/s1-eth1*")}
    assert kept == {"s1-eth1.1.pcapng", "s1-eth1.2.pcapng", "s1-eth1.pcapng"}


def test_ones_own_controller_finds_the_switches_free(folder: Path) -> None:
    script = Path(__file__).parents[1] / "support/bid.py"
    with up("topo/topology.json", "--p4", "build/basic.json"):
        told = net("exec", "s1", sys.executable, str(script), "127.0.0.1:50051", "0", "1")
    assert told == "primary\n"


def test_schedules_programs_and_captures(folder: Path, sudo: int) -> None:
    other = folder / "out/net/hall/other"
    other.parent.mkdir(parents=True)
    other.touch()
    os.utime(other, (1, 1))
    os.chown(other.parent, sudo, sudo)
    with up("hall.yaml"):
        wait_until(lambda: (folder / "up-h2").exists() and (folder / "up-h3").exists())
        wait_until(lambda: 202 <= round_trip_ms() < 300)  # 100 ms each way, and 4 of the hosts' links
        assert (folder / "out/net/hall/s1.log").stat().st_uid == sudo
    owners = {path.lstat().st_uid for path in folder.glob("out/net/hall/**/*") if path != other}
    assert owners == {sudo}
    assert other.stat().st_uid == 0, "an old file of root's stays root's"
    assert {path.name.split("-")[0] for path in folder.glob("out/net/hall/pcap/*.pcapng")} == {"s2"}


def test_a_program_that_fails_is_told(folder: Path) -> None:
    text = HALL.replace("touch up-$GROUPFLOW_NAME", "exit 7")
    (folder / "hall.yaml").write_text(text)
    command = [*COMMAND, "up", "hall.yaml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert re.match(
            r"groupflow: h2 \(exit 7\) \(pid \d+\) exited with status 7", process.stderr.readline()
        )
        process.terminate()


def test_a_second_controller_is_told_of_the_first(folder: Path) -> None:
    second = [*COMMAND[:-1], "controller", "run", "--topology", "hall.yaml", "--listen", "127.0.0.1:9777"]
    enter = [*COMMAND, "exec", "s1", *second]
    with up("hall.yaml"):
        (state,) = json.loads(net("list", "--json"))
        done = subprocess.run(enter, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 1
        error = re.escape(f"API {state['api']} is primary; stop it, or take over with --take-over")
        assert re.fullmatch(
            rf"groupflow: switch s[12]: the controller with pid \d+, {error}", done.stderr.splitlines()[-1]
        )
        assert json.loads(net("show", "--json"))["health"]["switches_up"] == 2
        taking = subprocess.Popen([*enter, "--take-over"], stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: json.loads(net("show", "--json"))["health"]["switches_up"] == 0)
            problems = [each["problem"] for each in json.loads(net("show", "--json"))["switches"]]
            assert all(f"pid {taking.pid}" in problem for problem in problems), problems
        finally:
            taking.terminate()
            taking.wait(20)
        wait_until(lambda: json.loads(net("show", "--json"))["health"]["switches_up"] == 2)


def test_all_verbs_of_mininet_work(folder: Path) -> None:
    (folder / "f.bin").write_bytes(os.urandom(30_000))
    (folder / "more").write_text("nodes\n")
    told = prompt(
        "hall.yaml",
        commands=(
            *("nodes", "net", "links", "dump", "intfs", "ports", "wait", "help", "sh echo out-of-it"),
            *("pingpair", "pingpairfull", "pingallfull", "iperfudp 500k h1 h2", "dpctl stats"),
            *("switch s2 stop", "h1 ping -c1 -W1 h2", "switch s2 start", "py h1.IP()", "px print(h2.MAC())"),
            *("time nodes", "source more", "noecho h1 echo quiet", "x h1", "gterm h1", "h1 ls /nowhere"),
            *(
                "groupflow session create 7",
                "recv 7 h2 h3",
                "send h1 f.bin 7",
                "recv 9 h2",
                "recv",
                "recv 7 h9",
            ),
            *("recv 7 h9", "send h1 f.bin 9", "iperf h1 h9"),
        ),
    )
    for expected in (
        *("available nodes are: \nh1 h2 h3 s1 s2\n", "h1-eth0 s1-eth1", "out-of-it", "UDP from h1 to"),
        *("*** s2 ---", "device 2  up", "1 packets transmitted, 0 received", "02:00:0a:00:02:01"),
        *("h1->h2: 1/1, rtt", "Elapsed time", "quiet", "session 7: 30000 bytes to", "no session 9"),
        *("write: recv 7 h2 h3;", "no host h9", "write: iperf h1 h2;", "10.0.1.1\n", "no display: log in"),
    ):
        assert expected in told, expected
    assert "Traceback" not in told
    for name in ("h2", "h3"):
        assert (folder / f"out/net/hall/{name}-session7").read_bytes() == (folder / "f.bin").read_bytes()


def entries(old: str, new: str) -> Callable[[Path], None]:
    """Spoils a switch's entries."""

    def spoil(folder: Path) -> None:
        file = folder / "topo/s2-runtime.json"
        file.write_text(file.read_text().replace(old, new))

    return spoil


def hall(old: str, new: str) -> Callable[[Path], None]:
    """Spoils the topology."""

    def spoil(folder: Path) -> None:
        (folder / "hall.yaml").write_text(HALL.replace(old, new, 1))

    return spoil


def empty_program(folder: Path) -> None:
    (folder / "empty.json").write_text('{"pipelines": []}')


def nothing(_: Path) -> None:
    """The mistake is in the words."""


TOPO = "topo/topology.json"
OWN = (TOPO, "--p4", "build/basic.json")
BAD: list[tuple[Callable[[Path], None], tuple[str, ...], str]] = [
    (nothing, (TOPO, "--p4", "no.json"), "--p4 no.json: no such file or directory; name prog.p4"),
    (nothing, ("hall.yaml", "--p4", TOPO), "topology.json: no program; name prog.p4, or its prog.json"),
    (empty_program, ("hall.yaml", "--p4", "empty.json"), "empty.json: not p4c's BMv2 JSON: "),
    (entries("10.0.1.1", "10.0.2.2"), OWN, "entry 3 of 4 is refused: table"),
    (hall("h{2..3}:", "h{2..x}:"), ("hall.yaml",), "'{2..x}' is no range; write one like {1..5}"),
    (hall("delay: 100ms", "dealy: 1s"), ("hall.yaml",), "links[1].schedule[0].dealy: unknown key"),
    (
        hall("programs: [touch up-$GROUPFLOW_NAME]", "commands: [nowhere x]"),
        ("hall.yaml",),
        "h2: nowhere x: failed: ",
    ),
    (hall("1/24}", "1/24, gateway: 10.0.1.2}"), ("hall.yaml",), "h1's gateway is not of groupflow's program"),
    (
        nothing,
        ("hall.yaml", "--switch", "bmv2"),
        "hall has a schedule, for which only gfswitch emulates links",
    ),
]
FAILURES = ("h2: ", "h1's ", "hall ")
"""of a network that was begun; all others are refused before"""


@pytest.mark.parametrize(("spoil", "words", "error"), BAD, ids=[error[:40] for *_, error in BAD])
def test_a_mistake_is_one_line(
    folder: Path, spoil: Callable[[Path], None], words: tuple[str, ...], error: str
) -> None:
    """The fixture of all tests here looks for processes, interfaces and namespaces."""
    spoil(folder)
    told = net("up", *words, code=FAILED if error.startswith(FAILURES) else INVALID)
    assert error in told
    assert len(told.splitlines()) == 1
    assert net("list", "--json").strip() == "[]"


RIGHTS = [(NO_RIGHT, "no right to make namespaces"), (NOBODY, "use sudo")]


def test_mininet_does_not_wait_for_a_host_that_could_not_be_made(folder: Path) -> None:
    """Of the lab without `net up`, as experiments use it."""
    script = "import sys; from pathlib import Path; from groupflow.lab.network import running; "
    script += "from groupflow.files.topology import load; running(load('fig5'), Path('logs')).__enter__()"
    command = [*NO_RIGHT, sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert "Error: no right to make namespaces here (" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(("launcher", "error"), RIGHTS)
def test_without_rights(folder: Path, launcher: tuple[str, ...], error: str) -> None:
    done = subprocess.run(
        [*launcher, *COMMAND, "up", "fig5"], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert error in done.stderr
    assert len(done.stderr.splitlines()) == 1
