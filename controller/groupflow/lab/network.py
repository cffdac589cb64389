"""Brings a topology to life with Mininet, and takes it away again: processes, namespaces, interfaces."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false
# (Mininet has no types.)
import logging
import os
import shutil
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Never

from groupflow import needs, units
from groupflow.data import DISSECTOR, RUN_FOLDER
from groupflow.errors import Error
from groupflow.lab import kernel_link
from groupflow.lab.host import GroupHost, LastingShell
from groupflow.lab.links import RECORD, Links
from groupflow.lab.mininet import Link, Mininet
from groupflow.lab.registry import Reservation, SwitchKind, delete_interfaces
from groupflow.lab.switches import Bmv2Switch, GfSwitch, P4Switch, tick_interfaces
from groupflow.model.topology import Topology
from groupflow.processes import GROUPFLOW, Daemon, DaemonError

log = logging.getLogger(__name__)

UNSHARE = ("unshare", "--net", "--mount", "--propagation", "private")
_IN_NAMESPACES = f"""
mount -t sysfs sysfs /sys
mkdir -p {RUN_FOLDER}
mount -t tmpfs -o mode=700 tmpfs {RUN_FOLDER}
ip link set lo up
exec "$@"
"""
"""run in new namespaces: what a network needs there"""
KINDS: dict[str, type[P4Switch]] = {"gfswitch": GfSwitch, "bmv2": Bmv2Switch}


class Network:
    """A running network. Made by `running`."""

    def __init__(self, topology: Topology, mininet: Any, kind: SwitchKind, folder: Path) -> None:
        """Logs and the record of its links go to `folder`."""
        self.topology = topology
        self.mininet = mininet
        """the Mininet object, for Mininet's own tools, e.g. `mininet.cli.CLI(network.mininet)`"""
        self.hosts: dict[str, GroupHost] = {}
        self.switches: dict[str, P4Switch] = {}
        self.daemons: list[Daemon] = []
        self.kind: SwitchKind = kind
        (record := folder / RECORD).unlink(missing_ok=True)
        self.links = Links(
            topology, kind, record, RUN_FOLDER, Path("/"), lambda node: mininet[node].launcher()
        )

    def gfswitch(self, name: str) -> GfSwitch:
        switch = self.switches[name]
        if not isinstance(switch, GfSwitch):
            raise Error(f"{name} is {switch.kind}: only gfswitch emulates links; use --switch gfswitch")
        return switch

    def forget_daemon(self, daemon: Daemon) -> None:
        """Ends a process, of which nothing is told any more."""
        self.daemons.remove(daemon)
        daemon.stop()

    def start_daemon(self, daemon: Daemon) -> Daemon:
        """Starts a process in the root namespace that ends with this network, such as the controller."""
        self.daemons.append(daemon)
        daemon.start()
        return daemon

    @property
    def nodes(self) -> tuple[LastingShell, ...]:
        return (*self.hosts.values(), *self.switches.values())

    @property
    def processes(self) -> tuple[Daemon, ...]:
        """Switches, and what was started beside them and in hosts."""
        return (*(switch.daemon for switch in self.switches.values()), *self.daemons)

    def check(self) -> None:
        """Raises DaemonError when a switch or another process of the network has died."""
        for daemon in self.processes:
            daemon.check()

    def restart(self, name: str) -> None:
        """Starts a switch again that was stopped or killed, with its links as they are now."""
        self.switches[name].launch()
        self.links.restore(name)

    def change_link(self, one: str, other: str, change: str) -> None:
        """Changes the link between two nodes: `down`, `up`, `rate=1mbit`. Raises KeyError where none is."""
        self.links.change(self.topology.link_between(one, other), change)

    def build(self, folder: Path, kind: type[P4Switch], pcap: Path) -> None:
        for name, host in self.topology.hosts.items():
            self.hosts[name] = self.mininet.addHost(name, cls=GroupHost, host=host, ip=None)
        for name in self.topology.switches:
            self.switches[name] = self.mininet.addSwitch(
                name, cls=kind, topology=self.topology, folder=folder, pcap=pcap
            )
        nodes = {**self.hosts, **self.switches}
        for link in self.topology.links:
            self.mininet.addLink(
                nodes[link.a.node], nodes[link.b.node], port1=link.a.port, port2=link.b.port, cls=Link
            )
        for host in self.hosts.values():
            host.set_up()
        for switch in self.switches.values():
            switch.start()
        for link in self.topology.links:
            if self.kind == "bmv2" and link.spec.loss and kernel_link.is_offered():
                self.links.change(link, f"loss={units.format_loss(link.spec.loss)}")

    def start_programs(self, folder: Path) -> None:
        """Starts the programs that the topology has for its hosts; their output goes to `folder`."""
        for name, host in self.hosts.items():
            for number, text in enumerate(host.spec.programs, 1):
                command = [*host.launcher(), "sh", "-c", text]
                output = folder / f"{name}-program{number}.log"
                known = {"GROUPFLOW_NAME": name}
                self.start_daemon(
                    Daemon(f"{name} ({text})", command, output, environment=known, may_end=True)
                )

    def tear_down(self) -> None:
        """Takes the network down. Goes on when a step fails: the next run removes the rest.

        Raises DaemonError for a process that has failed before, as when a capture met a full disk.
        """
        with ExitStack() as steps:  # runs every step, last one first
            for host in self.hosts.values():
                steps.callback(host.terminate)
            for switch in self.switches.values():
                steps.callback(switch.terminate)
            steps.callback(kernel_link.forget, interfaces(self.topology, self.kind))
            steps.callback(delete_interfaces, interfaces(self.topology, self.kind))
            for switch in self.switches.values():
                steps.callback(_end, switch.daemon)
            for host in self.hosts.values():
                steps.callback(_end_processes, host)
            for daemon in self.daemons:
                steps.callback(_end, daemon)


@contextmanager
def running(
    topology: Topology, folder: Path, kind: SwitchKind = "gfswitch", pcap: Path | None = None
) -> Generator[Network]:
    """The topology as a running network, without a controller. Logs go to `folder`, captured frames
    and a dissector for Wireshark to `pcap` (default: a folder in it).

    Call from the main thread. Raises Error.
    """
    check_rights()
    if kind != "gfswitch" and any(link.schedule for link in topology.links):
        raise Error(f"{topology.name} has a schedule, for which only gfswitch emulates links")
    # Mininet's own preparation raises limits of the whole machine for good; networks of this size need none.
    Mininet.inited = True
    captures = pcap or folder / "pcap"
    make_folder(folder)
    if topology.pcap:
        make_folder(captures)
        shutil.copyfile(DISSECTOR, captures / DISSECTOR.name)
    with Reservation(interfaces(topology, kind)):
        mininet = Mininet(controller=None, build=False)
        network = Network(topology, mininet, kind, folder)
        try:
            network.build(folder, KINDS[kind], captures)
            log.info("network started name=%s switch=%s", topology.name, kind)
            yield network
        finally:
            with _uninterrupted():
                network.tear_down()


def check_rights(command: Sequence[str] = ("mnexec", "-n")) -> None:
    """Raises Error where `command` may not run another in a namespace, or a program is missing.

    Mininet, which makes hosts by mnexec, waits for ever for the shell of a host that could not be made.
    """
    if os.geteuid() != 0:
        raise Error("root is needed to make network namespaces; use sudo")
    needs.programs("mnexec", "unshare", "ip", "ethtool", "sysctl")
    done = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Error(f"no right to make namespaces here ({why}); a container needs --privileged")


def interfaces(topology: Topology, kind: SwitchKind) -> list[str]:
    """The network's interfaces in the root namespace: those of the switches, and BMv2's for ticks."""
    switches = topology.switches.values()
    wires = [switch.interface(port) for switch in switches for port in switch.ports]
    ticks = [tick_interfaces(switch)[0] for switch in switches] if kind == "bmv2" else []
    return wires + ticks


def processes_in(namespace: int) -> Sequence[int]:
    """Processes in a network namespace, given by its inode number."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):  # ended meanwhile
                if (entry / "ns/net").stat().st_ino == namespace:
                    found.append(int(entry.name))
    return found


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Holds back a second Ctrl-C until the network is taken down."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(daemon: Daemon) -> None:
    if failure := daemon.stop():
        raise DaemonError(failure)


def _end_processes(host: GroupHost) -> None:
    """Ends the processes in a host. Its namespace belongs to this network, and so do all of them."""
    if host.namespace == Path("/proc/self/ns/net").stat().st_ino:
        raise Error("the namespace is this process's own, not a host's")
    for pid in processes_in(host.namespace):
        if pid != host.pid:
            log.warning("ending a process left in a host host=%s pid=%d", host.name, pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def run_again(arguments: Sequence[str], environment: Mapping[str, str], keep: Sequence[int]) -> Never:
    """Replaces this process by `groupflow ARGUMENTS` in namespaces of its own; `keep` are descriptors that
    stay open. The pid stays."""
    for descriptor in keep:
        os.set_inheritable(descriptor, True)
    command = [*UNSHARE, "sh", "-ec", _IN_NAMESPACES, "sh", *GROUPFLOW, *arguments]
    os.execvpe(command[0], command, {**os.environ, **environment})


def make_folder(folder: Path) -> None:
    """Makes a folder, with those above it, for the caller of sudo."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        if (caller := _caller()) is not None:
            os.chown(folder, *caller)


def hand_over(folder: Path, since: float) -> None:
    """Gives root's files in a folder of the caller of sudo to that caller: those that changed since a time,
    so that others of root, which may stand there too, stay root's."""
    caller = _caller()
    if caller is None or not folder.is_dir() or folder.stat().st_uid != caller[0]:
        return
    for here, folders, files in os.walk(folder):
        for path in (Path(here, name) for name in (*folders, *files)):
            with suppress(OSError):  # gone meanwhile
                if path.lstat().st_uid == 0 and path.lstat().st_mtime >= since:
                    os.chown(path, *caller, follow_symlinks=False)


def _caller() -> tuple[int, int] | None:
    """User and group that called sudo; None: nobody did."""
    user, group = (os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
    return (int(user), int(group)) if os.geteuid() == 0 and user.isdecimal() and group.isdecimal() else None
