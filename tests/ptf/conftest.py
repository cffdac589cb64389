"""The switches that the suite runs on: gfswitch and BMv2 of this machine, or any, by its address."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, cast

import pytest

from tests.conformance.conftest import free_port
from tests.conformance.process_switch import ProcessSwitch, RemoteSwitch, bmv2_command, gfswitch_command
from tests.ptf.cases import Target
from tests.ptf.profiles import PROFILES
from tests.support.p4.network import JSON, P4INFO, PORTS
from tests.support.wires import Cables, wires

NAMES = ("gfswitch", "bmv2")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ptf", "the suite tests/ptf on a switch that runs already")
    group.addoption("--switch", metavar="grpc://HOST:PORT", help="its P4Runtime server")
    group.addoption("--port", action="append", default=[], metavar="N=IFACE",
                    help="interface here that is connected to its port N, each of five")  # fmt: skip
    group.addoption("--device-id", type=int, default=1, help="of P4Runtime")
    group.addoption("--profile", choices=PROFILES, default="gfswitch", help="what it can do")
    group.addoption("--p4info", type=Path, default=P4INFO, help="P4Info of groupflow for it")
    group.addoption("--p4-config", type=Path, default=JSON, help="the compiled program for it")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "target" in metafunc.fixturenames:
        given = metafunc.config.getoption("--switch")
        names = [metafunc.config.getoption("--profile")] if given else NAMES
        metafunc.parametrize("target", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    if os.geteuid() != 0:
        pytest.skip("needs root: raw sockets")
    name = str(request.param)
    option: Callable[[str], Any] = cast("Any", request.config).getoption
    program: dict[str, Path] = {"p4info": option("--p4info"), "config": option("--p4-config")}
    with ExitStack() as stack:
        if given := option("--switch"):
            cables = stack.enter_context(closing(Cables(interfaces(option("--port")))))
            cables.open()
            address = str(given).removeprefix("grpc://")
            switch = RemoteSwitch(cables, address, option("--device-id"), **program)
        else:
            if name == "bmv2" and not shutil.which("simple_switch_grpc"):
                pytest.skip("simple_switch_grpc is not on PATH")
            made, port = stack.enter_context(wires([0, *PORTS])), free_port()
            is_bmv2 = name == "bmv2"
            command = bmv2_command(made, port, free_port()) if is_bmv2 else gfswitch_command(made, port)
            switch = ProcessSwitch(command, made, f"127.0.0.1:{port}", 1, **program)
        stack.callback(switch.stop)
        switch.start()
        yield Target(name, switch)


def interfaces(given: list[str]) -> dict[int, str]:
    """Of `N=IFACE`, the interface of each port."""
    parts = [each.partition("=") for each in given]
    found = {int(port): name for port, _, name in parts if port.isdecimal() and name}
    if len(found) < len(given) or not set(found) >= set(PORTS):
        raise pytest.UsageError(
            f"--port N=IFACE: give the interfaces of ports {PORTS[0]} to {PORTS[-1]}, one --port each"
        )
    return found
