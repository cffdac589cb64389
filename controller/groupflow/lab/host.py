"""The Mininet host: one interface, a default route through its switch, and packets as on a real wire."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false
# (Mininet has no types.)

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mininet.node import Host as MininetHost

from groupflow.model.topology import Host
from groupflow.processes import DaemonError

OFFLOADS = ("tx", "rx", "sg", "tso", "gso", "gro")
"""Turned off on every interface: a switch must see frames of at most 1,514 bytes, checksums filled in."""


class GroupHost(MininetHost):
    """A network namespace with the address, MAC and routes that the topology gives to the host."""

    def __init__(self, name: str, host: Host, **params: Any) -> None:
        self.spec = host
        super().__init__(name, **params)
        self.namespace = Path(f"/proc/{self.pid}/ns/net").stat().st_ino
        """the inode number of its network namespace"""

    def set_up(self) -> None:
        """Gives the interface its addresses and routes, and runs the topology's commands; call it when the
        host's link is made. Raises DaemonError."""
        self.run_script(host_script(self.spec))
        # Mininet's own commands (`pingall`, `iperf`, `h1 ping h2`) ask the interface for its address.
        interface: Any = self.intf(self.spec.interface)
        interface.ip, interface.prefixLen = str(self.spec.ip), str(self.spec.prefix)
        interface.mac = self.spec.mac
        for command in self.spec.commands:
            self.run_script(command)

    def launcher(self) -> tuple[str, ...]:
        """Words before a command that run it in this host; the command keeps the launcher's pid."""
        return ("mnexec", "-a", str(self.pid))

    def run(self, command: Sequence[str], timeout: float = 30.0) -> subprocess.CompletedProcess[str]:
        """Runs a command in this host to its end."""
        return subprocess.run(
            [*self.launcher(), *command], capture_output=True, text=True, timeout=timeout, check=False
        )

    def run_script(self, script: str) -> None:
        """Runs a shell's commands in this host to their end. Raises DaemonError."""
        done = self.run(["sh", "-ec", script])
        if done.returncode != 0:
            what = script if script in self.spec.commands else "setting up its network"
            why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise DaemonError(f"{self.name}: {what}: failed: {why}")


def host_script(host: Host) -> str:
    """Shell commands that set up the host's network from inside its namespace."""
    iface = host.interface
    gateway = f"ip neigh replace {host.gateway} lladdr {host.gateway_mac} dev {iface}"
    neighbour = [gateway] if host.fixed_gateway else []
    return "\n".join(
        [
            "ip link set lo up",
            f"ip link set dev {iface} address {host.mac}",
            interface_script(iface),
            # All sources are reached by the default route, multicast sources by none: no reverse-path filter.
            "sysctl -qw net.ipv4.conf.all.rp_filter=0",
            f"sysctl -qw net.ipv4.conf.{iface}.rp_filter=0",
            f"ip addr add {host.ip}/{host.prefix} dev {iface}",
            f"ip route add default via {host.gateway} dev {iface}",
            f"ip route add 224.0.0.0/4 dev {iface}",
            *neighbour,
            *(_ipv6_lines(host) if host.ip6 else ()),
        ]
    )


def _ipv6_lines(host: Host) -> list[str]:
    """Commands that give the host its IPv6 address, with as few packets of its own as Linux can do with."""
    iface, gateway = host.interface, host.gateway6
    quiet = ("accept_ra=0", "router_solicitations=0", "dad_transmits=0", "addr_gen_mode=1", "disable_ipv6=0")
    lines = [f"sysctl -qw net.ipv6.conf.{iface}.{setting}" for setting in quiet]
    lines.append(f"ip -6 addr add {host.ip6} dev {iface} nodad")
    if gateway:
        lines.append(f"ip -6 route add default via {gateway} dev {iface}")
        lines.append(f"ip -6 neigh replace {gateway} lladdr {host.gateway_mac} dev {iface}")
    return lines


def interface_script(iface: str) -> str:
    """Shell commands that make an interface carry its owner's packets only, unaltered, and bring it up."""
    no_ipv6 = f"/proc/sys/net/ipv6/conf/{iface}/disable_ipv6"
    offloads = " ".join(f"{name} off" for name in OFFLOADS)
    return "\n".join(
        [
            # Neighbour discovery and router solicitations would be counted as traffic of the experiment.
            f"[ ! -e {no_ipv6} ] || echo 1 >{no_ipv6}",
            f"ethtool -K {iface} {offloads} >/dev/null",
            f"ip link set dev {iface} up",
        ]
    )
