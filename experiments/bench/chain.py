"""Kernel TCP from host to host through switches in a row, beside forwarders without any P4.

`groupflow bench chain` runs it alone. Each chain has veth pairs and hosts of its own; they take turns, and
the kernel chooses the processors of hosts and switches alike.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from experiments.bench import veth
from experiments.bench.figure import Figure
from experiments.bench.pipeline import ROUTER
from experiments.bench.processors import cpu_ns, ended_s
from groupflow.agents.programs import find_program
from groupflow.processes import Daemon

_ADDRESSES = ("10.0.0.1", "10.0.0.2")
_ROUNDS = 3
_SECONDS = 2
_LIMIT_SECONDS = 60
_LINK = ("--link", "1:rate=1gbit", "--link", "2:rate=1gbit")


class _Chain(NamedTuple):
    """Switches in a row; or bare forwarders, one for each direction, where `program` is empty."""

    name: str
    program: str
    switches: int
    options: Sequence[str] = ()


def _chains(programs: Sequence[str]) -> list[_Chain]:
    chains = [_Chain("3 bare forwarders", "", 3)]
    for number, program in enumerate(programs):
        mark = f" ({number})" if number else ""
        chains += [
            _Chain(f"1 switch, links of 1 Gb/s{mark}", program, 1, _LINK),
            _Chain(f"3 switches, links of 1 Gb/s{mark}", program, 3, _LINK),
            _Chain(f"3 switches{mark}", program, 3),
        ]
    return chains


def _host(name: str, interface: str, addresses: Sequence[str]) -> None:
    """Makes a host of an interface: its own address and that of the other host, behind the switch."""
    own, other = addresses
    veth.ip("netns", "add", name)
    veth.ip("link", "set", interface, "netns", name)
    veth.ip("-n", name, "link", "set", interface, "address", ROUTER, "up")
    veth.ip("-n", name, "address", "add", f"{own}/24", "dev", interface)
    veth.ip("-n", name, "neighbour", "add", other, "lladdr", ROUTER, "dev", interface)
    # A switch takes no longer frame, and a bare forwarder completes no checksum.
    offloads = ["ethtool", "-K", interface, "tx", "off", "tso", "off", "gso", "off"]
    subprocess.run(["ip", "netns", "exec", name, *offloads], check=True, stdout=subprocess.DEVNULL)


def _start(chain: _Chain, number: int, stack: ExitStack) -> list[int]:
    """Runs a chain, and a server at its end, until the stack ends; gives the ids of their processes."""
    pids: list[int] = []

    def run(command: Sequence[str], log: Path | None = None) -> None:
        pids.append(stack.enter_context(Daemon(chain.name, command, log)).pid)

    for place in range(chain.switches + 1):
        left, right = f"c{number}r{place}", f"c{number}l{place}"
        veth.ip("link", "add", left, "up", "type", "veth", "peer", "name", right)
        veth.ip("link", "set", right, "up")
    _host(f"a{number}", f"c{number}r0", _ADDRESSES)
    _host(f"b{number}", f"c{number}l{chain.switches}", _ADDRESSES[::-1])
    for place in range(chain.switches):
        ports = f"c{number}l{place}", f"c{number}r{place + 1}"
        if chain.program:
            address = f"127.0.0.1:{veth.FIRST_GRPC_PORT + 10 * number + place}"
            command = [chain.program, "-i", f"1@{ports[0]}", "-i", f"2@{ports[1]}", "--no-p4"]
            command += ["--control-socket", "none", "--device-id", str(veth.DEVICE_ID)]
            command += ["--grpc-server-addr", address]
            run([*command, *chain.options])
            asyncio.run(veth.set_up(address, 1))
        else:
            for ways in (ports, ports[::-1]):
                run([str(veth.tool()), "forward", *ways])
    run(["ip", "netns", "exec", f"b{number}", "iperf3", "-s"], Path(os.devnull))
    return pids


class _Round(NamedTuple):
    gbps: float
    """Gb/s that arrived over one connection"""
    cost: float
    """processor time in s for a Gbit, of switches and hosts"""


def _measure(number: int, pids: Sequence[int]) -> _Round:
    client = ["ip", "netns", "exec", f"a{number}", "iperf3", "-c", _ADDRESSES[1], "-t", str(_SECONDS), "-J"]
    before = sum(map(cpu_ns, pids)) / 1e9 + ended_s()
    done = subprocess.run(client, check=True, stdout=subprocess.PIPE, timeout=_LIMIT_SECONDS)
    used = sum(map(cpu_ns, pids)) / 1e9 + ended_s() - before
    received = json.loads(done.stdout)["end"]["sum_received"]
    return _Round(received["bits_per_second"] / 1e9, used / (received["bytes"] * 8 / 1e9))


def _inside(programs: Sequence[str]) -> list[tuple[str, float, float, float]]:
    """The measurement, in namespaces of its own: median rate and ratio to the first chain; cost."""
    veth.prepare()
    chains = _chains(programs)
    with ExitStack() as stack:
        running = [_start(chain, number, stack) for number, chain in enumerate(chains)]
        rounds = [[_measure(number, pids) for number, pids in enumerate(running)] for _ in range(_ROUNDS)]
    return [
        (
            chain.name,
            statistics.median(each[number].gbps for each in rounds),
            statistics.median(each[number].gbps / each[0].gbps for each in rounds),
            min(each[number].cost for each in rounds),
        )
        for number, chain in enumerate(chains)
    ]


def figures(programs: Sequence[str] = ()) -> list[Figure]:
    """The figures of gfswitch, or of other builds of it. Needs root, ethtool and iperf3."""
    programs = programs or [str(find_program("gfswitch"))]
    return [
        Figure(
            f"TCP through {name}",
            round(gbps, 2),
            "Gb/s",
            f"{ratio:.2f} of the bare forwarders; {cost:.2f} s of a processor a Gbit, with the hosts' part",
        )
        for name, gbps, ratio, cost in veth.run_apart("experiments.bench.chain", json.dumps(programs))
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        json.dump(_inside(json.loads(sys.argv[2])), sys.stdout)
    else:
        for figure in figures(sys.argv[1:]):
            print(*figure)
