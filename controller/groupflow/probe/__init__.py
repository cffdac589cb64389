"""Measures the socket buffer and the number of TCP connections that a path needs (docs/how-to/probe.md).

probe = await groupflow.probe.measure("10.0.2.1", token=token)
probe.buffer, probe.connections
"""

from groupflow.probe.client import measure
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
from groupflow.probe.server import ServeOptions, Server

__all__ = [
    "PORT",
    "BusyError",
    "Cell",
    "Probe",
    "ProbeError",
    "ProbeOptions",
    "RefusedError",
    "ServeOptions",
    "Server",
    "measure",
    "recommend",
]
