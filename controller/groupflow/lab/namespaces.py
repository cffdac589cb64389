"""Namespaces for one network: its switches' interfaces and ports, and its sockets, meet those of no other."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Never

from groupflow.lab.leftovers import RUN_FOLDER
from groupflow.lab.network import NetworkError

_SCRIPT = f"""
mount -t sysfs sysfs /sys
mkdir -p {RUN_FOLDER}
mount -t tmpfs -o mode=700 tmpfs {RUN_FOLDER}
ip link set lo up
exec "$@"
"""
_UNSHARE = ("unshare", "--net", "--mount", "--propagation", "private")


def check() -> None:
    """Raises NetworkError where nobody may make namespaces, or a program for networks is missing."""
    if os.geteuid() != 0:
        raise NetworkError("root is needed to make network namespaces; use sudo")
    for program, package in (("mnexec", "mininet"), ("unshare", "util-linux"), ("ip", "iproute2")):
        if shutil.which(program) is None:
            raise NetworkError(f"{program} is not on PATH; install Debian's package {package}")
    for command in ([*_UNSHARE, "true"], ["mnexec", "-n", "true"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise NetworkError(f"no right to make namespaces here ({why}); a container needs --privileged")


def run_again(arguments: Sequence[str], environment: Mapping[str, str], keep: Sequence[int]) -> Never:
    """Replaces this process by `groupflow ARGUMENTS` in namespaces of its own; `keep` are descriptors that
    stay open. The pid stays."""
    for descriptor in keep:
        os.set_inheritable(descriptor, True)
    command = [*_UNSHARE, "sh", "-ec", _SCRIPT, "sh", sys.executable, "-m", "groupflow.cli.main", *arguments]
    os.execvpe(command[0], command, {**os.environ, **environment})
