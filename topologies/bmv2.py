"""BMv2's simple_switch_grpc under Mininet.

It has no link emulation: rate, delay, loss and queue of the topology do not apply (the reports say so). The
sender's rate hint, which the controller takes from the topology, keeps the load within what BMv2 can carry.
"""

# pyright: reportUnknownMemberType=false

import shutil

from groupflow.client.errors import ProgramNotFoundError
from groupflow.topology import CPU_PORT, DROP_PORT, QUEUES, Switch
from topologies.p4switch import P4Switch, accepts

PROGRAM = "simple_switch_grpc"
_THRIFT_BASE = 9090
"""Thrift listens on this port plus the device id: BMv2 cannot do without, and each switch needs its own."""


class Bmv2Switch(P4Switch):
    kind = "bmv2"

    def command(self) -> list[str]:
        program = shutil.which(PROGRAM)
        if program is None:
            raise ProgramNotFoundError(f"no {PROGRAM} on PATH; install BMv2, or use gfswitch")
        return [program, *arguments(self.spec)]

    def ready(self) -> bool:
        host, _, port = self.spec.grpc.rpartition(":")
        return accepts(host, int(port))


def arguments(switch: Switch) -> list[str]:
    args = ["--no-p4", "--device-id", str(switch.device_id), "--log-console", "--log-level", "warn"]
    args += ["--thrift-port", str(_THRIFT_BASE + switch.device_id)]
    for port in switch.ports:
        args += ["-i", f"{port}@{switch.interface(port)}"]
    args += ["--", "--grpc-server-addr", switch.grpc]
    return [
        *args,
        "--cpu-port",
        str(CPU_PORT),
        "--drop-port",
        str(DROP_PORT),
        "--priority-queues",
        str(QUEUES),
    ]
