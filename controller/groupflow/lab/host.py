"""The Mininet host: one interface, a default route through its switch, and packets as on a real wire; and
the shell that every node has."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false
# (Mininet has no types.)

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groupflow.lab.mininet import MininetHost, Node
from groupflow.model.topology import Host
from groupflow.processes import DaemonError

OFFLOADS = ("tx", "rx", "sg", "tso", "gso", "gro")
"""Turned off on every interface: a switch must see frames of at most 1,514 bytes, checksums filled in."""


_TCP = "net.ipv4.tcp_congestion_control"
_END_OF_COMMAND = b"\x7f"
"""the prompt of a node's shell, at which Mininet knows the end of a command"""


class LastingShell(Node):
    """A node whose shell is started again when it ended, be it by `exit`."""

    name: str
    slave: Any

    def renew(self) -> bool:
        """Starts the shell again if it ended, when nobody waits for its command any more. Whether it did."""
        if self.shell is None or self.shell.poll() is None:
            return False
        if self.waiting:
            os.write(self.slave, _END_OF_COMMAND)
            return False
        stdin: Any = self.stdin
        stdin.close()
        os.close(self.slave)
        self.shell = None
        self.startShell()
        return True

    def launcher(self) -> tuple[str, ...]:
        """Words before a command that run it at this node; the command keeps the launcher's pid."""
        return ("mnexec", "-a", str(self.pid)) if self.inNamespace else ()

    def run(self, command: Sequence[str], timeout: float = 30.0) -> subprocess.CompletedProcess[str]:
        """Runs a command at this node to its end."""
        return subprocess.run(
            [*self.launcher(), *command], capture_output=True, text=True, timeout=timeout, check=False
        )

    def run_script(self, script: str, what: str | None = None) -> None:
        """Runs a shell's commands at this node to their end; an error calls them `what`. Raises
        DaemonError."""
        done = self.run(["sh", "-ec", script])
        if done.returncode != 0:
            why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise DaemonError(f"{self.name}: {what or script}: failed: {why}")


class GroupHost(LastingShell, MininetHost):
    """A network namespace with the address, MAC and routes that the topology gives to the host."""

    def __init__(self, name: str, host: Host, **params: Any) -> None:
        self.spec = host
        self._namespaces: list[int] = []
        super().__init__(name, **params)
        own = Path(f"/proc/{self.pid}/ns")
        self.namespace = (own / "net").stat().st_ino
        """the inode number of its network namespace"""
        # Descriptors, which keep the namespaces when the shell ends.
        self._namespaces = [os.open(own / kind, os.O_RDONLY) for kind in ("net", "mnt")]

    def _popen(self, cmd: list[str], **params: Any) -> Any:
        """Mininet's start of the shell: one that is started again enters the namespaces of the first."""
        if self._namespaces:
            net, mounts = (f"/proc/{os.getpid()}/fd/{each}" for each in self._namespaces)
            enter = ["nsenter", f"--net={net}", f"--mount={mounts}", f"--wdns={Path.cwd()}"]
            cmd = [*enter, cmd[0], cmd[1].replace("n", ""), *cmd[2:]]
        return super()._popen(cmd, **params)

    def terminate(self) -> None:
        super().terminate()
        while self._namespaces:
            os.close(self._namespaces.pop())

    def __repr__(self) -> str:
        """As `dump` shows it, with the TCP of its sockets."""
        return super().__repr__().replace("> ", f" tcp={tcp(self.launcher()) or '-'}> ")

    def set_up(self) -> None:
        """Gives the interface its addresses and routes, and runs the topology's commands; call it when the
        host's link is made. Raises DaemonError."""
        self.run_script(host_script(self.spec), "setting up its network")
        # Mininet's own commands (`pingall`, `iperf`, `h1 ping h2`) ask the interface for its address.
        interface: Any = self.intf(self.spec.interface)
        interface.ip, interface.prefixLen = str(self.spec.ip), str(self.spec.prefix)
        interface.mac = self.spec.mac
        for command in self.spec.commands:
            self.run_script(command)


def tcp(launcher: Sequence[str]) -> str | None:
    """The congestion control of new sockets at a node to which a launcher leads; None: it is not known."""
    script = f"ip route show default | sed -n 's/.* congctl \\([^ ]*\\).*/\\1/p' | grep . || sysctl -n {_TCP}"
    command = [*launcher, "sh", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or None


def tcp_script(name: str) -> str:
    """Shell commands that give a host's sockets a congestion control. One that the machine restricts is no
    namespace's default, but may be that of its routes."""
    routes = f'ip -4 route show | while read -r route; do ip route replace $route congctl "{name}"; done'
    unknown = f"tcp: {name} is none of the kernel's: $(sysctl -n net.ipv4.tcp_available_congestion_control)"
    return (
        f'sysctl -qw {_TCP}={name} 2>/dev/null || {routes} 2>/dev/null || {{ echo "{unknown}" >&2; exit 1; }}'
    )


def environment(node: str) -> dict[str, str]:
    """The environment of a program at a node: the node's name, and a shell's prompt that shows the name."""
    prompt = f"({node}) "
    named = {"GROUPFLOW_NAME": node, "PS1": f"{prompt}# "}
    # bash reads its own PS1 from files; this changes it before each prompt.
    return named | {"PROMPT_COMMAND": f'PS1="{prompt}${{PS1#"{prompt}"}}"'}


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
            *([tcp_script(host.tcp)] if host.tcp else []),
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
