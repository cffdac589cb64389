"""A switch as a value: P4 under test in process, in milliseconds, without root.

The switch never acts by itself: time is the caller's, in integer nanoseconds.
"""

import json
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, SupportsBytes

import finsy
from finsy.p4entity import decode_entity, encode_entities, encode_updates
from finsy.proto import p4i, p4r
from google.protobuf import text_format

from groupflow._native import NativeSwitch, render_trace
from groupflow.compiler import compile_p4
from groupflow.data import P4_JSON, P4INFO
from groupflow.errors import Error
from groupflow.schema import GENERATOR, PORT, QUEUE, extern_entity, read_schema

_NOT_FOUND = 5
"""gRPC's status code"""


class Output(NamedTuple):
    """A frame that left the switch: its port, the time in ns, and its bytes."""

    port: int
    time_ns: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class PacketIn:
    """A packet for the controller: its bytes and the fields of the program's packet_in header, by name."""

    payload: bytes
    metadata: dict[str, int]


class WriteError(Error):
    """Updates that the switch refused.

    `errors` has (index of the update, gRPC status code, message) of each; the other updates took effect.
    """

    def __init__(self, errors: Sequence[tuple[int, int, str]]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"update {index}: {message}" for index, _, message in errors))


class StillInside(UserWarning):
    """Packets have not left yet, such as recirculated ones."""


def explain(trace: Mapping[str, Any]) -> str:
    """A trace as text for people, as `gfswitch trace` prints it."""
    return render_trace(json.dumps({"switch": 0, **trace}))


@lru_cache(maxsize=4)
def schema(p4info: str) -> finsy.P4Schema:
    """The names in P4Info's text, read once for the same text."""
    return read_schema(text_format.Parse(p4info, p4i.P4Info()))


class Switch:
    """gfswitch's core behind finsy's entities. Not safe for use from several threads at once.

    switch = groupflow.Switch.groupflow(links=["2:rate=10mbit"])
    switch.write(+finsy.P4TableEntry("ipv4_route", match=..., action=...))
    for port, time_ns, frame in switch.run(1, scapy_packet): ...
    """

    def __init__(self, native: NativeSwitch, schema: finsy.P4Schema, ports: Sequence[int]) -> None:
        self._native = native
        self._ports = ports
        self._schema = schema
        self._in_names = {ident: name for ident, (name, _) in self._metadata("packet_in").items()}
        self._out_ids = {name: (ident, bits) for ident, (name, bits) in self._metadata("packet_out").items()}
        self.packet_ins: list[PacketIn] = []
        self.traces: list[dict[str, Any]] = []
        """ways of packets; `explain` makes text of one"""
        self.due_ns: int | None = None
        """when something happens in the switch next, after the last `advance`; None: nothing will"""

    @classmethod
    def load(
        cls,
        json: str | Path,
        p4info: str | Path,
        *,
        ports: Iterable[int] = range(1, 9),
        links: Iterable[str] = (),
        cpu_port: int = 510,
        drop_port: int = 511,
        priority_queues: int = 8,
        seed: int = 1,
    ) -> "Switch":
        """Loads p4c's JSON and P4Info (text). `links` are as gfswitch's `--link`: "1:rate=10mbit,delay=5ms".

        Raises OSError when a file cannot be read, ValueError when its content is refused.
        """
        info = Path(p4info).read_text()
        ports, program = list(ports), Path(json).read_text()
        native = NativeSwitch(program, info, ports, list(links), cpu_port, drop_port, priority_queues, seed)
        return cls(native, schema(info), ports)

    @classmethod
    def compile(
        cls,
        source: str | Path,
        *,
        include: Iterable[str | Path] = (),
        defines: Mapping[str, str] | None = None,
        **options: Any,
    ) -> "Switch":
        """A switch with the P4 program in a file, or a program's text; the other options are those of `load`.

        Raises CompileError with the errors of the program.
        """
        made = compile_p4(source, include=include, defines=defines)
        with TemporaryDirectory() as folder:
            return cls.load(*made.write(Path(folder), "program"), **options)

    @classmethod
    def groupflow(cls, **options: Any) -> "Switch":
        """A switch with groupflow's own P4 program, of this package; `options` are those of `load`."""
        return cls.load(P4_JSON, P4INFO, **options)

    def write(self, updates: Any) -> None:
        """Applies finsy entities in order, one or several: `+` insert, `~` modify, `-` delete. Raises
        WriteError."""
        messages = encode_updates(updates, self._schema)
        results = self._native.write([m.SerializeToString() for m in messages])
        errors = [(i, result[0], result[1]) for i, result in enumerate(results) if result is not None]
        if errors:
            raise WriteError(errors)

    def read(self, entities: Any) -> list[Any]:
        """The entities that match, wildcards included. Raises ValueError for an impossible request.

        finsy has no classes for queues, ports and generators: these come as messages.
        """
        if isinstance(entities, str):  # finsy would look for entities in its letters
            raise ValueError(f"{entities!r} is no entity; name one, such as P4CounterEntry({entities!r})")
        wanted = [e.SerializeToString() for e in encode_entities([entities], self._schema)]
        found = [p4r.Entity.FromString(message) for message in self._native.read(wanted)]
        return [e if e.HasField("extern_entry") else decode_entity(e, self._schema) for e in found]

    def inject(self, port: int, packet: bytes | SupportsBytes, now_ns: int = 0) -> None:
        """Gives the switch a frame that arrives on `port`: bytes, or a scapy packet. Raises ValueError where
        there is no such port, TypeError for what is no frame."""
        if port not in self._ports:
            raise ValueError(f"there is no port {port}; there are {', '.join(map(str, self._ports))}")
        if isinstance(packet, str | int):  # of a number bytes() would make as many zeros
            raise TypeError(f"{packet!r} is no frame; pass bytes or a packet of scapy")
        self._native.inject(port, bytes(packet), now_ns)

    def packet_out(self, payload: bytes | SupportsBytes, now_ns: int = 0, **metadata: int) -> None:
        """Sends a packet from the controller, with a value for each field of the packet_out header.

        Raises ValueError when a field is missing or unknown.
        """
        if unknown := set(metadata) - set(self._out_ids):
            raise ValueError(f"packet_out has no field {', '.join(sorted(unknown))}")
        fields = [
            (self._out_ids[name][0], value.to_bytes((value.bit_length() + 7) // 8 or 1, "big"))
            for name, value in metadata.items()
        ]
        self._native.packet_out(bytes(payload), fields, now_ns)

    def advance(self, now_ns: int) -> list[Output]:
        """Lets time pass until `now_ns`. Returns frames sent by then; packet-ins go to `packet_ins`."""
        outputs, packet_ins, self.due_ns = self._native.advance(now_ns)
        self.packet_ins += [
            PacketIn(payload, {self._in_names[i]: int.from_bytes(value, "big") for i, value in metadata})
            for payload, metadata in packet_ins
        ]
        return [Output(*output) for output in outputs]

    def run(
        self, port: int, packet: bytes | SupportsBytes, now_ns: int = 0, *, trace: bool = False
    ) -> list[Output]:
        """Gives the switch a frame, and returns its output: `inject`, then `advance` to the same time.

        A packet that is recirculated, or waits for a link or a queue, leaves later: then this warns
        (StillInside). `trace`: the way of the packet goes to `traces`, if the packet has left by then.
        """
        with self.traced(port=port) if trace else nullcontext():
            self.inject(port, packet, now_ns)
            outputs = self.advance(now_ns)
        if self._native.holds_packets():
            then = "a queue holds it" if self.due_ns is None else f"call advance({self.due_ns})"
            warnings.warn(f"a packet is still inside the switch: {then}", StillInside, stacklevel=2)
        return outputs

    @contextmanager
    def traced(
        self, *, count: int = 1, port: int | None = None, match: Sequence[str] = (), **flags: bool
    ) -> Generator[None]:
        """Within the block, the ways of the next `count` packets go to `traces` (docs/reference/trace.md).

        Only of packets that arrive at `port`, that match (`ipv4.dst=10.0.0.1`), and whose last copy has left
        at the end of the block; with `dropped` only if a copy is dropped; with `all` their outcomes, too.
        Raises ValueError for an unknown field or port.
        """
        request = {"next": count, "port": port, "match": list(match), **flags}
        filter_ = self._native.arm_trace(json.dumps(request))
        try:
            yield
        finally:
            self.traces += json.loads(self._native.take_traces(filter_))

    def register(self, name: str, index: int) -> int:
        """The value of a register's cell. The name is the full name of the register, or its last parts."""
        return self._native.register(name, index)

    def set_register(self, name: str, index: int, value: int) -> None:
        """Sets a register's cell, as the controller would. Raises ValueError where it does not fit."""
        self._native.set_register(name, index, value)

    def set_queue(
        self,
        port: int,
        queue: int,
        *,
        now_ns: int | None = None,
        level: int | None = None,
        weight: int | None = None,
        rate: str | None = None,
        limit_packets: int | str | None = None,
        limit_bytes: int | str | None = None,
        paused: bool | None = None,
    ) -> None:
        """Changes a queue of a port; None leaves a setting. At `now_ns`, or at the time of the last advance.

        `rate` is such as "1000pps", "10mbit" or "unlimited"; the limits bound the waiting packets or bytes
        ("default" removes a limit). Raises ValueError naming what is wrong.
        """
        if now_ns is not None:
            self._native.catch_up(now_ns)
        fields = {
            "port": port,
            "queue": queue,
            "level": level,
            "weight": weight,
            "rate": rate,
            "paused": paused,
        }
        limits = {"limit_packets": limit_packets, "limit_bytes": limit_bytes}
        removed = {name: None for name, limit in limits.items() if limit == "default"}
        given = {name: value for name, value in (fields | limits).items() if value is not None}
        self._set(QUEUE, given | removed, p4r.Update.MODIFY)

    def set_port(self, port: int, *, nominal_packet: int) -> None:
        """Sets the bytes of a packet with which packets/s are computed from the port's bit rate."""
        self._set(PORT, {"port": port, "nominal_packet": nominal_packet}, p4r.Update.MODIFY)

    def set_link(self, port: int, spec: str, *, now_ns: int | None = None) -> None:
        """Changes a port's link: `spec` is gfswitch's `--link` without the port, "rate=10mbit,dir=out"."""
        if now_ns is not None:
            self._native.catch_up(now_ns)
        self._native.set_link(port, spec)

    def set_generator(
        self,
        number: int,
        frame: bytes | SupportsBytes,
        *,
        period_ns: int,
        first_ns: int = 0,
        port: int = 0,
        enabled: bool = True,
        now_ns: int | None = None,
    ) -> None:
        """Adds or replaces generator `number` (0 to 63): `frame` arrives on `port` at first + n * period."""
        if now_ns is not None:
            self._native.catch_up(now_ns)
        fields = {"id": number, "period_ns": period_ns, "first_ns": first_ns, "frame": bytes(frame).hex()}
        fields |= {"port": port, "enabled": enabled}
        self._set(GENERATOR, fields, p4r.Update.MODIFY, p4r.Update.INSERT)

    def delete_generator(self, number: int) -> None:
        """Removes a packet generator. Raises ValueError where there is none."""
        self._set(GENERATOR, {"id": number}, p4r.Update.DELETE)

    def _set(self, extern: int, fields: Mapping[str, Any], *kinds: "p4r.Update.Type.ValueType") -> None:
        """Changes a queue, port or generator by the first kind of update for which it is there."""
        result = None
        for kind in kinds:
            update = p4r.Update(type=kind, entity=extern_entity(extern, fields))
            [result] = self._native.write([update.SerializeToString()])
            if result is None or result[0] != _NOT_FOUND:
                break
        if result is not None:
            raise ValueError(result[1])

    def queue(self, port: int, queue: int) -> dict[str, Any]:
        """A queue's settings, contents and counters: its object in `stats`. Raises ValueError."""
        for found in json.loads(self.stats())["ports"]:
            if found["port"] == port and queue < len(found["out"]["queues"]):
                return found["out"]["queues"][queue]
        raise ValueError(f"there is no queue {queue} at port {port}")

    def stats(self) -> str:
        """Counters of ports, queues and drops, as `gfswitch stats --json` prints them."""
        return self._native.stats()

    def _metadata(self, header: str) -> dict[int, tuple[str, int]]:
        for info in self._schema.p4info.controller_packet_metadata:
            if info.preamble.name == header:
                return {field.id: (field.name, field.bitwidth) for field in info.metadata}
        return {}
