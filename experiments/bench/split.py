"""The cost of a split agent: one TCP stream in, four out, beside HAProxy.

`groupflow bench split` runs it alone. All on loopback. The contenders take
turns: gfagent split with four members and with one, and HAProxy's TCP mode (when it is installed) to one.
Each has processor 1 to itself, as far as other work leaves it; sender and members have processor 0. The
figure that counts is the processor time of each per byte sent: it includes the kernel's part, and on loopback
much of the receivers' TCP.
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from experiments.bench.tools import Figure, cpu_ns, example, on
from groupflow.agents.agent_process import find_program
from groupflow.lab.p4switch import accepts
from groupflow.processes import Daemon
from groupflow.study import RunFailedError

_CPUS = sorted(os.sched_getaffinity(0))
_COPIES = 4
_ROUNDS = 5
_SECONDS = 1.0
_WARM_UP_SECONDS = 0.5
_PATIENCE_SECONDS = 20.0
_MEMBERS = [f"127.90.0.{n}:9000" for n in range(1, 1 + _COPIES)]


class _Contender(NamedTuple):
    """A program that relays a connection to `address` to so many members."""

    name: str
    command: Sequence[str]
    address: str
    copies: int
    sessions: Sequence[dict[str, Any]] = ()
    """for gfagent: the sessions to set over its control socket"""
    control: str = ""


class Result(NamedTuple):
    """The medians of a contender's rounds."""

    name: str
    copies: int
    gbps: float
    """rate to all members together, by elapsed time"""
    gbps_core: float
    """rate to all members together, by processor time"""
    ratio: float
    """processor time per byte sent, over HAProxy's in the same round (0: HAProxy is not installed)"""


def _ask(control: str, *requests: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_PATIENCE_SECONDS)
        client.connect(control)
        with client.makefile("rw") as lines:
            for request in requests:
                lines.write(json.dumps(request) + "\n")
                lines.flush()
                if not (answer := json.loads(lines.readline()))["ok"]:
                    raise RunFailedError(f"gfagent refused: {answer['error']}")


def _tool() -> Path:
    return example("groupflow-split", "split_load")


def _started(stack: ExitStack, folder: Path, name: str, command: Sequence[str]) -> Daemon:
    """A process that prints a line when it is ready, until the stack ends."""
    process = stack.enter_context(Daemon(name, command, folder / f"{name}.log"))
    process.wait_ready(lambda: "\n" in process.output())
    return process


def _received(addresses: Sequence[str]) -> int:
    """Bytes received so far by the kernel's sockets of the members (tcpi_bytes_received), from `ss`."""
    told = subprocess.run(
        ["ss", "-tinHO", "state", "established"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    total = 0
    for line in told.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[2] in addresses:
            total += sum(int(f.partition(":")[2]) for f in fields if f.startswith("bytes_received:"))
    return total


def _agent(name: str, number: int, folder: Path, copies: int) -> _Contender:
    control = str(folder / f"{name.replace(' ', '-')}.sock")
    address = f"127.91.{number}.1"
    branches = [
        {"kind": "member", "name": f"m{n}", "address": member, "member": n + 1}
        for n, member in enumerate(_MEMBERS[:copies])
    ]
    session = {"id": 1, "address": address, "ports": [5000], "branches": branches}
    command = [str(find_program("gfagent")), "split", "--name", "bench", "--json"]
    command += ["--addr", f"127.91.{number}.2", "--control", control]
    return _Contender(name, command, f"{address}:5000", copies, [session], control)


def _contenders(folder: Path) -> list[_Contender]:
    found = [_agent("gfagent split", 1, folder, _COPIES), _agent("gfagent split, one to one", 2, folder, 1)]
    if haproxy := shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin"):
        config = folder / "haproxy.cfg"
        config.write_text(
            "global\n  nbthread 1\n  maxconn 1000\ndefaults\n  mode tcp\n  timeout connect 5s\n"
            "  timeout client 1h\n  timeout server 1h\n"
            f"listen bench\n  bind 127.91.3.1:5000\n  server m {_MEMBERS[0]}\n"
        )
        found.append(
            _Contender("HAProxy, one to one", [haproxy, "-db", "-f", str(config)], "127.91.3.1:5000", 1)
        )
    return found


class _Round(NamedTuple):
    gbps: float
    ns_per_byte: float


def _measure(contender: _Contender, pid: int, seconds: float) -> _Round:
    members = _MEMBERS[: contender.copies]
    source = [*on(_CPUS[:1]), str(_tool()), "source", contender.address]
    with Daemon("the source", source, Path(os.devnull)):
        time.sleep(_WARM_UP_SECONDS)
        before, start, cpu = _received(members), time.perf_counter(), cpu_ns(pid)
        time.sleep(seconds)
        after, end, cpu = _received(members), time.perf_counter(), cpu_ns(pid) - cpu
    count = after - before
    if count <= 0:
        raise RunFailedError(f"nothing came through {contender.name}")
    # The connections of the next round must not be taken for these.
    _wait_until_idle(members)
    return _Round(count * 8 / 1e9 / (end - start), cpu / count)


def _wait_until_idle(members: Sequence[str]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while _received(members):
        if time.monotonic() > deadline:
            raise RunFailedError("connections to members stay open after their sender has gone")
        time.sleep(0.02)


def compare(rounds: int, seconds: float) -> list[Result]:
    """Measures all contenders in turns."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _started(stack, folder, "the sink", [*on(_CPUS[:1]), str(_tool()), "sink", *_MEMBERS])
        running: list[tuple[_Contender, int]] = []
        for contender in _contenders(folder):
            command = [*on(_CPUS[1:2]), *contender.command]
            if contender.name.startswith("HAProxy"):
                process = stack.enter_context(Daemon(contender.name, command, Path(os.devnull)))
                host, port = contender.address.split(":")
                process.wait_ready(lambda host=host, port=int(port): accepts(host, port))
            else:
                process = _started(stack, folder, contender.name, command)
            if contender.control:
                _ask(contender.control, *({"op": "set_session", "session": s} for s in contender.sessions))
            running.append((contender, process.pid))
        _wait_until_idle(_MEMBERS)
        measured: dict[str, list[_Round]] = {contender.name: [] for contender, _ in running}
        for _ in range(rounds):
            for contender, pid in running:
                measured[contender.name].append(_measure(contender, pid, seconds))
    haproxy = measured.get("HAProxy, one to one", [])
    results: list[Result] = []
    for contender, _ in running:
        turns = measured[contender.name]
        cost = statistics.median(turn.ns_per_byte for turn in turns)
        ratios = [turn.ns_per_byte / other.ns_per_byte for turn, other in zip(turns, haproxy, strict=False)]
        ratio = statistics.median(ratios) if ratios else 0.0
        gbps = statistics.median(turn.gbps for turn in turns)
        results.append(Result(contender.name, contender.copies, gbps, 8 / cost, ratio))
    return results


def _note(result: Result) -> str:
    note = f"{result.gbps_core:.1f} Gb/s out in a second of one processor"
    if result.ratio:
        note += f"; processor time a byte sent {result.ratio:.2f} of HAProxy's one to one"
    return note


def figures() -> list[Figure]:
    """Rates of all contenders. Needs no root."""
    results = compare(_ROUNDS, _SECONDS)
    found = [
        Figure(f"{r.name}, 1 in {r.copies} out", round(r.gbps, 1), "Gb/s out", _note(r)) for r in results
    ]
    if not any(r.name.startswith("HAProxy") for r in results):
        print("bench: haproxy is not installed: nothing to compare split agents with", file=sys.stderr)
    return found
