"""Networks by name: one process has a name, others find it, and a dead process has none."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from groupflow.cli import net
from groupflow.cli.main import main
from groupflow.errors import InvalidError
from groupflow.lab import registry
from groupflow.lab.registry import Claim, Entry, find, running_networks

TOPOLOGY = "{switches: {s1: }, hosts: [h1], links: [[h1, s1]]}"
HALL = Entry(
    name="hall",
    topology="hall.yaml",
    switch="gfswitch",
    pid=4711,
    hosts={"h1": 4712},
    addresses={"h1": "10.0.1.1/24"},
    switches=("s1",),
    api=None,
    folder="/tmp/hall",
)


def test_programs_of_groupflow_are_found_in_a_node_whose_caller_has_not_their_folder_on_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environments: list[dict[str, str]] = []

    def execute(_file: str, _words: list[str], environment: dict[str, str]) -> None:
        environments.append(environment)

    def found(_name: str | None) -> Entry:
        return HALL

    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(net, "find", found)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "execvpe", execute)
    main(["net", "exec", "s1", "gfswitch", "stats"])
    assert environments[0]["PATH"] == f"/usr/bin:/bin:{Path(sys.executable).parent}"
    assert main(["net", "exec", "h1", "no-such-program"]) == 4 and len(environments) == 1
    assert "h1: no program no-such-program; name one on PATH" in capsys.readouterr().err


def claim(folder: Path, entry: Entry) -> Claim:
    taken = Claim(entry.name, folder=folder)
    taken.tell(entry)
    return taken


def test_a_network_is_found_by_its_name_or_alone(tmp_path: Path) -> None:
    held = [claim(tmp_path, HALL)]
    assert find(None, tmp_path) == find("hall", tmp_path) == replace(HALL, switches=["s1"])  # pyright: ignore
    held.append(claim(tmp_path, replace(HALL, name="barn")))
    assert [entry.name for entry in running_networks(tmp_path)] == ["barn", "hall"]
    for name, error in ((None, "name one of barn, hall"), ("tent", "no network tent runs, only barn, hall")):
        with pytest.raises(InvalidError, match=error):
            find(name, tmp_path)


def test_a_network_without_controller_is_shown_and_named_as_the_cure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "topology.yaml").write_text(TOPOLOGY)
    hall = replace(HALL, folder=str(tmp_path))
    monkeypatch.setattr(net, "running_networks", lambda: [hall])
    for module in (registry, net):
        monkeypatch.setattr(module, "find", {"hall": hall}.get)
    assert main(["switch", "list", "--net", "hall"]) == 1
    assert "`groupflow net show hall` shows what it has" in capsys.readouterr().err
    assert main(["net", "show", "hall"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "HOST  ADDRESS      TCP",
        "h1    10.0.1.1/24  -",
        "",
        "LINK   STATE  RATE  DELAY  LOSS  QUEUE  INTERFACES",
        "h1-s1  -      -     -      -     -      h1-eth0 s1-eth1",
    ], "nothing is known of a network whose processes are gone"
    assert main(["net", "show", "hall", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["addresses"] == {"h1": "10.0.1.1/24"}


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    held = claim(tmp_path, HALL)
    with pytest.raises(InvalidError, match=r"runs already \(pid 4711\); end it: groupflow net down hall"):
        Claim("hall", folder=tmp_path)
    assert held.descriptor


@pytest.mark.parametrize("name", ["", "../hall", "a b", "-x", "x" * 41])
def test_a_name_is_a_file_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidError, match="write letters"):
        Claim(name, folder=tmp_path)


def test_what_a_dead_network_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "hall.json").write_text(json.dumps({"name": "hall"}))
    assert running_networks(tmp_path) == []
    assert not list(tmp_path.glob("*.json"))
    with pytest.raises(InvalidError, match="no network runs; start one"):
        find(None, tmp_path)


def test_a_network_that_is_being_built_is_not_shown(tmp_path: Path) -> None:
    held = Claim("hall", folder=tmp_path)
    assert running_networks(tmp_path) == []
    with pytest.raises(InvalidError, match="pid unknown: it is being built"):
        Claim("hall", folder=tmp_path)
    held.tell(HALL)
    assert len(running_networks(tmp_path)) == 1
