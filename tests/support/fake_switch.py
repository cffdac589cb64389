"""A switch that obeys and records requests, in place of a P4Runtime connection."""

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence

from finsy.proto import p4r

from groupflow._native import parse_control
from groupflow.p4rt.connection import ConnectionFailedError, PacketIn, PacketOut
from groupflow.p4rt.device import PUNT_CONTROL, PUNT_PROBE, PUNT_RESET
from groupflow.p4rt.entries import DELETE, GROUPS, INSERT, Action, Change, Entries, Key, Replicas
from tests.support.wire import Received, read_reply


class FakeSwitch:
    """Outlives its connections, as a switch does. `restart` empties it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: Entries = {}
        self.writes: list[list[Change]] = []
        self.resets: list[tuple[int, int, int]] = []
        self.sent: list[tuple[int, Received]] = []
        """port and reply of each packet-out"""
        self.reachable = True
        self.connections = 0
        self.answers = asyncio.Event()
        """not set: the switch hangs, and carries nothing out"""
        self.answers.set()
        self.refuse: set[str] = set()
        """tables that are full"""
        self.lose_resets = 0
        self.probe_us = 20_000
        """round trip of every link, as probes show it"""
        self.registers: dict[tuple[int, int], int] = {}
        """values by register id and index"""
        self._connection: FakeConnection | None = None

    async def connect(self) -> "FakeConnection":
        if not self.reachable:
            raise ConnectionFailedError(f"{self.name}: connection refused")
        self.connections += 1
        self._connection = FakeConnection(self)
        return self._connection

    def stop(self) -> None:
        """Ends the switch's process: all that it held is gone."""
        self.reachable = False
        self.entries.clear()
        if self._connection is not None:
            self._connection.break_off()
            self._connection = None

    def start(self) -> None:
        self.reachable = True

    def punt(self, port: int, frame: bytes, reason: int = PUNT_CONTROL) -> None:
        """Sends a packet-in."""
        assert self._connection is not None, f"{self.name} is not connected"
        self._connection.deliver(PacketIn(port, reason, frame))

    def table(self, name: str) -> dict[tuple[int, ...], tuple[int, ...]]:
        """A table's parameters by match, or the ports that a group copies to."""
        return {
            key.match: tuple(sorted(port for port, _ in value.copies))
            if isinstance(value, Replicas)
            else tuple(value.params.values())
            if isinstance(value, Action)
            else tuple(hash(part) for part in value)
            for key, value in self.entries.items()
            if key.table == name
        }

    def carry_out(self, changes: Sequence[Change]) -> dict[Key, str]:
        """Carries out a change, as strict as P4Runtime; a stream's groups must exist before it."""
        self.writes.append(list(changes))
        refused: dict[Key, str] = {}
        for change in changes:
            exists = change.key in self.entries
            if change.key.table in self.refuse and change.kind == INSERT:
                refused[change.key] = "table is full"
            elif exists == (change.kind == INSERT):
                refused[change.key] = "exists already" if exists else "not found"
            elif change.kind == DELETE:
                del self.entries[change.key]
            else:
                assert change.value is not None
                self.entries[change.key] = change.value
                self._check_references(change)
        return refused

    def _check_references(self, change: Change) -> None:
        if change.key.table == "streams":
            assert isinstance(change.value, Action)
            groups = [
                group for name, group in change.value.params.items() if name.endswith("_group") and group
            ]
            for group in groups:
                assert Key(GROUPS, (group,)) in self.entries, f"{change.key} names group {group}"
        if isinstance(change.value, Replicas):
            for _, instance in change.value.copies:
                assert Key("neighbours", (instance,)) in self.entries, f"{change.key} names {instance}"


class FakeConnection:
    has_traffic_manager = True

    def __init__(self, switch: FakeSwitch) -> None:
        self._switch = switch
        self._packets: asyncio.Queue[PacketIn | None] = asyncio.Queue()
        self._broken = False

    def deliver(self, packet: PacketIn) -> None:
        self._packets.put_nowait(packet)

    def break_off(self) -> None:
        self._broken = True
        self._packets.put_nowait(None)

    async def write(self, changes: Sequence[Change]) -> dict[Key, str]:
        self._check()
        await asyncio.sleep(0)
        await self._switch.answers.wait()
        return self._switch.carry_out(changes)

    async def read(self) -> Entries:
        self._check()
        return dict(self._switch.entries)

    async def query(self, entities: Sequence[p4r.Entity]) -> list[p4r.Entity]:
        self._check()
        found: list[p4r.Entity] = []
        for entity in entities:
            cell = entity.register_entry
            value = self._switch.registers.get((cell.register_id, cell.index.index))
            if entity.HasField("register_entry") and value is not None:
                answer = p4r.Entity()
                answer.CopyFrom(entity)
                answer.register_entry.data.bitstring = value.to_bytes(4, "big")
                found.append(answer)
        return found

    async def send(self, packet: PacketOut) -> None:
        self._check()
        if not packet.inject and packet.frame[12:14] == b"\x88\xb5":
            times = struct.pack("!II", 2**32 - 5, (self._switch.probe_us - 5) % 2**32)
            self.deliver(PacketIn(packet.port, PUNT_PROBE, packet.frame[:18] + times + packet.frame[26:]))
            return
        if not packet.inject:
            self._switch.sent.append((packet.port, read_reply(packet.frame)))
            return
        reset = parse_control(packet.frame)
        if Key("streams", (reset.session, reset.source)) not in self._switch.entries:
            return
        if self._switch.lose_resets:
            self._switch.lose_resets -= 1
            return
        self._switch.resets.append((reset.session, reset.source, reset.member))
        self.deliver(PacketIn(510, PUNT_RESET, packet.frame))

    async def packets(self) -> AsyncIterator[PacketIn]:
        while (packet := await self._packets.get()) is not None:
            yield packet

    async def close(self) -> None:
        self._broken = True

    def _check(self) -> None:
        if self._broken:
            raise ConnectionFailedError(f"{self._switch.name}: connection lost")
