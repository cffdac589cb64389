"""The Rust part of groupflow: the wire format and the switch core (dataplane/bindings)."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypeAlias

__version__: str

Role: TypeAlias = Literal["sender", "receiver", "cache", "listener"]
Start: TypeAlias = Literal["now", "start", "resume"]
Mode: TypeAlias = Literal["e2e", "n2n"]
Policy: TypeAlias = Literal["strict", "isolate"]
ControlType: TypeAlias = Literal["join", "leave", "keepalive", "query", "report", "reset"]
ReportKind: TypeAlias = Literal["slow", "caught_up", "complete", "cache_full", "cache_room"]
LeaveReason: TypeAlias = Literal["done", "aborted"]
RefusalCode: TypeAlias = Literal[
    "unknown_session", "wrong_token", "full", "bad_request", "no_source", "expired", "unavailable"
]
NoticeKind: TypeAlias = Literal[
    "joined", "left", "lost", "deleted", "switch_lost", "switch_back", "agent_lost", "agent_back", "complete"
]

def compile_p4(
    path: str, text: str, include_paths: Sequence[str], defines: Sequence[tuple[str, str]]
) -> tuple[str | None, str | None, str]:
    """Compiles the P4 program `text` of the file `path`. Returns BMv2's JSON and P4Info, neither of a
    program with errors, and the messages as JSON."""

def tree_study(spec: str) -> str:
    """A study of a large tree (dataplane/apps/tree/src/study), from JSON to JSON.

    Raises ValueError that names what makes no sense.
    """

def make_certificate(name: str) -> tuple[str, str]:
    """A certificate that its own key signs, and the key; both PEM. Raises ValueError for what is no name."""

class ToHost:
    """A message of a cluster's dispatcher to a host (dataplane/apps/tree/src/machine/messages.rs)."""

    host: str
    def line(self, joins: int) -> str:
        """The line to a host that has joined a cluster this often."""

class TreeDispatchers:
    """A tree's dispatchers. `now` is nanoseconds. Names are hexadecimal digits.

    Methods return messages, which hosts get once the changes are stored. All raise ValueError that names what
    makes no sense.
    """

    root: str
    has_ended: bool
    attached: int
    """hosts that have a parent"""
    def __init__(self, policy: str, token: str, source: str, seed: int, now: int) -> None: ...
    @staticmethod
    def resume(policy: str, token: str, stored: list[str], seed: int, now: int) -> TreeDispatchers:
        """The dispatchers as `take_changed` gave them to be stored."""
    def members(self) -> str:
        """The source's line: the hosts of the tree, and which of them lack bytes."""
    def on_host(self, now: int, host: str, line: bytes) -> tuple[str, int, list[ToHost]]:
        """Also returns the cluster that the line is for, and how often the host has joined one."""
    def on_gone(self, now: int, cluster: str, host: str) -> list[ToHost]: ...
    def deadline(self) -> int | None: ...
    def on_time(self, now: int) -> list[ToHost]: ...
    def take_changed(self) -> dict[str, str | None]:
        """To be stored by cluster (None: deleted) before hosts are told what was returned last."""
    def hosts(self) -> str:
        """All hosts, as a JSON list."""

class Control:
    """A message of a host to the controller, or a RESET that came back from a pipeline.

    Fields that a type does not have are None.
    """

    type: ControlType
    session: int
    source: int
    member: int
    seq: int
    eth_src: str
    ip_src: str
    udp_src: int
    request_id: int | None
    role: Role | None
    start: Start | None
    name: str | None
    token: str | None
    port: int | None
    target: int | None
    reason: LeaveReason | None
    next: int | None
    repairs: int | None
    kind: ReportKind | None
    about: int | None
    value: int | None

def parse_control(frame: bytes) -> Control:
    """Parses a frame punted by a switch. Raises ValueError naming the field that is wrong."""

def build_reset(session: int, source: int, branch: int) -> bytes:
    """A RESET for the pipeline: `branch` (0xff: all) of a stream has acknowledged nothing."""

class Address:
    """The receiver of a reply, and its apparent sender. Raises ValueError for a malformed address."""

    def __init__(self, eth_src: str, eth_dst: str, ip_src: str, ip_dst: str, udp_dst: int) -> None: ...

class Joined:
    def __init__(
        self,
        *,
        member: int,
        source: int,
        window: int,
        rate: int,
        mode: Mode,
        policy: Policy,
        keepalive_ms: int,
        receivers: int,
        start_seq: int,
    ) -> None: ...

class Refused:
    def __init__(self, *, code: RefusalCode, text: str) -> None: ...

class Alive:
    def __init__(self, *, receivers: int, sources: int) -> None: ...

class Unknown:
    def __init__(self) -> None: ...

class Notice:
    def __init__(self, *, what: NoticeKind, about: int, text: str, receivers: int, rate: int) -> None: ...

class Delegated:
    def __init__(
        self,
        *,
        session: int,
        source: int,
        active: bool,
        mode: Mode,
        policy: Policy,
        window: int,
        branches: int,
        max_bytes: int,
        rate: int,
        shares: Sequence[Mapping[str, str | int]],
    ) -> None: ...

class Left:
    def __init__(self) -> None: ...

Reply: TypeAlias = Joined | Refused | Alive | Unknown | Notice | Delegated | Left

def build_reply(
    address: Address, session: int, source: int, member: int, request_id: int, reply: Reply
) -> bytes:
    """The frame that carries `reply` to a host; `request_id` 0 marks what the host did not ask for."""

def bone_steps() -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """The flowcharts of round multicast, of the hub and of the rim: from, when, to."""

def render_trace(trace: str) -> str:
    """A trace in JSON as text for people. Raises ValueError."""

class NativeSwitch:
    """The switch core. Use `groupflow.Switch`, which speaks finsy's entities."""

    def __init__(
        self,
        program: str,
        p4info: str,
        ports: list[int],
        links: list[str],
        cpu_port: int,
        drop_port: int,
        priority_queues: int,
        seed: int,
    ) -> None: ...
    def write(self, updates: list[bytes]) -> list[tuple[int, str] | None]:
        """Serialised p4.v1.Update; for each None, or gRPC status code and message."""

    def read(self, entities: list[bytes]) -> list[bytes]:
        """Serialised p4.v1.Entity, with wildcards, to those that match. Raises ValueError."""

    def inject(self, port: int, packet: bytes, now_ns: int) -> None: ...
    def holds_packets(self) -> bool: ...
    def packet_out(self, payload: bytes, metadata: list[tuple[int, bytes]], now_ns: int) -> None:
        """A packet-out with its metadata (id and value). Raises ValueError."""

    def advance(
        self, now_ns: int
    ) -> tuple[list[tuple[int, int, bytes]], list[tuple[bytes, list[tuple[int, bytes]]]], int | None]:
        """(port, time, frame) that left up to now, packet-ins with their metadata, and the next deadline."""

    def register(self, name: str, index: int) -> int:
        """A register's cell, by the full name or a dotted suffix of it. Raises ValueError."""

    def set_register(self, name: str, index: int, value: int) -> None: ...
    def catch_up(self, now_ns: int) -> None: ...
    def set_link(self, port: int, spec: str) -> None: ...
    def arm_trace(self, request: str) -> int: ...
    def take_traces(self, filter: int) -> str: ...
    def stats(self) -> str:
        """Counters of ports, queues and drops, as `gfswitch stats --json` prints them."""

class NativeSim:
    """A network in virtual time. Use `groupflow.sim`, which reads scenarios."""

    def __init__(self, spec: str, programs: list[tuple[str, str]]) -> None:
        """A description as JSON; programs are p4c's JSON and P4Info as text. Raises ValueError."""

    def record(self, folder: str | PathLike[str], trace: bool) -> None:
        """Writes measurements to CSV files in a folder that is there. Raises OSError."""

    def write(self, switch: str, updates: list[bytes]) -> list[tuple[int, str] | None]:
        """Serialised p4.v1.Update; for each None, or gRPC status code and message."""

    def set_queue(self, switch: str, port: int, queue: int, settings: str) -> None: ...
    def register(self, switch: str, name: str, index: int) -> int: ...
    def arm_trace(self, switch: str, request: str) -> int: ...
    def take_traces(self, switch: str, filter: int) -> str: ...
    def stats(self, switch: str) -> str: ...
    def step(self, wall_ms: int, until_ns: int | None = None) -> tuple[int, int, bool]:
        """Runs for about so long by the wall: simulated time, packet hops, whether the scenario is over."""

    def set_receive_window(self, flow: str, bytes: int) -> None:
        """The receiver of a TCP flow with `receive_window` advertises so many bytes from now on. Raises
        ValueError."""

    def read_receiver(self, flow: str) -> tuple[int, int, int, int | None, int | None]:
        """The receiver's measurements: delivered bytes, packets, packets found missing, all since the
        beginning; the shortest round trip (ns) since the last call; the retransmission timeout (ns) that
        follows from round trips."""

    def resume_flow(self, flow: str) -> None:
        """A TCP flow without end begins now, or goes on. Raises ValueError."""

    def pause_flow(self, flow: str) -> None:
        """Ends the flow: nothing new is sent; packets in flight are delivered. Raises ValueError."""

    def lengthen_link(self, a: str, b: str, delay_ns: int) -> None:
        """The link between two nodes has this delay from now on. Raises ValueError where it is shorter than
        before."""

    def set_link_rate(self, a: str, b: str, rate_bps: int) -> None:
        """The link between a host and a router without P4 has this rate from now on. Raises ValueError where
        there is none."""

    def take_packet_ins(self) -> list[tuple[int, str, bytes, list[tuple[int, bytes]]]]:
        """Packets from switches to the controller since the last call: time, switch, payload, metadata."""

    def packet_out(self, switch: str, payload: bytes, metadata: list[tuple[int, bytes]]) -> None: ...
    def hops(self) -> int:
        """Frames that switches and routers took so far."""

    def summary(self) -> str:
        """The last measurements, as JSON."""
