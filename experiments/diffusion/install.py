"""Puts the plan's flows under control, through the controller's REST API."""

from __future__ import annotations

from experiments.diffusion.result import Plan
from groupflow.lab.controller_process import ControllerProcess

FRAME_BYTES = 1514


def install(controller: ControllerProcess, plan: Plan) -> None:
    """Measures the links' delays and installs every flow. Raises ControllerError."""
    for flow in plan.flows:
        request = {
            "kind": "flow",
            "src": flow.sender,
            "dst": flow.receiver,
            "protocol": "tcp",
            "d": plan.diffusion,
            "packet_bytes": FRAME_BYTES,
        }
        controller.post("/diffusion", request)
