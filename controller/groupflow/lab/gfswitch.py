"""gfswitch under Mininet: emulates the topology's links, and reports their traffic."""

# pyright: reportUnknownMemberType=false

import subprocess
from pathlib import Path

from groupflow import units
from groupflow.agents.agent_process import find_program
from groupflow.data import RUN_FOLDER
from groupflow.lab.p4switch import P4Switch
from groupflow.model.topology import CPU_PORT, DROP_PORT, QUEUES, LinkSpec, Switch, Topology
from groupflow.p4rt.connection import ControlError, ask


class GfSwitch(P4Switch):
    kind = "gfswitch"

    def command(self) -> list[str]:
        options = arguments(self.topology, self.spec, self.socket_path)
        return [str(find_program("gfswitch")), *options, *([f"--pcap={self.pcap}"] if self.pcap else [])]

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


def arguments(topology: Topology, switch: Switch, socket_path: Path) -> list[str]:
    """The command line that attaches every port and emulates every link of the switch."""
    args = ["--device-id", str(switch.device_id), "--grpc-server-addr", switch.grpc]
    args += [str(switch.program)] if switch.program else ["--no-p4"]
    args += ["--p4info", str(switch.p4info)] if switch.p4info else []
    args += ["--cpu-port", str(CPU_PORT), "--drop-port", str(DROP_PORT), "--priority-queues", str(QUEUES)]
    args += ["--control-socket", str(socket_path), "--seed", str(switch.device_id), "--log-level", "warn"]
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
