"""Clients that want all there is of gfswitch: it goes on with its controller, and its memory is bounded."""

import json
import re
import resource
import socket
import subprocess
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from finsy.proto import U128, p4i, p4r, p4r_grpc
from google.protobuf import text_format

from groupflow.agents.agent_process import find_program
from tests.support.p4.network import BUILD

PROGRAM = BUILD.parents[1] / "dataplane" / "switch" / "tests" / "programs" / "testbed"
TABLE, FORWARD = "TestIngress.destinations", "TestIngress.forward"
ENTRIES = 50_000
MIB = 1 << 20
DEADLINE = 60.0  # seconds any single wait may take
LAST = (1 << 128) - 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


class Client:
    """A connection of its own, with one stream."""

    def __init__(self, address: str) -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        self.channel = grpc.insecure_channel(address, options)
        self.stub = p4r_grpc.P4RuntimeStub(self.channel)
        self._requests = SimpleQueue[p4r.StreamMessageRequest | None]()
        self.stream: Any = self.stub.StreamChannel(iter(self._requests.get, None))

    def arbitrate(self, election_id: int | None) -> int:
        """The code of the answer."""
        update = p4r.MasterArbitrationUpdate()
        if election_id is not None:
            update.election_id.CopyFrom(U128.encode(election_id))
        self._requests.put(p4r.StreamMessageRequest(arbitration=update))
        return next(self.stream).arbitration.status.code

    def close(self) -> None:
        self._requests.put(None)
        self.channel.close()


class Switch:
    """A gfswitch without interfaces."""

    def __init__(self, process: subprocess.Popen[str], address: str, control: Path) -> None:
        self.process, self.address, self.control = process, address, control
        self.stack = ExitStack()
        config = json.loads(PROGRAM.with_suffix(".json").read_text())
        self.p4info = text_format.Parse(PROGRAM.with_suffix(".p4info.txtpb").read_text(), p4i.P4Info())
        table = next(table for table in self.p4info.tables if table.preamble.name == TABLE)
        table.size = 2 * ENTRIES
        self.table = table.preamble.id
        for pipeline in config["pipelines"]:
            for known in pipeline["tables"]:
                known["max_size"] = 2 * ENTRIES if known["name"] == TABLE else known["max_size"]
        self.json = json.dumps(config).encode()

    def client(self) -> Client:
        client = Client(self.address)
        self.stack.callback(client.close)
        return client

    def controller(self, election_id: int = 10) -> Client:
        """The primary, which has installed the program."""
        client = self.client()
        assert client.arbitrate(election_id) == 0
        request = p4r.SetForwardingPipelineConfigRequest()
        request.action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        request.election_id.CopyFrom(U128.encode(election_id))
        request.config.p4info.CopyFrom(self.p4info)
        request.config.p4_device_config = self.json
        client.stub.SetForwardingPipelineConfig(request, timeout=DEADLINE)
        return client

    def entry(self, mac: int, metadata: bytes = b"") -> p4r.Update:
        ids = {action.preamble.name: action.preamble.id for action in self.p4info.actions}
        update = p4r.Update(type=p4r.Update.INSERT)
        entry = update.entity.table_entry
        entry.table_id, entry.metadata = self.table, metadata
        entry.match.add(field_id=1).exact.value = mac.to_bytes(6)
        entry.action.action.action_id = ids[FORWARD]
        for number in (1, 2):
            entry.action.action.params.add(param_id=number, value=b"\1")
        return update

    def write(self, client: Client, updates: list[p4r.Update], election_id: int = 10) -> None:
        request = p4r.WriteRequest(updates=updates)
        request.election_id.CopyFrom(U128.encode(election_id))
        client.stub.Write(request, timeout=DEADLINE)

    def fill(self, client: Client, metadata: bytes = b"") -> None:
        for first in range(0, ENTRIES, 1000):
            self.write(client, [self.entry(mac, metadata) for mac in range(first, first + 1000)])

    def read(self, client: Client) -> Iterator[p4r.ReadResponse]:
        request = p4r.ReadRequest()
        request.entities.add().table_entry.table_id = self.table
        return client.stub.Read(request, timeout=DEADLINE)

    def mib(self, field: str = "VmHWM") -> int:
        """Its memory, at its peak or now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(rf"{field}:\s+(\d+) kB", status)[0]) * 1024 // MIB

    def from_now(self) -> int:
        """Forgets the peak; the memory now."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        return self.mib()

    def works_with(self, client: Client) -> None:
        """The controller that was primary before still is, and its writes are done."""
        self.write(client, [self.entry((1 << 48) - 1)])
        deletion = self.entry((1 << 48) - 1)
        deletion.type = p4r.Update.DELETE
        self.write(client, [deletion])
        assert self.process.poll() is None


@contextmanager
def running(folder: Path, *, files: int = 4096) -> Generator[Switch]:
    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    control = folder / "switch.sock"
    command = [str(find_program("gfswitch")), "--no-p4", "--control-socket", str(control)]
    with subprocess.Popen(
        [*command, "--grpc-server-addr", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=bound,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            found = re.search(r"grpc=(\S+)", process.stdout.readline())
            assert found is not None
            switch = Switch(process, found[1], control)
            with switch.stack:
                yield switch
        finally:
            process.terminate()


@pytest.fixture
def switch(tmp_path: Path) -> Generator[Switch]:
    with running(tmp_path) as switch:
        yield switch


def refused(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as error:
        call()
    return error.value.code()  # pyright: ignore


def test_a_read_of_50_000_entries_takes_little_more_than_its_bytes(
    switch: Switch, record_property: Any
) -> None:
    client = switch.controller()
    switch.fill(client)
    before = switch.from_now()
    answers = list(switch.read(client))
    assert sum(len(answer.entities) for answer in answers) == ENTRIES
    answer = sum(answer.ByteSize() for answer in answers) / MIB
    record_property("MiB", (before, switch.mib(), answer))
    assert switch.mib() - before < 3 * answer + 8
    switch.works_with(client)


def test_20_readers_that_do_not_read_take_bounded_memory(switch: Switch, record_property: Any) -> None:
    client = switch.controller()
    switch.fill(client)
    before = switch.from_now()
    _waiting = [(reader := switch.client(), [switch.read(reader) for _ in range(4)]) for _ in range(20)]
    assert sum(len(answer.entities) for answer in switch.read(client)) == ENTRIES, "the oldest give way"
    record_property("MiB", (before, switch.mib()))
    assert switch.mib() - before < 300
    switch.works_with(client)


@pytest.mark.parametrize("said", [b"", PREFACE])
def test_connections_beyond_the_file_limit_end_nothing(tmp_path: Path, said: bytes) -> None:
    with running(tmp_path, files=64) as switch:
        client = switch.controller()
        host, _, port = switch.address.rpartition(":")
        with ExitStack() as strangers:
            for _ in range(300):
                stranger = strangers.enter_context(socket.create_connection((host, int(port)), DEADLINE))
                stranger.sendall(said)
            switch.works_with(client)
        newcomer = switch.client()
        assert newcomer.arbitrate(11) == 0
        assert next(client.stream).arbitration.status.code == 6


@pytest.mark.parametrize("bid", [None, 0])
def test_strangers_streams_leave_room_for_a_controller(switch: Switch, bid: int | None) -> None:
    strangers = list[Client]()
    for number in range(64):
        strangers.append(switch.client())
        strangers[-1].arbitrate(None if bid is None else bid + number)
    client = switch.controller(100)
    switch.write(client, [switch.entry(1)], 100)
    backup = switch.client()
    assert backup.arbitrate(99) == 6
    assert refused(lambda: list(strangers[0].stream)) == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_the_owner_takes_the_role_from_a_stranger_with_the_largest_id(switch: Switch) -> None:
    client = switch.controller()
    stranger = switch.client()
    assert stranger.arbitrate(LAST) == 0
    assert next(client.stream).arbitration.status.code == 6
    assert refused(lambda: switch.write(client, [switch.entry(1)])) == grpc.StatusCode.PERMISSION_DENIED
    depose = [str(find_program("gfswitch")), "depose", "--socket", str(switch.control)]
    subprocess.run(depose, check=True)
    assert refused(lambda: list(stranger.stream)) == grpc.StatusCode.PERMISSION_DENIED
    assert next(client.stream).arbitration.status.code == 5
    assert client.arbitrate(10) == 0
    switch.works_with(client)


def test_metadata_of_entries_is_bounded(switch: Switch, record_property: Any) -> None:
    client = switch.controller()
    assert refused(lambda: switch.write(client, [switch.entry(1, bytes(MIB))])) == grpc.StatusCode.UNKNOWN
    before = switch.from_now()
    switch.fill(client, bytes(4096))
    record_property("MiB", (before, switch.mib()))
    assert switch.mib() - before < 300
    switch.works_with(client)


class Unfinished:
    """A connection with so many calls of Write, each of which keeps the end of a large message back."""

    def __init__(self, address: str, calls: int) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), DEADLINE)
        self.credit = 65535  # HTTP/2's, of the connection
        self.first = 65535
        self.credits = dict.fromkeys(range(1, 2 * calls, 2), 0)
        self.ended = set[int]()
        self.socket.sendall(PREFACE)
        head = b"\x83\x86" + _field(b"\x04", b"/p4.v1.P4Runtime/Write") + _field(b"\x01", address.encode())
        head += _field(b"\x0f\x10", b"application/grpc") + _field(b"\x00\x02te", b"trailers")
        self._read_frame()  # its settings
        for stream in self.credits:
            self._send(1, 4, stream, head)
            self.credits[stream] = self.first
            self._write(stream, b"\0" + (63 * MIB).to_bytes(4))

    def go_on(self, size: int) -> None:
        """Sends so many bytes of each call, as far as they are taken."""
        for stream in self.credits:
            left = size
            while left > 0 and stream not in self.ended:
                left -= self._write(stream, bytes(min(left, 16384)))

    def _write(self, stream: int, data: bytes) -> int:
        while stream not in self.ended and min(self.credit, self.credits[stream]) < len(data):
            self._read_frame()
        if stream not in self.ended:
            self._send(0, 0, stream, data)
            self.credit -= len(data)
            self.credits[stream] -= len(data)
        return len(data)

    def _send(self, kind: int, flags: int, stream: int, data: bytes) -> None:
        self.socket.sendall(len(data).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + data)

    def _read_frame(self) -> None:
        head = self._read(9)
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:])
        data = self._read(int.from_bytes(head[:3]))
        if kind == 8 and stream == 0:
            self.credit += int.from_bytes(data)
        elif kind == 8:
            self.credits[stream] += int.from_bytes(data)
        elif kind == 4 and not flags & 1:
            settings = (data[at : at + 6] for at in range(0, len(data), 6))
            self.first = next((int.from_bytes(s[2:]) for s in settings if s[:2] == b"\0\4"), self.first)
            self._send(4, 1, 0, b"")
        elif kind == 3 or (kind == 1 and flags & 1):  # reset, or its answer ends
            self.ended.add(stream)
        assert kind != 7, data  # the connection ends

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            assert more, "closed"
            data += more
        return data


def _field(name: bytes, value: bytes) -> bytes:
    """A header field of HTTP/2, neither compressed nor remembered."""
    return name + bytes((len(value),)) + value


def test_messages_that_do_not_end_take_bounded_memory(switch: Switch, record_property: Any) -> None:
    client = switch.controller()
    before = switch.from_now()
    stranger = Unfinished(switch.address, 32)
    with stranger.socket:
        stranger.go_on(62 * MIB)
        record_property("MiB", (before, switch.mib(), len(stranger.ended)))
        assert stranger.ended
        assert switch.mib() - before < 700
        switch.works_with(client)
    switch.fill(client)  # there is room again
