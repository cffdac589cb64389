"""Fixtures of the network tests: networks, shared or a test's own, and the check that nothing is left."""

import os
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from groupflow.files import variants
from groupflow.lab import split
from tests.network.harness import Lab, MakeLab, laboratory
from tests.network.tcp_group import FIG5

_PROGRAMS = (b"gfswitch", b"gfagent", b"simple_switch_grpc", b"groupflow.cli", b"common/tcp.py")
_FOLDER = Path(__file__).parent
LIMIT_SECONDS = 300
"""for one test: a measurement is repeated up to four times while the switches do not keep their schedule"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _FOLDER in item.path.parents:
            item.add_marker(pytest.mark.network)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(LIMIT_SECONDS))
            if os.geteuid() != 0:
                item.add_marker(pytest.mark.skip(reason="needs root for network namespaces; use sudo"))


@pytest.fixture
def make_lab(tmp_path: Path) -> MakeLab:
    """Builds a network for one test, which may break it: `with make_lab(topology) as lab`."""
    return lambda topology: laboratory(topology, tmp_path)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lab]:
    """Fig. 5 with one member a network, shared by the tests of a module that leave it as it was."""
    topology = variants.with_members(variants.named("fig5"), 1)
    with laboratory(topology, tmp_path_factory.mktemp("pair")) as lab:
        yield lab


@pytest.fixture(scope="module")
def splitting(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lab]:
    """Fig. 5 with one member a network and both split agents, shared like `pair`."""
    with laboratory(FIG5, tmp_path_factory.mktemp("splitting")) as lab:
        split.start(lab.network, lab.folder / "logs")
        yield lab


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Generator[None]:
    """No process of ours, namespace or interface outlives the test that made it."""
    before = _present()
    yield
    deadline = time.monotonic() + 3.0  # a namespace goes a moment after its last process
    while (left := _present() - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left, f"left behind: {sorted(left)}"


def _present() -> set[str]:
    found = {f"interface {path.name}" for path in Path("/sys/class/net").iterdir()}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError):  # ended meanwhile
                command = (path / "cmdline").read_bytes()  # empty of a process that ended
                if any(program in command for program in _PROGRAMS):
                    found.add(f"process {path.name} {command.replace(bytes(1), b' ').decode()}")
                found.add(f"namespace {(path / 'ns/net').stat().st_ino}")
    return found
