"""The part that both kinds of P4 switch share under Mininet: a process in the root namespace, watched."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false
# (Mininet has no types.)

import socket
from abc import abstractmethod
from pathlib import Path
from typing import Any

from groupflow.lab.host import LastingShell, interface_script
from groupflow.lab.mininet import MininetSwitch
from groupflow.model.topology import Switch, Topology, TopologyError
from groupflow.processes import Daemon, DaemonError

PRIORITY = -15
"""nice value; a host that waits for a CPU delays itself only, a waiting switch delays all hosts"""


class P4Switch(LastingShell, MininetSwitch):
    """A switch process attached to the switch's interfaces, without a program: the controller sets one."""

    kind = ""
    """the program's name, as in `--switch`"""

    def __init__(self, name: str, topology: Topology, folder: Path, pcap: Path, **params: Any) -> None:
        """`folder` is for the log and the other files of the process, `pcap` for the frames of its ports,
        where the topology wants those."""
        self.topology = topology
        self.spec: Switch = topology.switches[name]
        self.folder = folder
        self.pcap = pcap if name in topology.pcap else None
        self._launches = 0
        self.daemon = Daemon(f"{name} ({self.kind})", self.command(), folder / f"{name}.log", nice=PRIORITY)
        params["inNamespace"] = False  # the controller reaches its P4Runtime server
        super().__init__(name, dpid=f"{self.spec.device_id:x}", **params)

    @abstractmethod
    def command(self) -> list[str]:
        """The command line of the process."""

    def dpctl(self, *args: Any) -> str:
        """Mininet's `dpctl` is for OpenFlow switches."""
        return f"{self.name} speaks P4Runtime, at {self.spec.grpc}\n"

    @abstractmethod
    def ready(self) -> bool:
        """Whether the process serves P4Runtime."""

    def start(
        self, controllers: object = None
    ) -> None:  # `controllers` is Mininet's; P4Runtime clients connect by themselves
        for port in self.spec.ports:
            self.run_script(interface_script(self.spec.interface(port)), f"setting up port {port}")
        self.launch()

    def stop(self, deleteIntfs: bool = False) -> None:  # noqa: N803 (Mininet's name)
        self.daemon.stop()
        super().stop(deleteIntfs)

    def launch(self) -> None:
        """Starts the process: at first, and as empty again when it was killed. Frames captured before are
        kept beside those that follow."""
        _, port = address = self.spec.grpc_address
        if accepts(*address):
            raise DaemonError(
                f"{self.name}: port {port} is in use; free it, or change `grpc` in the topology"
            )
        if self._launches and self.pcap:
            for file in self.pcap.glob(f"{self.name}-eth*.pcap*"):
                if "." not in file.stem:
                    file.rename(file.with_stem(f"{file.stem}.{self._launches}"))
        self._launches += 1
        self.daemon.start()
        try:
            self.daemon.wait_ready(self.ready)
        except DaemonError:
            refusal = self.daemon.last_line().removeprefix(f"{self.kind}: ")
            if self.spec.program is not None and refusal.startswith(f"{self.spec.program}: "):
                raise TopologyError(f"{refusal}; name a program that {self.kind} takes") from None
            raise


def accepts(host: str, port: int) -> bool:
    """Whether a server listens at the address."""
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False
