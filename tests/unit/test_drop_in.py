"""Habits of simple_switch_grpc's users: several switches with one device id; the P4Runtime shell."""

import json
import os
import re
import socket
import struct
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from groupflow.agents.agent_process import find_program

PROGRAM = Path(__file__).parents[2] / "dataplane/switch/tests/programs/testbed"
SHELL = os.environ.get("P4RUNTIME_SHELL")
"""the Python of p4runtime-shell's own environment: it wants an older protobuf than this project's packages"""

SCRIPT = """
import os, sys, traceback
import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException

# The shell's threads would keep a script that failed.
sys.excepthook = lambda *error: (traceback.print_exception(*error), os._exit(1))

program, address = sys.argv[1:]
config = sh.FwdPipeConfig(program + ".p4info.txtpb", program + ".json")
sh.setup(device_id=0, grpc_addr=address, election_id=(0, 1), config=config)
exact = sh.TableEntry("TestIngress.destinations")(action="TestIngress.forward")
exact.match["hdr.ethernet.dst"] = "00:00:00:00:00:05"
exact.action["port"], exact.action["priority"] = "2", "1"
exact.insert()
exact.action["port"] = "3"
exact.modify()
rule = sh.TableEntry("TestIngress.rules")(action="TestIngress.tag", priority=3)
rule.match["src"], rule.match["ethertype"] = "00:00:00:00:00:01&&&00:00:00:00:00:ff", "1..5"
rule.match["port"], rule.action["mark"] = "1", "4"
rule.insert()
prefix = sh.TableEntry("TestIngress.prefixes")(action="TestIngress.metered")
prefix.match["hdr.ethernet.src"] = "00:00:00:00:00:00/40"
prefix.insert()
default = sh.TableEntry("TestIngress.destinations")(action="TestIngress.multicast", is_default=True)
default.action["group"] = "7"
default.modify()
counter = sh.CounterEntry("TestIngress.arrivals")
counter.index, counter.packet_count = 1, 5
counter.modify()
meter = sh.MeterEntry("TestIngress.policers")
meter.index, meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 10, 5, 20, 6
meter.modify()
group = sh.MulticastGroupEntry(7)
group.add(1, 1).add(2, 1).insert()
session = sh.CloneSessionEntry(9)
session.add(2, 1).insert()
digest = sh.DigestEntry("learned_t")
digest.ack_timeout_ns, digest.max_timeout_ns, digest.max_list_size = 10**9, 10**6, 5
digest.insert()
sh.PacketOut(bytes(60), egress_port="1").send()
assert not list(sh.PacketIn().sniff(timeout=0.1))
assert [entry.packet_count for entry in counter.read()] == [5]
assert [entry.cir for entry in meter.read()] == [10]
assert [entry.cir for entry in sh.DirectMeterEntry("TestIngress.route_meter").read()] == [0]
assert [entry.priority for entry in sh.TableEntry("TestIngress.rules").read()] == [3]
assert [len(entry.replicas) for entry in sh.MulticastGroupEntry().read()] == [2]
assert [entry.session_id for entry in sh.CloneSessionEntry(9).read()] == [9]
assert len(list(sh.DigestEntry("learned_t").read())) == 1
try:
    rule.insert()
except P4RuntimeWriteException as error:
    assert "ALREADY_EXISTS" in str(error)
else:
    raise AssertionError("the second insert of an entry was taken")
for entity in (exact, rule, prefix, group, session, digest):
    entity.delete()
assert not list(sh.TableEntry("TestIngress.rules").read())
sh.teardown()
print("all done")
"""


@contextmanager
def switch(*arguments: str) -> Generator[tuple[str, str, str]]:
    """A running switch: its addresses of P4Runtime and of its control socket, and the port for Thrift."""
    command = [str(find_program("gfswitch")), "--no-p4", *arguments, "--", "--grpc-server-addr"]
    with subprocess.Popen([*command, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"grpc=(\S+) control=(\S+)(?: thrift=\S+:(\d+))?", line)
            assert found is not None, line
            yield found[1], found[2], found[3]
        finally:
            process.terminate()


def device_of(control: str) -> int:
    stats = [str(find_program("gfswitch")), "stats", "--json", "--socket", control]
    done = subprocess.run(stats, capture_output=True, text=True, check=True, timeout=30)
    return int(json.loads(done.stdout)["device_id"])


def test_switches_with_one_device_id_have_control_sockets_of_their_own() -> None:
    number = os.getpid()
    with switch("--device-id", str(number)) as first, switch("--device-id", str(number)) as second:
        assert first[1] == f"/tmp/gfswitch-{number}.sock"
        assert second[1] != first[1]
        assert device_of(first[1]) == device_of(second[1]) == number
        assert second[0] != first[0]
    assert not Path(second[1]).exists()


def call(name: bytes, number: int) -> bytes:
    return struct.pack(f">II{len(name)}sI", 0x80010001, len(name), name, number)


def answered(client: socket.socket, name: bytes, number: int) -> bytes:
    """The message of the exception that answers a call."""
    client.sendall(call(name, number) + bytes(40))
    answer = client.recv(4096)
    assert answer[:4] == b"\x80\x01\x00\x03", "an exception"
    assert answer[8 : 8 + len(name)] == name
    assert answer[8 + len(name) :][:4] == number.to_bytes(4, "big")
    return answer


@contextmanager
def thrift(*arguments: str) -> Generator[int]:
    """A running switch, by the port that is chosen for Thrift."""
    with switch("--control-socket", "none", "--thrift-port", "0", *arguments) as (*_, port):
        yield int(port)


def test_thrift_calls_are_answered_with_what_to_use_and_where() -> None:
    with thrift("--device-id", "5") as port:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            for number in (7, 8):
                answer = answered(client, b"simple_switch:set_egress_queue_rate", number)
        assert b"use P4Runtime, or gfswitch-cli" in answer
        assert re.search(rb"; device_id=5 grpc=127.0.0.1:\d+ control=none\x08", answer)
        # Bytes that are no call, and a call of too long a name, get no answer and harm nobody.
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b""
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(call(bytes(300), 1))
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b""


def test_idle_thrift_connections_keep_nobody_waiting() -> None:
    with thrift() as port, ExitStack() as stack:

        def connect() -> socket.socket:
            return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))

        idle = [connect() for _ in range(40)]
        assert answered(connect(), b"name", 1)
        # The oldest has given way.
        assert idle[0].recv(1) == b""
        assert answered(idle[-1], b"name", 2)


def test_a_port_in_use_is_blamed_on_its_flag() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [
            str(find_program("gfswitch")),
            "--no-p4",
            "--control-socket",
            "none",
            "--thrift-port",
            port,
        ]
        command += ["--", "--grpc-server-addr", "127.0.0.1:0"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert "choose another --thrift-port" in done.stderr


@pytest.mark.rare
@pytest.mark.skipif(
    SHELL is None,
    reason="$P4RUNTIME_SHELL names no Python for which `pip install p4runtime-shell==0.0.6` was run",
)
def test_the_p4runtime_shell_works() -> None:
    with switch("--control-socket", "none") as (address, *_):
        script = [str(SHELL), "-c", SCRIPT, str(PROGRAM), address]
        done = subprocess.run(script, capture_output=True, text=True, timeout=60)
    assert done.stdout.endswith("all done\n"), done.stdout + done.stderr
