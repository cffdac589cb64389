"""What is not installed is one line that says what to install."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from groupflow import lab, needs
from groupflow.needs import MissingError


def test_programs_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MissingError) as error:
        needs.programs("mnexec", "ip")
    assert str(error.value) == "mnexec, ip are not on PATH; run: sudo apt install iproute2 mininet"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for packages of the system's Python, in an environment that has no Mininet itself."""
    monkeypatch.setattr(lab, "_DEBIAN", str(tmp_path))
    monkeypatch.setattr(sys, "path", [each for each in sys.path if not Path(each, "mininet").exists()])
    for name in [name for name in sys.modules if name.partition(".")[0] == "mininet"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def test_without_mininet_the_line_says_what_to_install(elsewhere: Path) -> None:
    (elsewhere / "mininet").mkdir()  # what a removed package leaves
    with pytest.raises(MissingError, match="is missing; run: sudo apt install mininet"):
        import_module("mininet.net")


def test_mininet_of_the_system_is_found_and_nothing_else_of_it(elsewhere: Path) -> None:
    (elsewhere / "mininet").mkdir()
    for name in ("mininet/__init__.py", "mininet/net.py", "other.py"):
        (elsewhere / name).write_text("")
    assert import_module("mininet.net").__file__ == str(elsewhere / "mininet/net.py")
    assert find_spec("other") is None
    del sys.modules["mininet.net"]
