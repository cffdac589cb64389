"""A running switch (gfswitch, simple_switch_grpc, or any behind an address) as `groupflow.Switch`.

It lets one set of P4 tests run on the core in process, on gfswitch, and on the reference switch. A process
has no "advance": after each packet, markers go through every port; frames before the markers are the answer.
"""

from __future__ import annotations

import itertools
import queue
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, SupportsBytes

import finsy as fy
import grpc
import pytest
from finsy.p4entity import decode_entity, encode_entities, encode_updates
from finsy.proto import p4r, p4r_grpc

from groupflow.switch import Output, PacketIn, WriteError
from tests.support.p4.layers import JOIN
from tests.support.p4.network import CPU_PORT, DROP, JSON, P4INFO, frame
from tests.support.wires import Wires

DEADLINE = 10.0  # seconds any single wait may take
MARKER = b"\x02" * 12 + b"\x90\x00" + b"marker"
MARKER_SESSION = 0xABCDE
MARKER_GROUP = "239.10.188.222"


class RemoteSwitch:
    """One P4Runtime connection, one set of wires. Reused by many tests: `clear` empties the switch."""

    def __init__(
        self, wires: Wires, address: str, device_id: int, *, p4info: Path = P4INFO, config: Path = JSON
    ) -> None:
        self._wires = wires
        self._device_id = device_id
        self._schema = fy.P4Schema(p4info)
        self._config = config
        self._numbers = itertools.count(1)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._channel = grpc.insecure_channel(address)
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self.packet_ins: list[PacketIn] = []
        self._waiting: defaultdict[int, deque[bytes]] = defaultdict(deque)
        self._names = self._metadata("packet_in")
        self._out = {name: (i, bits) for i, (name, bits) in self._metadata("packet_out").items()}

    def start(self) -> None:
        """Connects, becomes primary and installs the program."""
        grpc.channel_ready_future(self._channel).result(timeout=DEADLINE)
        arbitration = p4r.MasterArbitrationUpdate(device_id=self._device_id)
        arbitration.election_id.low = 1
        self._stream = self._stub.StreamChannel(self._outgoing())
        self._requests.put(p4r.StreamMessageRequest(arbitration=arbitration))
        answer = next(self._stream)
        assert answer.arbitration.status.code == 0, answer
        self.load()

    def load(self) -> None:
        """Installs the program anew: no entries, registers are 0."""
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self._device_id,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=p4r.ForwardingPipelineConfig(
                p4info=self._schema.p4info, p4_device_config=self._config.read_bytes()
            ),
        )
        request.election_id.low = 1
        self._stub.SetForwardingPipelineConfig(request)

    def _outgoing(self) -> Iterator[p4r.StreamMessageRequest]:
        while (request := self._requests.get()) is not None:
            yield request

    def write(self, updates: Iterable[Any]) -> None:
        """Like `Switch.write`."""
        messages = encode_updates(list(updates), self._schema)
        updates = [m for m in messages if isinstance(m, p4r.Update)]
        request = p4r.WriteRequest(device_id=self._device_id, updates=updates)
        request.election_id.low = 1
        try:
            self._stub.Write(request)
        except grpc.RpcError as error:
            raise WriteError([(0, 2, str(error))]) from error

    def read(self, entities: Any) -> list[Any]:
        """Like `Switch.read`."""
        wanted = encode_entities([entities], self._schema)
        request = p4r.ReadRequest(device_id=self._device_id, entities=wanted)
        return [
            decode_entity(e, self._schema) for answer in self._stub.Read(request) for e in answer.entities
        ]

    def packet_out(self, payload: bytes | SupportsBytes, now_ns: int = 0, **metadata: int) -> None:
        """Like `Switch.packet_out`; time is real."""
        del now_ns
        if unknown := set(metadata) - set(self._out):
            raise ValueError(f"packet_out has no field {', '.join(sorted(unknown))}")
        if missing := set(self._out) - set(metadata):
            raise ValueError(f"packet_out needs {', '.join(sorted(missing))}")
        packet = p4r.PacketOut(payload=bytes(payload))
        for name, value in metadata.items():
            data = value.to_bytes(2, "big").lstrip(b"\0") or b"\0"
            packet.metadata.add(metadata_id=self._out[name][0], value=data)
        self._requests.put(p4r.StreamMessageRequest(packet=packet))

    def inject(self, port: int, packet: bytes | SupportsBytes, now_ns: int = 0) -> None:
        """Like `Switch.inject`; time is real."""
        del now_ns
        if len(bytes(packet)) < 14:
            pytest.skip("no interface carries a frame shorter than an Ethernet header")
        self._wires.send(port, bytes(packet))

    def advance(self, now_ns: int) -> list[Output]:
        """Frames that left before the markers that are sent now.

        Wires and packet-outs reach the switch by different ways. The first markers follow earlier
        packet-outs, then come markers on the wires, behind earlier frames, and the last ones push out those
        frames' results.
        """
        del now_ns
        before = self._flush()
        number = next(self._numbers)
        for port in self._wires.ports:
            behind = frame(port, JOIN, session=MARKER_SESSION, seq=number, dst=MARKER_GROUP)
            self._wires.send(port, bytes(behind))
        self._collect_packet_ins(number)
        return before + self._flush()

    def run_unmarked(self, port: int, packet: bytes) -> list[Output]:
        """Like `run` under entries that may drop markers on the wires: the port's counter tells when the
        frame has passed ingress."""
        before = self._arrived(port)
        self.inject(port, packet)
        end = time.monotonic() + DEADLINE
        while self._arrived(port) == before:
            if time.monotonic() > end:
                raise TimeoutError(f"no frame arrived on port {port}: {self.problem()}")
        return self.advance_unmarked()

    def advance_unmarked(self) -> list[Output]:
        """The frames that left, and the packet-ins, before a marker from the controller out of every port."""
        frames = self._flush()
        marker = MARKER + next(self._numbers).to_bytes(8, "big").rjust(40, b"\0")
        self.packet_out(marker, egress_port=CPU_PORT, inject=0, padding=0)
        while (packet := self._packet_in()).payload != marker:
            self.packet_ins.append(packet)
        return frames

    def _arrived(self, port: int) -> int:
        (entry,) = self.read(fy.P4CounterEntry("port_in", index=port))
        return int(entry.packet_count)

    def _packet_in(self) -> PacketIn:
        while not (answer := next(self._stream)).HasField("packet"):
            pass
        fields = answer.packet.metadata
        metadata = {self._names[m.metadata_id][0]: int.from_bytes(m.value, "big") for m in fields}
        return PacketIn(answer.packet.payload, metadata)

    def _flush(self) -> list[Output]:
        """Sends a marker out of every port. Returns the frames that left before."""
        marker = MARKER + next(self._numbers).to_bytes(8, "big").rjust(40, b"\0")
        for port in self._wires.ports:
            self.packet_out(marker, egress_port=port, inject=0, padding=0)
        return [output for port in self._wires.ports for output in self._until(port, marker)]

    def run(self, port: int, packet: bytes | SupportsBytes, now_ns: int = 0) -> list[Output]:
        """Like `Switch.run`."""
        self.inject(port, packet)
        return self.advance(now_ns)

    def _collect_packet_ins(self, number: int) -> None:
        """Packet-ins up to the markers: each marker is behind the packet-ins that its port sent before."""
        pending = len(self._wires.ports)
        while pending:
            packet = self._packet_in()
            if packet.payload[46:50] == MARKER_SESSION.to_bytes(4, "big"):
                pending -= packet.payload[54:58] == number.to_bytes(4, "big")
            else:
                self.packet_ins.append(packet)

    def _until(self, port: int, marker: bytes) -> Iterator[Output]:
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            waiting = self._waiting[port]
            waiting += self._wires.received(port)
            while waiting:  # what is behind the marker stays for the next call
                data = waiting.popleft()
                if data == marker:
                    return
                if not data.startswith(MARKER):
                    yield Output(port, 0, data)
            time.sleep(0.0005)  # a poll, not a wait: the loop's deadline is what ends it
        raise TimeoutError(f"no marker on port {port}: {self.problem()}")

    def clear(self) -> None:
        """Removes every entry, sets the counters of drops and refusals to 0, forgets packets.

        Registers keep their values: P4Runtime cannot write them on BMv2, so tests start with a RESET.
        """
        self.packet_ins.clear()
        wanted = p4r.ReadRequest(device_id=self._device_id)
        for table in self._schema.p4info.tables:
            wanted.entities.add().table_entry.table_id = table.preamble.id
        wanted.entities.add().packet_replication_engine_entry.multicast_group_entry.SetInParent()
        request = p4r.WriteRequest(device_id=self._device_id)
        request.election_id.low = 1
        for answer in self._stub.Read(wanted):
            for entity in answer.entities:
                request.updates.add(type=p4r.Update.DELETE, entity=entity)
        if request.updates:
            self._stub.Write(request)
        counted = [("drops", index) for index in DROP.values()]
        counted += [("refusals", port) for port in self._wires.ports]
        counted += [("absorbed", 0), ("own_repairs", 0)]
        self.write([~fy.P4CounterEntry(name, index=i, data=fy.P4CounterData()) for name, i in counted])

    def problem(self) -> str:
        """A word about a switch that does not answer."""
        return "the switch may be gone, or the wire"

    def stop(self) -> None:
        """Ends the connection."""
        self._requests.put(None)
        self._channel.close()

    def _metadata(self, header: str) -> dict[int, tuple[str, int]]:
        for info in self._schema.p4info.controller_packet_metadata:
            if info.preamble.name == header:
                return {field.id: (field.name, field.bitwidth) for field in info.metadata}
        return {}


class ProcessSwitch(RemoteSwitch):
    """A switch that is a process of the tests."""

    def __init__(
        self, command: list[str], wires: Wires, address: str, device_id: int, **program: Path
    ) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        super().__init__(wires, address, device_id, **program)

    def problem(self) -> str:
        """The last messages of a process that has ended; None: it runs."""
        code = self._process.poll()
        stderr = self._process.stderr
        return (
            "running" if code is None or stderr is None else f"exit {code}: {stderr.read().decode()[-300:]}"
        )

    def stop(self) -> None:
        """Ends the connection and the process."""
        super().stop()
        self._process.terminate()
        try:
            self._process.wait(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()


def gfswitch_command(wires: Wires, grpc_port: int) -> list[str]:
    """gfswitch without a program."""
    program = Path(sys.executable).parent / "gfswitch"
    return [str(program), *_interfaces(wires), "--device-id", "1", "--no-p4", "--control-socket", "none",
            "--", "--grpc-server-addr", f"127.0.0.1:{grpc_port}", "--cpu-port", "510",
            "--priority-queues", "8"]  # fmt: skip


def bmv2_command(wires: Wires, grpc_port: int, thrift_port: int = 9190) -> list[str]:
    """simple_switch_grpc without a program."""
    return ["simple_switch_grpc", *_interfaces(wires), "--device-id", "1", "--no-p4",
            "--thrift-port", str(thrift_port), "--", "--grpc-server-addr", f"127.0.0.1:{grpc_port}",
            "--cpu-port", "510", "--priority-queues", "8"]  # fmt: skip


def _interfaces(wires: Wires) -> list[str]:
    """The `-i PORT@IFACE` arguments both take."""
    return [argument for port in wires.ports for argument in ("-i", f"{port}@{wires.switch_end(port)}")]
