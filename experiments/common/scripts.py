"""TCP programs (tcp.py) in hosts of a network, which print their measurements as JSON objects, one a line."""

import json
import sys
from pathlib import Path
from typing import Any

from groupflow.lab.network import Network
from groupflow.processes import Daemon

SCRIPT = Path(__file__).with_name("tcp.py")


def script(network: Network, host: str, log: Path, *words: object, may_end: bool = True) -> Daemon:
    """A program for a host, which does not run yet."""
    command = [*network.hosts[host].launcher(), sys.executable, "-I", str(SCRIPT), *map(str, words)]
    return Daemon(f"{host} ({SCRIPT.name} {words[0]})", command, log, may_end=may_end)


def samples(running: Daemon) -> list[dict[str, Any]]:
    """The objects that it has printed, except for an incomplete last one."""
    lines = running.output().split("\n")[:-1]
    return [json.loads(line) for line in lines if line.startswith("{")]
