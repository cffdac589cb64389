"""Packets a second through gfswitch over veth, beside a forwarder without any P4 and simple_switch_grpc.

`groupflow bench veth` runs it alone. Each contender has veth pairs of its
own to the hosts' network namespace, all for the whole run; they take turns, so that other work of the
machine slows all of them alike. A sender saturates port 1; the arrivals at the hosts behind the other ports
are read from their interfaces' counters.
"""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from finsy import P4Schema
from finsy.p4entity import encode_updates
from finsy.proto import p4r

from experiments.bench.pipeline import BUILD, data_frame, forwarding_entries
from experiments.bench.tools import Figure, cpu_ns, example, in_turns, on
from groupflow.agents.agent_process import find_program
from groupflow.lab.measure import interfaces
from groupflow.lab.switches import accepts
from groupflow.p4rt.program import Program
from groupflow.p4rt.runtime_file import write_entries
from groupflow.processes import Daemon, until
from groupflow.study import RunFailedError
from groupflow.units import parse_address

_ROOT = Path(__file__).parents[2]
_BARE, _BMV2 = "bare forwarder", "simple_switch_grpc"
_LOADS = {1: "veth, unicast", 4: "veth, 4-way multicast"}
"""by the number of copies of each packet"""
_PORTS = range(1, 2 + max(_LOADS))
_HOSTS = "hosts"  # the network namespace behind the ports
_ROUNDS = 7
_SECONDS = 1.0
_WARM_UP_SECONDS = 0.3
_DEADLINE_SECONDS = 20.0
_STARVED = 0.2  # a sender that waits longer does not saturate a contender
_FIRST_GRPC_PORT = 9600
_DEVICE_ID = 1
_CPUS = sorted(os.sched_getaffinity(0))


@dataclass(frozen=True)
class _Contender:
    """A program that forwards from port 1 to the other ports."""

    name: str
    number: int
    program: str

    def interface(self, port: int) -> str:
        """The contender's end of the pair at a port."""
        return f"c{self.number}p{port}"

    def host(self, port: int) -> str:
        """The hosts' end of the pair at a port."""
        return f"c{self.number}h{port}"

    @contextmanager
    def running(self, copies: int) -> Generator[Daemon]:
        """The process that forwards `copies` of each packet; a switch has its program, routes and groups."""
        bmv2, ports = self.name == _BMV2, _PORTS
        address = f"127.0.0.1:{_FIRST_GRPC_PORT + self.number}"
        if self.name == _BARE:
            ports = range(1, 2 + copies)
            command = [self.program, "forward", *map(self.interface, ports)]
        else:
            command = [self.program]
            for port in ports:
                command += ["-i", f"{port}@{self.interface(port)}"]
            command += ["--device-id", str(_DEVICE_ID), "--no-p4"]
            command += ["--thrift-port", str(_FIRST_GRPC_PORT - 1)] if bmv2 else ["--control-socket", "none"]
            command += ["--", "--grpc-server-addr", address, "--cpu-port", "510"]
        # Off the sender's processor, so that the scheduler's choice is not measured. But BMv2 has several
        # busy threads, which one processor would throttle, and each complains of missing hardware counters.
        place, log = (on([]), Path(os.devnull)) if bmv2 else (on(_CPUS[1:]), None)
        with Daemon(self.name, [*place, *command], log) as process:
            if self.name != _BARE:
                asyncio.run(_set_up(address, copies))
            yield process


async def _set_up(address: str, copies: int) -> None:
    """Gives a switch groupflow's program and the entries for `copies` copies, once it listens."""
    program = Program.load(BUILD / "groupflow.p4info.txtpb", BUILD / "groupflow.json")
    encoded = encode_updates(forwarding_entries(copies), P4Schema(program.p4info))
    if not await until(lambda: accepts(*parse_address(address)), _DEADLINE_SECONDS):
        raise RunFailedError(f"no switch listens at {address} after {_DEADLINE_SECONDS:g} s")
    await write_entries(address, _DEVICE_ID, program, [u for u in encoded if isinstance(u, p4r.Update)])


def _ip(*arguments: str) -> None:
    """Runs iproute2."""
    subprocess.run(["ip", *arguments], check=True)


def _tool() -> Path:
    """The sender and bare forwarder."""
    return example("groupflow-switch", "veth")


@contextmanager
def _sender(interface: str, frame: bytes) -> Generator[int]:
    """Sends from a host while the block runs. Yields the process's id."""
    send = [str(_tool()), "send", interface, frame.hex()]
    command = [*on(_CPUS[:1]), "ip", "netns", "exec", _HOSTS, *send]
    with Daemon("the sender", command, None) as sending:
        yield sending.pid


def _wire(contender: _Contender) -> None:
    """Makes the pairs between a contender's ports and its hosts."""
    for port in _PORTS:
        near, far = contender.interface(port), contender.host(port)
        _ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", _HOSTS)
        _ip("link", "set", near, "arp", "off", "up")
        _ip("-n", _HOSTS, "link", "set", far, "arp", "off", "up")


def _waited_ns(pid: int) -> int:
    """Time in ns so far that a process was ready to run and waited for a processor."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])


class _Round(NamedTuple):
    received: float
    """packets/s at the hosts"""
    cost_ns: float
    """processor time of the contender, with the kernel's part, for a packet that arrived"""
    starved: float
    """share of the time that the sender waited for a processor"""


def _measure(contender: _Contender, process: Daemon, copies: int) -> _Round:
    with _sender(contender.host(1), data_frame(copies)) as pid:
        table = Path(f"/proc/{pid}/net/dev")
        time.sleep(_WARM_UP_SECONDS)
        before, start = interfaces(table), time.perf_counter()
        cpu, waited = cpu_ns(process.pid), _waited_ns(pid)
        time.sleep(_SECONDS)
        after, end, cpu = interfaces(table), time.perf_counter(), cpu_ns(process.pid) - cpu
        starved = (_waited_ns(pid) - waited) / 1e9 / (end - start)
    process.check()
    hosts = map(contender.host, range(2, 2 + copies))
    received = sum(after[host][1] - before[host][1] for host in hosts)
    return _Round(received / (end - start), cpu / max(received, 1), starved)


def _prepare() -> None:
    """Makes namespaces of `_apart` ready: another for hosts, no IPv6."""
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    Path("/run/netns").mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run/netns"], check=True)
    _ip("link", "set", "lo", "up")
    _ip("netns", "add", _HOSTS)
    subprocess.run(
        ["ip", "netns", "exec", _HOSTS, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1"], check=True
    )


def _apart() -> Any:
    """The JSON that this module prints when it runs in namespaces that end with it."""
    apart = ["unshare", "-n", "-m", "-p", "--fork", "--mount-proc", "--kill-child"]
    inside = [sys.executable, "-m", "experiments.bench.veth"]
    done = subprocess.run([*apart, *inside], check=True, stdout=subprocess.PIPE, cwd=_ROOT)
    return json.loads(done.stdout)


def _inside() -> list[Figure]:
    """The measurement, in namespaces of its own."""
    _prepare()
    gfswitch = str(find_program("gfswitch"))
    contenders = [_Contender(_BARE, 0, str(_tool())), _Contender(gfswitch, 1, gfswitch)]
    if program := shutil.which(_BMV2):
        contenders.append(_Contender(_BMV2, 2, program))
    for contender in contenders:
        _wire(contender)
    return [figure for copies in _LOADS for figure in _compare(contenders, copies)]


def _compare(contenders: Sequence[_Contender], copies: int) -> list[Figure]:
    with ExitStack() as stack:
        running = {each: stack.enter_context(each.running(copies)) for each in contenders}
        rounds = in_turns(contenders, _ROUNDS, lambda each: _measure(each, running[each], copies))
    return [_figure(each.name, copies, turns, rounds[contenders[0]]) for each, turns in rounds.items()]


def _figure(contender: str, copies: int, turns: Sequence[_Round], bare: Sequence[_Round]) -> Figure:
    """Packets a second that arrived at the hosts, all copies together; each figure is that of the median
    round, the ratio that to the bare forwarder in the same round."""
    received = statistics.median(turn.received for turn in turns)
    ratio = statistics.median(turn.received / same.received for turn, same in zip(turns, bare, strict=True))
    cost_ns = statistics.median(turn.cost_ns for turn in turns)
    starved = statistics.median(turn.starved for turn in turns)
    note = f"{ratio:.2f} of the bare forwarder; {cost_ns:,.0f} ns of a processor each"
    if starved > _STARVED:
        note += f"; the sender waited {starved:.0%} of the time for a processor: about this machine"
    return Figure(f"{_LOADS[copies]}: {Path(contender).name}", round(received), "packets/s out", note)


def figures() -> list[Figure]:
    """Both figures of gfswitch, and of BMv2 where it is installed. Needs root."""
    return [Figure(*each) for each in _apart()]


if __name__ == "__main__":
    json.dump(_inside(), sys.stdout)
