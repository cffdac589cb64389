"""The suite itself: it runs on a switch that somebody else has started, by its address."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conformance.conftest import free_port
from tests.conformance.process_switch import gfswitch_command
from tests.ptf.conftest import interfaces
from tests.ptf.profiles import PROFILES
from tests.support.wires import wires


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: virtual interfaces")
@pytest.mark.parametrize(("profile", "first"), [("tofino", 1), ("tofino2", 8)])
def test_a_switch_is_named_by_its_address(profile: str, first: int) -> None:
    """A profile skips what hardware cannot do; a chip's ports begin where its front panel does."""
    ports = [0, *range(first, first + 5)]
    with wires(ports) as made:
        port = free_port()
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/ptf", "-k", "not address"]
        command += ["--switch", f"grpc://127.0.0.1:{port}", "--profile", profile]
        for number in ports:
            command += ["--port", f"{number}={made.far_end(number)}"]
        with subprocess.Popen(gfswitch_command(made, port), stderr=subprocess.DEVNULL) as switch:
            try:
                environment = {**os.environ, "PTF_FIRST_PORT": str(first)}
                told = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            finally:
                switch.terminate()
    assert told.returncode == 0, told.stdout
    assert " passed" in told.stdout
    assert all(reason in told.stdout for reason in PROFILES[profile].values())


@pytest.mark.parametrize("given", [[], ["1=eth0"], ["1=a", "2=b", "3=c", "4=d", "five=e"]])
def test_the_ports_of_a_switch_are_all_named(given: list[str]) -> None:
    with pytest.raises(pytest.UsageError, match="give the interfaces of ports"):
        interfaces(given)
