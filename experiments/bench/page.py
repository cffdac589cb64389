"""The page's cost at rest: processor time of the controller, and of a browser. Needs root."""

import os
import shutil
import time
from collections.abc import Generator, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from experiments.bench.tools import Figure, used_s
from groupflow.agents import api_token
from groupflow.files.topology import load, parse
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.network import running
from groupflow.model.topology import Topology
from groupflow.processes import Daemon

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
        pid = controller.daemon.pid

        def share(what: str, pids: Iterable[int]) -> Figure:
            time.sleep(SECONDS / 4)  # until the page has its first minute
            known = list(pids)
            begun, before = time.monotonic(), sum(map(used_s, known))
            time.sleep(SECONDS)
            used = (sum(map(used_s, known)) - before) / (time.monotonic() - begun)
            return Figure(f"{topology.name}: {what}", round(100 * used, 2), "% of a core", "at rest")

        yield share("controller, nobody looks", [pid])
        address = f"{controller.url}/?token={api_token.find(controller.url)}"
        if chromium := shutil.which("chromium"):
            # A Chromium that shows the page, in a process group of its own.
            with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
                command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu"]
                command += [f"--user-data-dir={profile}", address]
                with Daemon("chromium", command, Path(os.devnull)) as browser:
                    yield share("controller, a browser", [pid])
                    yield share("that browser, without a screen", _in_group(browser.pid))
        with ExitStack() as stack:
            for _ in range(VIEWERS):
                headers = api_token.headers(controller.url)
                stack.enter_context(httpx.stream("GET", f"{controller.url}/v1/live", headers=headers))
            yield share(f"controller, {VIEWERS} viewers that do not read", [pid])


def _in_group(group: int) -> Generator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):  # ended meanwhile
                if os.getpgid(int(entry.name)) == group:
                    yield int(entry.name)


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
