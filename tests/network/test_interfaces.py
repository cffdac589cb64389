"""A gfswitch goes on with an interface that was deleted, moved, renamed or made again, in both directions."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.p4.diffusion import feedback
from tests.support.wires import Wires, wires

GFSWITCH = Path(sys.executable).parent / "gfswitch"
PROGRAM = Path("p4src/build/groupflow.json")
DEADLINE = 10.0
QUESTION = feedback(flow=77, flags=2)
"""a probe of a link, which a switch sends back with one flag more"""
ANSWER = feedback(flow=77, flags=6)


class Running(NamedTuple):
    wire: Wires
    log: Path

    def answers(self, port: int) -> bool:
        """Whether frames go in and out at a port, before the deadline."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            self.wire.send(port, QUESTION)
            time.sleep(0.02)  # a poll; the deadline ends it
            if ANSWER in self.wire.received(port):
                return True
        return False


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def running(tmp_path: Path) -> Generator[Running]:
    log = tmp_path / "log"
    with wires([1, 2]) as wire, log.open("wb") as errors:
        command: list[str | Path] = [GFSWITCH, PROGRAM, "--control-socket", "none"]
        command += ["--grpc-server-addr", "none"]
        for port in wire.ports:
            command += ["-i", f"{port}@{wire.switch_end(port)}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"gfswitch ready")
            yield Running(wire, log)
        finally:
            process.terminate()
            process.communicate(timeout=DEADLINE)


def made_again(wire: Wires) -> None:
    """Both pairs at once, as of containers that restart: with other indices."""
    wire.close()
    wire.open()


def made_again_with_another_mtu(wire: Wires) -> None:
    made_again(wire)
    for end in (wire.switch_end(1), wire.far_end(1)):
        ip("link", "set", end, "mtu", "9000")


def in_another_namespace_and_back(wire: Wires) -> None:
    """The kernel gives it its old index again, where that is free."""
    end, other = wire.switch_end(1), subprocess.Popen(["unshare", "-n", "sleep", "60"])
    try:
        own = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{other.pid}/ns/net").readlink() == own:
            time.sleep(0.01)  # a poll; sleep's own end ends it
        ip("link", "set", end, "netns", str(other.pid))
        subprocess.run(
            ["nsenter", "-n", "-t", str(other.pid), "ip", "link", "set", end, "netns", "1"], check=True
        )
        ip("link", "set", end, "arp", "off", "up")
    finally:
        other.terminate()
        other.wait()


def another_with_its_name(wire: Wires) -> None:
    """The old one is there for a while, under another name."""
    ip("link", "del", wire.switch_end(2))
    for end in (wire.switch_end(1), wire.far_end(1)):
        ip("link", "set", end, "down")
        ip("link", "set", end, "name", f"{end}x")
    wire.open()
    ip("link", "del", f"{wire.switch_end(1)}x")


WAYS: list[Callable[[Wires], None]] = [
    made_again,
    made_again_with_another_mtu,
    in_another_namespace_and_back,
    another_with_its_name,
]


@pytest.mark.parametrize("change", WAYS)
def test_an_interface_is_used_again(running: Running, change: Callable[[Wires], None]) -> None:
    assert running.answers(1) and running.answers(2)
    for _ in range(2):  # not only once
        change(running.wire)
        assert running.answers(1)
        assert running.answers(2)
    log = running.log.read_text()
    assert log.count("interface was made again; it is used from now on") >= 2
    assert "another MAC address" in log and "port_sources" in log and "give the host its old address" in log


def test_an_interface_that_stays_is_not_attached_to_anew(running: Running) -> None:
    assert all(running.answers(port) for _ in range(20) for port in (1, 2)), (
        "for some looks at the interfaces"
    )
    assert "made again" not in running.log.read_text()
