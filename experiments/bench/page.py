"""The page's cost at rest: processor time of the controller, and of a browser. Needs root."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx

from experiments.bench.figure import Figure
from groupflow.endpoint import api_token
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.network import running
from groupflow.network.topology import Topology, load, parse

SECONDS = 20.0
"""of one measurement"""
VIEWERS = 20


def figures(out: Path) -> list[Figure]:
    """Of Fig. 5 and of a line of 60 switches, with no viewer, a browser, and 20 viewers."""
    return [figure for topology in (load("fig5"), parse(_line(60))) for figure in _costs(topology, out)]


def _costs(topology: Topology, out: Path) -> Generator[Figure]:
    folder = out / topology.name
    with running(topology, folder) as network:
        controller = ControllerProcess(network, folder).start()
        pid, ticks = controller.daemon.pid, os.sysconf("SC_CLK_TCK")

        def share(what: str, pids: Iterable[int]) -> Figure:
            time.sleep(SECONDS / 4)  # until the page has its first minute
            known = list(pids)
            begun, before = time.monotonic(), sum(map(_used, known))
            time.sleep(SECONDS)
            used = (sum(map(_used, known)) - before) / ticks / (time.monotonic() - begun)
            return Figure(f"{topology.name}: {what}", round(100 * used, 2), "% of a core", "at rest")

        yield share("controller, nobody looks", [pid])
        address = f"{controller.url}/?token={api_token.find(controller.url)}"
        if chromium := shutil.which("chromium"):
            with _browser(chromium, address) as group:
                yield share("controller, a browser", [pid])
                yield share("that browser, without a screen", _in_group(group))
        with ExitStack() as stack:
            for _ in range(VIEWERS):
                headers = api_token.headers(controller.url)
                stack.enter_context(httpx.stream("GET", f"{controller.url}/v1/live", headers=headers))
            yield share(f"controller, {VIEWERS} viewers that do not read", [pid])


@contextmanager
def _browser(chromium: str, address: str) -> Generator[int]:
    """A Chromium that shows the page: its process group."""
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        silent = subprocess.DEVNULL
        with subprocess.Popen([*command, address], stdout=silent, stderr=silent, process_group=0) as process:
            try:
                yield process.pid
            finally:
                os.killpg(process.pid, signal.SIGKILL)


def _in_group(group: int) -> Generator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):  # ended meanwhile
                if os.getpgid(int(entry.name)) == group:
                    yield int(entry.name)


def _used(pid: int) -> int:
    """Processor time of a process in clock ticks: utime and stime of proc(5)."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def _line(switches: int) -> str:
    numbers = range(1, switches + 1)
    nodes = ", ".join(f"s{i}: {{device_id: {i}, grpc: {9600 + i}}}" for i in numbers)
    links = "\n".join(f"  - {{ends: [s{i}, s{i + 1}]}}" for i in numbers[:-1])
    return f"""
name: line{switches}
defaults: {{link: {{rate: 20mbit, delay: 1ms}}}}
switches: {{{nodes}}}
hosts: {{h1: {{ip: 10.0.1.1/24}}, h2: {{ip: 10.0.2.1/24}}}}
links:
  - {{ends: [h1, s1]}}
  - {{ends: [h2, s{switches}]}}
{links}
"""
