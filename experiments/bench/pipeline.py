"""Packets a second of one core through groupflow's own P4, in process and without interfaces; its tables."""

import json
import subprocess
from pathlib import Path
from typing import Any

import finsy as fy

from experiments.bench.tools import Figure, example
from groupflow.agents.programs import find_program
from groupflow.lab.frames import GROUP_PORT, group_frame

BUILD = Path(__file__).parents[2] / "p4src" / "build"
_ROUNDS = 5
_PAYLOAD = 1400
ROUTER = "02:00:00:00:00:01"
_HOST = "02:00:0a:00:00:02"
_GROUP = 1


def _entry(table: str, match: dict[str, int | str], action: str, **parameters: int | str) -> fy.P4TableEntry:
    return fy.P4TableEntry(table, match=fy.P4TableMatch(match), action=fy.P4TableAction(action, **parameters))


def forwarding_entries(copies: int) -> list[Any]:
    """Entries for a stream from port 1 to `copies` hosts, and routes between ports 1 and 2."""
    hosts = range(2, 2 + copies)
    stream = {
        "index": 0,
        "data_group": _GROUP,
        "ack_group": 0,
        "repair_group": 0,
        "upstream_group": 0,
        "upstream_port": 1,
        "agent_port": 0,
        "active": (1 << copies) - 1,
        "queue": 0,
    }
    return [
        +_entry("l3_admit", {"dst_mac": ROUTER}, "admit_to_l3"),
        *(
            +_entry("ipv4_route", {"ipv4_dst": f"10.0.0.{p}/32"}, "route", port=p, src=ROUTER, dst=ROUTER)
            for p in (1, 2)
        ),
        +_entry("streams", {"session": 1, "source": 1}, "stream", **stream),
        +fy.P4MulticastGroupEntry(_GROUP, replicas=[(port, port) for port in hosts]),
        *(
            +_entry(
                "neighbours", {"instance": p}, "to_host", src=ROUTER, dst=_HOST, ip=f"10.0.0.{p}", port=26470
            )
            for p in hosts
        ),
    ]


def data_frame(copies: int, payload: int = _PAYLOAD) -> bytes:
    """The packet that `forwarding_entries` sends to `copies` hosts: to the group, or to the first host."""
    return group_frame(
        2 if copies == 1 else 1,
        eth=("02:00:0a:00:00:01", ROUTER),
        ip=("10.0.0.1", "10.0.0.2" if copies == 1 else "239.0.0.1"),
        udp=(GROUP_PORT, GROUP_PORT),
        session=1,
        source=1,
        member=1,
        seq=1,
        payload=bytes(payload),
    )


def entries() -> list[Figure]:
    """Table entries over P4Runtime, and their memory: a client in Rust on one connection
    (dataplane/switch/examples/entries.rs) and gfswitch, a core each."""
    program, p4info = BUILD / "groupflow.json", BUILD / "groupflow.p4info.txtpb"
    command = [example("groupflow-switch", "entries"), find_program("gfswitch"), program, p4info]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [Figure(*json.loads(line)) for line in done.stdout.splitlines()]


def _engines() -> list[Figure]:
    """Both engines in Rust, in turns (dataplane/pipeline/examples/throughput.rs)."""
    done = subprocess.run(
        [example("groupflow-pipeline", "throughput"), BUILD / "groupflow.json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        Figure(
            f"pipeline, {load['name']}",
            round(1e9 / load["native_ns"]),
            "packets/s in",
            f"{load['out']:g} out for each in, one core; {load['native_ns']:g} ns, "
            f"the interpreter {load['interpreter_ns'] / load['native_ns']:.0f} times that",
        )
        for load in map(json.loads, done.stdout.splitlines())
    ]


def _trace() -> list[Figure]:
    """A hop of the switch's core (dataplane/switch/examples/hop_cost.rs) beside one while a trace waits."""
    done = [
        json.loads(subprocess.check_output([example("groupflow-switch", "hop_cost")])) for _ in range(_ROUNDS)
    ]
    off, waiting = (min(hop[key] for hop in done) for key in ("off_ns", "waiting_ns"))
    note = f"{off:g} ns; while a trace waits for packets of another port {waiting / off - 1:+.1%}"
    return [Figure("switch, unicast", round(1e9 / off), "packets/s in", note)]


def figures() -> list[Figure]:
    """The pipeline alone, and a hop of the switch."""
    return [*_engines(), *_trace()]
