"""BMv2's simple_switch_grpc under Mininet.

It has no link emulation: rate, delay and queue of the topology do not apply (the reports say so), and the
kernel loses frames. The sender's rate hint, which the controller takes from the topology, keeps the load
within BMv2's capacity.
"""

# pyright: reportUnknownMemberType=false

import shutil

from groupflow.agents.errors import ProgramNotFoundError
from groupflow.lab.host import interface_script
from groupflow.lab.p4switch import P4Switch, accepts
from groupflow.model.topology import CPU_PORT, DROP_PORT, QUEUES, Switch

PROGRAM = "simple_switch_grpc"
_THRIFT_BASE = 9090
"""Thrift listens at this port plus the device id: BMv2 always opens it, and each switch needs its own."""


class Bmv2Switch(P4Switch):
    kind = "bmv2"

    def command(self) -> list[str]:
        program = shutil.which(PROGRAM)
        if program is None:
            raise ProgramNotFoundError(
                f"no {PROGRAM} on PATH; install p4lang/behavioral-model, or use gfswitch"
            )
        return [program, *([f"--pcap={self.pcap}"] if self.pcap else []), *arguments(self.spec)]

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


def arguments(switch: Switch) -> list[str]:
    args = [str(switch.program) if switch.program else "--no-p4", "--device-id", str(switch.device_id)]
    args += ["--log-console", "--log-level", "warn"]
    args += ["--thrift-port", str(thrift_port(switch)), "-i", f"0@{tick_interfaces(switch)[0]}"]
    for port in switch.ports:
        args += ["-i", f"{port}@{switch.interface(port)}"]
    args += ["--", "--grpc-server-addr", switch.grpc, "--cpu-port", str(CPU_PORT)]
    return [*args, "--drop-port", str(DROP_PORT), "--priority-queues", str(QUEUES)]
