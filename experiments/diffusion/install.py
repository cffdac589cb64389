"""Puts the plan's flows under control, through the controller's REST API; hosts that shape them."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from experiments.diffusion.result import Plan
from groupflow.agents.programs import find_program
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.network import Network
from groupflow.processes import Daemon

FRAME_BYTES = 1514


def install(controller: ControllerProcess, plan: Plan, *, external: bool) -> dict[str, int]:
    """Measures the links' delays and installs every flow. Raises UnavailableError. Returns their numbers."""
    numbers: dict[str, int] = {}
    for flow in plan.flows:
        request = {
            "kind": "flow",
            "src": flow.sender,
            "dst": flow.receiver,
            "protocol": "tcp",
            "d": plan.diffusion,
            "packet_bytes": FRAME_BYTES,
            "external": external,
        }
        numbers[flow.name] = cast(dict[str, int], controller.post("/diffusion", request))["flow"]
    return numbers


def shape(network: Network, plan: Plan, numbers: Mapping[str, int], logs: Path) -> None:
    """Has each sender's host shape its flow to the rate that its switch reports. Raises DaemonError."""
    program = str(find_program("gfagent"))
    for flow in plan.flows:
        host = network.hosts[flow.sender]
        iface = network.topology.hosts[flow.sender].interface
        packets = f"{numbers[flow.name]}=tcp:{network.topology.hosts[flow.receiver].ip}:{flow.port}"
        command = [*host.launcher(), program, "shape", "--iface", iface, "--flow", packets, "--json"]
        log = logs / f"shape-{flow.sender}.log"
        daemon = network.start_daemon(Daemon(f"gfagent shape on {flow.sender}", command, log))
        daemon.wait_ready(lambda daemon=daemon: '"ready"' in daemon.output())
