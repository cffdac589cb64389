"""Owners of interfaces: a live run is respected, a dead one cleaned up after, strangers not touched."""

import fcntl
import json
import logging
from pathlib import Path

import pytest

from groupflow.errors import InvalidError
from groupflow.lab import registry
from groupflow.lab.registry import Reservation


@pytest.fixture(autouse=True)
def interfaces(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The machine's interfaces, made up: no root needed."""
    present: set[str] = set()

    def delete(names: list[str]) -> None:
        present.difference_update(names)

    monkeypatch.setattr(registry, "interface_exists", lambda name: name in present)  # pyright: ignore
    monkeypatch.setattr(registry, "delete_interfaces", delete)
    return present


def dead_run(folder: Path, interfaces: list[str]) -> Path:
    path = folder / "999999-1.json"
    path.write_text(json.dumps({"interfaces": interfaces}))
    return path


def test_a_claim_is_written_while_it_lasts(tmp_path: Path) -> None:
    with Reservation(["s1-eth1"], tmp_path):
        (path,) = tmp_path.glob("*.json")
        assert json.loads(path.read_text())["interfaces"] == ["s1-eth1"]
    assert not list(tmp_path.glob("*.json"))


def test_two_live_runs_may_not_share_an_interface(tmp_path: Path) -> None:
    reservation = Reservation(["s1-eth1", "s1-eth2"], tmp_path)
    with reservation, pytest.raises(InvalidError, match="s1-eth2 belongs to another run"):
        Reservation(["s1-eth2"], tmp_path).__enter__()


def test_two_live_runs_with_other_interfaces_are_fine(tmp_path: Path) -> None:
    with Reservation(["s1-eth1"], tmp_path), Reservation(["s2-eth1"], tmp_path):
        assert len(list(tmp_path.glob("*.json"))) == 2


def test_what_a_dead_run_left_is_removed_and_told(
    tmp_path: Path, interfaces: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    interfaces.update({"s1-eth1", "eth0"})
    path = dead_run(tmp_path, ["s1-eth1", "s1-eth2"])
    with caplog.at_level(logging.WARNING), Reservation(["s1-eth1"], tmp_path):
        assert not path.exists()
    assert interfaces == {"eth0"}
    assert "interfaces=s1-eth1" in caplog.text


def test_a_strangers_interface_is_not_touched(tmp_path: Path, interfaces: set[str]) -> None:
    interfaces.add("s1-eth1")
    with pytest.raises(InvalidError, match="ip link delete s1-eth1"):
        Reservation(["s1-eth1"], tmp_path).__enter__()
    assert interfaces == {"s1-eth1"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"interfaces": 1}'])
def test_a_half_written_file_of_a_dead_run_is_no_obstacle(tmp_path: Path, text: str) -> None:
    (tmp_path / "999999-1.json").write_text(text)
    with Reservation(["s1-eth1"], tmp_path):
        pass


def test_a_file_that_is_locked_belongs_to_a_live_run(tmp_path: Path) -> None:
    path = dead_run(tmp_path, ["s1-eth1"])
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InvalidError, match=r"another run \(pid 999999\)"):
            Reservation(["s1-eth1"], tmp_path).__enter__()
