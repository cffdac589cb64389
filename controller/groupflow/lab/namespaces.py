"""Namespaces for one network: its switches' interfaces and ports, and its sockets, meet those of no other."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Never

from groupflow.lab.leftovers import RUN_FOLDER
from groupflow.lab.network import UNSHARE

_SCRIPT = f"""
mount -t sysfs sysfs /sys
mkdir -p {RUN_FOLDER}
mount -t tmpfs -o mode=700 tmpfs {RUN_FOLDER}
ip link set lo up
exec "$@"
"""


def run_again(arguments: Sequence[str], environment: Mapping[str, str], keep: Sequence[int]) -> Never:
    """Replaces this process by `groupflow ARGUMENTS` in namespaces of its own; `keep` are descriptors that
    stay open. The pid stays."""
    for descriptor in keep:
        os.set_inheritable(descriptor, True)
    command = [*UNSHARE, "sh", "-ec", _SCRIPT, "sh", sys.executable, "-m", "groupflow.cli.main", *arguments]
    os.execvpe(command[0], command, {**os.environ, **environment})
