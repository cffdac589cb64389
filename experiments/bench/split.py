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
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from experiments.bench.tools import Figure, cpu_ns, example, in_turns, on
from groupflow.agents.agent_process import find_program
from groupflow.lab.switches import accepts
from groupflow.processes import Daemon
from groupflow.study import RunFailedError

_CPUS = sorted(os.sched_getaffinity(0))
_COPIES = 4
_ROUNDS = 5
_SECONDS = 1.0
_WARM_UP_SECONDS = 0.5
_PATIENCE_SECONDS = 20.0
_RIVAL = "HAProxy, one to one"
_MEMBERS = [f"127.90.0.{n}:9000" for n in range(1, 1 + _COPIES)]


@dataclass(frozen=True, eq=False)
class _Contender:
    """A program that relays a connection to `address` to that number of members."""

    name: str
    command: Sequence[str]
    address: str
    copies: int
    control: str = ""
    """gfagent's control socket"""
    session: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """to set over that"""


def _set_session(contender: _Contender) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_PATIENCE_SECONDS)
        client.connect(contender.control)
        with client.makefile("rw") as lines:
            lines.write(json.dumps({"op": "set_session", "session": contender.session}) + "\n")
            lines.flush()
            if not (answer := json.loads(lines.readline()))["ok"]:
                raise RunFailedError(f"gfagent refused: {answer['error']}")


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
    return _Contender(name, command, f"{address}:5000", copies, control, session)


def _contenders(folder: Path) -> list[_Contender]:
    found = [_agent("gfagent split", 1, folder, _COPIES), _agent("gfagent split, one to one", 2, folder, 1)]
    if haproxy := shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin"):
        config = folder / "haproxy.cfg"
        config.write_text(
            "global\n  nbthread 1\n  maxconn 1000\ndefaults\n  mode tcp\n  timeout connect 5s\n"
            "  timeout client 1h\n  timeout server 1h\n"
            f"listen bench\n  bind 127.91.3.1:5000\n  server m {_MEMBERS[0]}\n"
        )
        found.append(_Contender(_RIVAL, [haproxy, "-db", "-f", str(config)], "127.91.3.1:5000", 1))
    return found


class _Round(NamedTuple):
    gbps: float
    ns_per_byte: float


def _measure(contender: _Contender, pid: int) -> _Round:
    members = _MEMBERS[: contender.copies]
    source = [*on(_CPUS[:1]), str(example("groupflow-split", "split_load")), "source", contender.address]
    with Daemon("the source", source, Path(os.devnull)):
        time.sleep(_WARM_UP_SECONDS)
        before, start, cpu = _received(members), time.perf_counter(), cpu_ns(pid)
        time.sleep(_SECONDS)
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


def _rounds() -> dict[_Contender, list[_Round]]:
    """Measures all contenders in turns."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _started(
            stack,
            folder,
            "the sink",
            [*on(_CPUS[:1]), str(example("groupflow-split", "split_load")), "sink", *_MEMBERS],
        )
        running: dict[_Contender, int] = {}
        for contender in _contenders(folder):
            command = [*on(_CPUS[1:2]), *contender.command]
            if contender.name == _RIVAL:
                process = stack.enter_context(Daemon(contender.name, command, Path(os.devnull)))
                host, port = contender.address.split(":")
                process.wait_ready(lambda host=host, port=int(port): accepts(host, port))
            else:
                process = _started(stack, folder, contender.name, command)
                _set_session(contender)
            running[contender] = process.pid
        _wait_until_idle(_MEMBERS)
        return in_turns(running, _ROUNDS, lambda each: _measure(each, running[each]))


def _figure(contender: _Contender, turns: Sequence[_Round], rival: Sequence[_Round]) -> Figure:
    """The rate to all members together; each figure is that of the median round. The ratio is of processor
    times per byte sent, over HAProxy's in the same round, where it is installed."""
    gbps = statistics.median(turn.gbps for turn in turns)
    cost = statistics.median(turn.ns_per_byte for turn in turns)
    note = f"{8 / cost:.1f} Gb/s out in a second of one processor"
    if rival:
        ratio = statistics.median(a.ns_per_byte / b.ns_per_byte for a, b in zip(turns, rival, strict=True))
        note += f"; processor time a byte sent {ratio:.2f} of HAProxy's one to one"
    return Figure(f"{contender.name}, 1 in {contender.copies} out", round(gbps, 1), "Gb/s out", note)


def figures() -> list[Figure]:
    """Rates of all contenders. Needs no root."""
    measured = _rounds()
    rival = next((turns for contender, turns in measured.items() if contender.name == _RIVAL), list[_Round]())
    if not rival:
        print("bench: haproxy is not installed: nothing to compare split agents with", file=sys.stderr)
    return [_figure(contender, turns, rival) for contender, turns in measured.items()]
