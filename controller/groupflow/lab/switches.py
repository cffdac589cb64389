"""P4 switches under Mininet: gfswitch, and BMv2's simple_switch_grpc. Each is a watched process in the root
namespace.

gfswitch emulates the topology's links, and reports their traffic. BMv2 has no link emulation: rate, delay and
queue of the topology do not apply (the reports say so), and the kernel loses frames. The sender's rate hint,
which the controller takes from the topology, keeps the load within BMv2's capacity.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false
# (Mininet has no types.)

import shutil
import socket
import subprocess
from abc import abstractmethod
from pathlib import Path
from typing import Any

from groupflow import units
from groupflow.agents.agent_process import find_program
from groupflow.data import RUN_FOLDER
from groupflow.lab.host import LastingShell, interface_script
from groupflow.lab.mininet import MininetSwitch
from groupflow.model.topology import CPU_PORT, DROP_PORT, QUEUES, LinkSpec, Switch, Topology, TopologyError
from groupflow.needs import MissingError
from groupflow.p4rt.connection import ControlError, ask
from groupflow.processes import Daemon, DaemonError

PRIORITY = -15
"""nice value; a host that waits for a CPU delays itself only, a waiting switch delays all hosts"""
BMV2 = "simple_switch_grpc"
_THRIFT_BASE = 9090
"""Thrift listens at this port plus the device id: BMv2 always opens it, and each switch needs its own."""
_TARGET = ("--cpu-port", str(CPU_PORT), "--drop-port", str(DROP_PORT), "--priority-queues", str(QUEUES))


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
        command = self.command()
        command[1:1] = [f"--pcap={self.pcap}"] if self.pcap else []
        self.daemon = Daemon(f"{name} ({self.kind})", command, folder / f"{name}.log", nice=PRIORITY)
        params["inNamespace"] = False  # the controller reaches its P4Runtime server
        super().__init__(name, dpid=f"{self.spec.device_id:x}", **params)

    @abstractmethod
    def command(self) -> list[str]:
        """The program and its arguments."""

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


class GfSwitch(P4Switch):
    kind = "gfswitch"

    def command(self) -> list[str]:
        return [
            str(find_program("gfswitch")),
            *gfswitch_arguments(self.topology, self.spec, self.socket_path),
        ]

    @property
    def socket_path(self) -> Path:
        return RUN_FOLDER / f"{self.spec.name}.sock"  # a Unix socket's path is short: not in `folder`

    def dpctl(self, *args: str) -> str:
        """Mininet's `dpctl`, with the subcommands of gfswitch: `dpctl stats`."""
        command = [str(find_program("gfswitch")), args[0], "--socket", str(self.socket_path), *args[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def ready(self) -> bool:
        return "gfswitch ready" in self.daemon.output()

    def stats(self, *, reset: bool = False) -> dict[str, object]:
        """Counters, queues and lateness; `reset` starts new lateness figures. Raises ControlError."""
        try:
            return ask(self.socket_path, {"op": "stats", "reset": reset})
        except ControlError as error:
            raise ControlError(f"{self.spec.name}: {error}") from None


def gfswitch_arguments(topology: Topology, switch: Switch, socket_path: Path) -> list[str]:
    """The command line that attaches every port and emulates every link of the switch."""
    args = ["--device-id", str(switch.device_id), "--grpc-server-addr", switch.grpc]
    args += [str(switch.program)] if switch.program else ["--no-p4"]
    args += ["--p4info", str(switch.p4info)] if switch.p4info else []
    args += [
        *_TARGET,
        "--control-socket",
        str(socket_path),
        "--seed",
        str(switch.device_id),
        "--log-level",
        "warn",
    ]
    for port in switch.ports:
        args += ["--interface", f"{port}@{switch.interface(port)}"]
    for link in topology.links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if near.node == switch.name:
                # Between two switches each emulates the frames it sends; a host's link is all the switch's.
                direction = "out" if far.node in topology.switches else "both"
                args += ["--link", f"{near.port}:{link_spec(link.spec)},dir={direction}"]
    return args


def link_spec(spec: LinkSpec) -> str:
    return (
        f"rate={units.format_rate(spec.rate)},delay={units.format_delay(spec.delay_ns)},"
        f"loss={units.format_loss(spec.loss)},queue={spec.queue}"
    )


class Bmv2Switch(P4Switch):
    kind = "bmv2"

    def command(self) -> list[str]:
        program = shutil.which(BMV2)
        if program is None:
            raise MissingError(f"no {BMV2} on PATH; install p4lang/behavioral-model, or use gfswitch")
        return [program, *bmv2_arguments(self.spec)]

    def start(self, controllers: object = None) -> None:
        """Starts the switch with a veth pair at port 0, into whose other end the rate agent sends ticks."""
        near, far = tick_interfaces(self.spec)
        pair = f"ip link add {near} type veth peer name {far}"
        script = "\n".join((pair, interface_script(near), interface_script(far)))
        self.run_script(script, "setting up port 0")
        super().start(controllers)

    def ready(self) -> bool:
        return accepts(*self.spec.grpc_address)


def tick_interfaces(switch: Switch) -> tuple[str, str]:
    """Names of the veth pair at port 0: the switch's end, and the rate agent's."""
    return f"{switch.name}-gen", f"{switch.name}-tick"


def thrift_port(switch: Switch) -> int:
    return _THRIFT_BASE + switch.device_id


def bmv2_arguments(switch: Switch) -> list[str]:
    args = [str(switch.program) if switch.program else "--no-p4", "--device-id", str(switch.device_id)]
    args += ["--log-console", "--log-level", "warn"]
    args += ["--thrift-port", str(thrift_port(switch)), "-i", f"0@{tick_interfaces(switch)[0]}"]
    for port in switch.ports:
        args += ["-i", f"{port}@{switch.interface(port)}"]
    return [*args, "--", "--grpc-server-addr", switch.grpc, *_TARGET]
