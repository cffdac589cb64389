"""The network of `papers.sakajiri.network` as Mininet builds it, with links that gfswitch emulates."""

import yaml

from groupflow.files.topology import parse
from groupflow.lab.network import Network
from groupflow.model.topology import Topology
from papers.sakajiri import network as simulated
from papers.sakajiri.paper import Run

MTU = simulated.PACKET
"""bytes: a segment has netsim's 1,000 bytes of payload, with IP's and TCP's headers and timestamps"""
_SEEDS = 60


def topology(run: Run) -> Topology:
    """The network of a run. A switch draws losses by its device id: another seed gives other losses."""
    form = simulated.topology(run.case)
    for number, switch in enumerate(form["switches"].values(), 1):
        switch["device_id"] = run.seed % _SEEDS * 4 + number
    return parse(yaml.safe_dump(form, sort_keys=False), "gather")


def set_packets(network: Network) -> None:
    """Makes all hosts send packets of netsim's size."""
    for host in network.hosts.values():
        host.run_script(f"ip link set dev {host.spec.interface} mtu {MTU}")


def lengthen(network: Network, client: str, rtt_ms: int) -> None:
    """Changes the round trip of a client from now on."""
    delay = simulated.access_ns(rtt_ms)
    network.change_link(client, simulated.router(client), f"delay={delay}ns")
