"""The chain on BMv2: its queues get the rates and depths of the links, and rate agents carry the control.

BMv2 emulates no delay, and a rate agent's feedback comes every 2 ms: netsim's links are given that delay.
"""

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from groupflow.control.diffusion.bmv2_agent import LEAST_PERIOD_NS, LEFT_BEHIND
from groupflow.control.diffusion.plan import QUEUES
from groupflow.control.diffusion.thrift_client import ThriftClient
from groupflow.lab import bmv2
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.daemon import Daemon
from groupflow.lab.network import Network
from groupflow.network import variants
from groupflow.network.topology import Topology

RATE = 6_000_000
"""bit/s that six BMv2 switches carry on two cores, without the rate agents, which need more"""
_FRAME_BITS = 1514 * 8


def slowed(topology: Topology) -> Topology:
    """The chain at a rate that BMv2 can do."""
    links = variants.with_rate(topology, RATE).links
    near = [
        replace(link, spec=replace(link.spec, delay_ns=LEAST_PERIOD_NS)) if link.spec.delay_ns else link
        for link in links
    ]
    return replace(topology, links=tuple(near))


def start_agents(network: Network, controller: ControllerProcess, logs: Path) -> None:
    """Starts a rate agent beside every switch. Raises DaemonError."""
    for switch in network.topology.switches.values():
        words = ["bmv2-agent", switch.name, "--thrift", f"127.0.0.1:{bmv2.thrift_port(switch)}"]
        words += ["--interface", bmv2.tick_interfaces(switch)[1], "--api", controller.url, "--refresh", "0.2"]
        command = [sys.executable, "-m", "groupflow.cli.main", *words]
        daemon = Daemon(f"rate agent of {switch.name}", command, logs / f"agent-{switch.name}.log")
        network.start_daemon(daemon)
        daemon.wait_ready(lambda daemon=daemon: "ready" in daemon.output())


class Queues:
    """The queues of the switches towards the next one."""

    def __init__(self, network: Network) -> None:
        """Gives them the rates and depths of their links. Raises ThriftError."""
        self._queues: list[tuple[ThriftClient, int]] = []
        topology = network.topology
        for here, there in pairwise(topology.switches):
            client = ThriftClient("127.0.0.1", bmv2.thrift_port(topology.switches[here]))
            spec, port = topology.link_between(here, there).spec, topology.port_to(here, there)
            for queue in range(QUEUES):
                client.set_queue_rate(port, queue, (spec.rate or 0) // _FRAME_BITS)
                client.set_queue_depth(port, queue, spec.queue)
            self._queues.append((client, port))

    def waiting(self) -> list[int]:
        """Packets in each switch, as the last packet that left saw them. Raises ThriftError."""
        return [
            sum(client.read_register(LEFT_BEHIND, port * QUEUES + queue) for queue in range(QUEUES))
            for client, port in self._queues
        ]

    def dropped(self) -> None:
        """BMv2 does not count the packets that a full queue refuses."""
