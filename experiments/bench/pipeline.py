"""Packets a second of one core through groupflow's own P4, in process and without interfaces; its tables."""

from pathlib import Path
from typing import Any

import finsy as fy

from experiments.bench.tools import Figure, example, told
from groupflow.agents.agent_process import find_program
from groupflow.compiler import compile_p4
from groupflow.lab.frames import GROUP_PORT, group_frame

SOURCE = Path(__file__).parents[2] / "p4src" / "groupflow_v1model.p4"
BUILD = SOURCE.parent / "build"
ROUTES = 1 << 18
"""room for the entries of which the memory is measured"""
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


def entries(out: Path) -> list[Figure]:
    """Table entries over P4Runtime, and their memory: a client in Rust on one connection
    (dataplane/switch/examples/entries.rs) and gfswitch, a core each."""
    made = compile_p4(SOURCE, defines={"MAX_ROUTES": str(ROUTES)}).write(out / "entries", "groupflow")
    return [
        Figure(*line)
        for line in told(example("groupflow-switch", "entries"), find_program("gfswitch"), *made)
    ]


def figures() -> list[Figure]:
    """The pipeline alone: both engines in Rust, in turns (dataplane/pipeline/examples/throughput.rs)."""
    return [
        Figure(
            f"pipeline, {load['name']}",
            round(1e9 / load["native_ns"]),
            "packets/s in",
            f"{load['out']:g} out for each in, one core; {load['native_ns']:g} ns, "
            f"the interpreter {load['interpreter_ns'] / load['native_ns']:.0f} times that",
        )
        for load in told(example("groupflow-pipeline", "throughput"), BUILD / "groupflow.json")
    ]
