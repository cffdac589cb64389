"""One P4Runtime connection to one switch: mastership, pipeline, writes, reads and the packet stream.

finsy's client speaks gRPC. Its Switch class is not used: it waits 10 s after a failure, and a switch that
restarts has to be back in less.
"""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from finsy import GRPCStatusCode, P4ClientError
from finsy.p4client import P4Client
from finsy.proto import U128, p4r

from groupflow.errors import UnavailableError
from groupflow.p4rt.entries import (
    GENERATORS,
    QUEUE_SETTINGS,
    Change,
    Entries,
    Key,
    decode,
    encode,
    extern_wildcards,
    wildcards,
)
from groupflow.p4rt.program import Program

log = logging.getLogger(__name__)

_SEQUENCE, _API, _PORT = 80, 48, 32
"""The lowest bits of the parts of an election id, from which a switch can name the controller that holds it:
a number that grows from start to start, which decides, the address of the controller's API, and its pid."""
_LAST = (1 << 128) - 1

BATCH = 500
"""Updates in one write request: some 60 kB, and a few ms of a switch's time."""
HANDSHAKE_SECONDS = 5.0

_NO_SUCH_EXTERN = (GRPCStatusCode.UNIMPLEMENTED, GRPCStatusCode.INVALID_ARGUMENT, GRPCStatusCode.UNKNOWN)
"""Answers of switches without an extern; BMv2's is UNKNOWN ("Incorrect entity type")."""

MASTERY_ROUNDS = 3
"""Number of bids, each higher than the last."""


class PacketIn(NamedTuple):
    port: int
    reason: int
    frame: bytes


class PacketOut(NamedTuple):
    port: int
    inject: bool
    """whether the frame runs through the pipeline, as a RESET does"""
    frame: bytes


def metadata_of(program: Program, packet: PacketOut) -> list[tuple[int, bytes]]:
    """Numbers and values of the fields that go to the switch with a packet."""
    values = {"egress_port": packet.port, "inject": int(packet.inject)}
    return [
        (field.id, values.get(name, 0).to_bytes((field.bitwidth + 7) // 8, "big"))
        for name, field in program.packet_out.items()
    ]


def packet_in(program: Program, metadata: Mapping[int, bytes], frame: bytes) -> PacketIn:
    """A packet of a switch, with the fields that came with it, by number."""
    fields = (program.packet_in[name].id for name in ("ingress_port", "reason"))
    port, reason = (int.from_bytes(metadata.get(number, b""), "big") for number in fields)
    return PacketIn(port, reason, frame)


class ConnectionFailedError(UnavailableError):
    """The connection failed or ended. The text is one line."""


class TakenError(ConnectionFailedError):
    """Another controller is primary."""


class Connection(Protocol):
    """The operations that a device needs of its switch; tests put a fake in its place."""

    has_traffic_manager: bool
    """whether queues and packet generators can be set; not on BMv2"""

    async def write(self, changes: Sequence[Change]) -> dict[Key, str]: ...
    async def read(self) -> Entries: ...
    async def query(self, entities: Sequence[p4r.Entity]) -> list[p4r.Entity]: ...
    async def send(self, packet: PacketOut) -> None: ...
    def packets(self) -> AsyncIterator[PacketIn]: ...
    async def close(self) -> None: ...


class P4RuntimeConnection:
    """A connection of which this controller is the primary. Made by `connect`."""

    def __init__(
        self, address: str, device_id: int, program: Program, election_id: int, *, take_over: bool = False
    ) -> None:
        """`take_over`: also from a primary that is alive."""
        self._take_over = take_over
        self._client = P4Client(address, wait_for_ready=False)
        self._device_id = device_id
        self._program = program
        self.election_id = election_id
        self.installed_pipeline = False
        self.has_traffic_manager = True

    async def open(self) -> None:
        """Becomes primary, and installs the pipeline if the switch runs another."""
        await self._client.open(complete_request=None)
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            await self._become_primary()
        await self._install_pipeline()

    async def write(self, changes: Sequence[Change]) -> dict[Key, str]:
        """Carries out changes in order. Returns the reasons of those that the switch refused.

        Queues and generators are left out for a switch without a traffic manager.
        """
        if not self.has_traffic_manager:
            changes = [change for change in changes if change.key.table not in (QUEUE_SETTINGS, GENERATORS)]
        refusals = await self.update([encode(self._program, change) for change in changes])
        return {changes[index].key: message for index, message in refusals.items()}

    async def update(self, updates: Sequence[p4r.Update]) -> dict[int, str]:
        """Carries out updates in order. Returns the reasons of those that the switch refused, by index."""
        refusals: dict[int, str] = {}
        for start in range(0, len(updates), BATCH):
            batch = updates[start : start + BATCH]
            request = p4r.WriteRequest(
                device_id=self._device_id, election_id=U128.encode(self.election_id), updates=batch
            )
            try:
                await self._client.request(request)
            except P4ClientError as error:
                if not error.details:
                    raise
                refusals |= {
                    start + index: detail.message or detail.canonical_code.name
                    for index, detail in error.details.items()
                    if index < len(batch)
                }
        return refusals

    async def read(self) -> Entries:
        """Every entry of our tables, every multicast group, and the settings of the traffic manager."""
        found = await self.query(wildcards(self._program))
        try:
            found += await self.query(extern_wildcards())
        except P4ClientError as error:
            if error.code not in _NO_SUCH_EXTERN:
                raise
            self.has_traffic_manager = False
        return decode(self._program, found)

    async def query(self, entities: Sequence[p4r.Entity]) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=self._device_id, entities=entities)
        return [entity async for reply in self._client.request_iter(request) for entity in reply.entities]

    async def send(self, packet: PacketOut) -> None:
        message = p4r.PacketOut(payload=packet.frame)
        for number, value in metadata_of(self._program, packet):
            message.metadata.add(metadata_id=number, value=value)
        await self._client.send(p4r.StreamMessageRequest(packet=message))

    async def packets(self) -> AsyncIterator[PacketIn]:
        """Packet-ins, until the connection ends or another controller takes mastership."""
        while True:
            message = await self._client.receive()
            if message.HasField("packet"):
                metadata = {item.metadata_id: item.value for item in message.packet.metadata}
                yield packet_in(self._program, metadata, message.packet.payload)
            elif message.HasField("arbitration"):
                if message.arbitration.status.code != GRPCStatusCode.OK:
                    primary = holder(U128.decode(message.arbitration.election_id))
                    raise ConnectionFailedError(f"{primary} took mastership")
            elif message.HasField("error"):
                log.warning("stream error device_id=%d message=%s", self._device_id, message.error.message)

    async def close(self) -> None:
        await self._client.close()

    async def _become_primary(self) -> None:
        """Looks who is primary, without an election id, and then bids; another controller is outbid only to
        take over, or when it is gone."""
        code, highest = await self._arbitrate(None)
        for _ in range(MASTERY_ROUNDS):
            if code == GRPCStatusCode.ALREADY_EXISTS and not self._take_over:
                raise TakenError(f"{holder(highest)} is primary; stop it, or take over with --take-over")
            self.election_id = outbid(self.election_id, highest)
            code, highest = await self._arbitrate(self.election_id)
            if code == GRPCStatusCode.OK:
                return
        raise ConnectionFailedError("the switch makes no controller primary")

    async def _arbitrate(self, election_id: int | None) -> tuple[int, int]:
        """The switch's answer to a bid, and the highest election id that it has seen."""
        update = p4r.MasterArbitrationUpdate(device_id=self._device_id)
        if election_id is not None:
            update.election_id.CopyFrom(U128.encode(election_id))
        await self._client.send(p4r.StreamMessageRequest(arbitration=update))
        reply = await self._client.receive()
        while not reply.HasField("arbitration"):
            reply = await self._client.receive()
        return reply.arbitration.status.code, U128.decode(reply.arbitration.election_id)

    async def _install_pipeline(self) -> None:
        try:
            reply = await self._client.request(
                p4r.GetForwardingPipelineConfigRequest(
                    device_id=self._device_id,
                    response_type=p4r.GetForwardingPipelineConfigRequest.ResponseType.COOKIE_ONLY,
                )
            )
            if reply.config.cookie.cookie == self._program.cookie:
                return
        except P4ClientError as error:
            if error.code not in (GRPCStatusCode.FAILED_PRECONDITION, GRPCStatusCode.NOT_FOUND):
                raise
        await self._client.request(
            p4r.SetForwardingPipelineConfigRequest(
                device_id=self._device_id,
                election_id=U128.encode(self.election_id),
                action=p4r.SetForwardingPipelineConfigRequest.Action.VERIFY_AND_COMMIT,
                config=p4r.ForwardingPipelineConfig(
                    p4info=self._program.p4info,
                    p4_device_config=self._program.blob,
                    cookie=p4r.ForwardingPipelineConfig.Cookie(cookie=self._program.cookie),
                ),
            )
        )
        self.installed_pipeline = True


async def connect(
    address: str, device_id: int, program: Program, election_id: int, *, take_over: bool = False
) -> P4RuntimeConnection:
    """A connection ready for use. Raises ConnectionFailedError, TakenError."""
    connection = P4RuntimeConnection(address, device_id, program, election_id, take_over=take_over)
    try:
        await connection.open()
    except BaseException as error:
        await connection.close()
        if isinstance(error, P4ClientError):
            raise ConnectionFailedError(describe(error)) from None
        if isinstance(error, TimeoutError):
            raise ConnectionFailedError("no answer to the handshake") from None
        raise
    return connection


def describe(error: P4ClientError) -> str:
    """A gRPC failure in one line."""
    return f"{error.code.name}: {error.message}".splitlines()[0]


def election_id(sequence: int, api: tuple[str, int] | None, pid: int) -> int:
    """`api` is None for a controller whose API has no IPv4 address."""
    try:
        address, port = (int(IPv4Address(api[0])), api[1]) if api else (0, 0)
    except ValueError:
        address, port = 0, 0
    return sequence << _SEQUENCE | address << _API | port << _PORT | pid


def sequence_of(election: int) -> int:
    return election >> _SEQUENCE


def outbid(own: int, highest: int) -> int:
    """An election id of the same controller, above another."""
    if own > highest:
        return own
    if sequence_of(own) == 0:
        return min(highest + 1, _LAST)
    return min((sequence_of(highest) + 1) << _SEQUENCE, _LAST) | own & ((1 << _SEQUENCE) - 1)


def holder(election: int) -> str:
    """The controller that has an election id, in words."""
    pid, port = election & ((1 << _PORT) - 1), election >> _PORT & 0xFFFF
    if not (sequence_of(election) and pid):
        return f"another controller (election id {election})"
    if not port:
        return f"the controller with pid {pid}"
    address = IPv4Address(election >> _API & 0xFFFFFFFF)
    return f"the controller with pid {pid}, API http://{address}:{port}"


_SECONDS = 5.0


class ControlError(UnavailableError):
    """A running gfswitch refused a request or did not answer. One line."""


class NotRunningError(ControlError):
    """Nobody answers at a gfswitch's socket."""


def ask(path: Path, question: dict[str, object]) -> dict[str, object]:
    """Sends one request to a running switch. Raises ControlError."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_SECONDS)
            connection.connect(str(path))
            connection.sendall(json.dumps(question).encode() + b"\n")
            with connection.makefile("rb") as replies:
                reply = cast(object, json.loads(replies.readline()))
    except (OSError, ValueError) as error:
        raise NotRunningError(f"gfswitch does not answer: {error}") from None
    if not isinstance(reply, dict):
        raise ControlError(f"gfswitch answered {reply!r}")
    answer = cast(dict[str, object], reply)
    if "error" in answer:
        raise ControlError(str(answer["error"]))
    return answer
