"""Measures the socket buffer and the number of TCP connections that a path needs (docs/how-to/probe.md).

probe = await groupflow.probe.measure("10.0.2.1")
probe.buffer, probe.connections
"""

from groupflow.probe.grid import measure
from groupflow.probe.model import (
    PORT,
    BusyError,
    Cell,
    Probe,
    ProbeError,
    ProbeOptions,
    RefusedError,
    recommend,
)

__all__ = [
    "PORT", "BusyError", "Cell", "Probe", "ProbeError", "ProbeOptions", "RefusedError",
    "measure", "recommend",
]  # fmt: skip
