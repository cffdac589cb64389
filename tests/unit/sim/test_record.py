"""Simulations as recordings: the same frames as of a running network."""

import json
from pathlib import Path
from typing import Any

import pytest

from groupflow import sim
from groupflow.cli.main import main
from groupflow.control.live.recording import Recording

LINE = """
name: line
defaults: {link: {rate: 20Mb/s, delay: 2ms, queue: 100 packets}}
switches: {s1: , s2: , s3: {kind: KIND}}
hosts: {h1: , h2: }
links:
  - {ends: [h1, s1], rate: unlimited, delay: 0}
  - {ends: [s1, s2]}
  - {ends: [s2, s3], rate: 10Mb/s}
  - {ends: [h2, s3], rate: unlimited, delay: 0}
duration: 300ms
sample: 10ms
"""
FLOW = "traffic: {target: {kind: udp, from: h1, to: h2, rate: 15Mb/s}}\n"
DIFFUSION = "diffusion: {d: 0.1, flows: [target]}\n"
GROUP = "sessions: [{id: 7, from: h1, to: [h2], size: 200000 bytes}]\n"


def recorded(tmp_path: Path, text: str) -> tuple[Recording, list[Any]]:
    (tmp_path / "line.yaml").write_text(text)
    scenario = sim.load(tmp_path / "line.yaml")
    sim.run(scenario, record=tmp_path / "line.rec")
    found = Recording.load(tmp_path / "line.rec")
    return found, [json.loads(line) for line in found.lines]


def test_queues_fill_hop_by_hop_under_diffusion(tmp_path: Path) -> None:
    found, frames = recorded(tmp_path, LINE.replace("KIND", "p4") + FLOW + DIFFUSION)
    assert len(frames) == 31
    assert (found.topology["speed"], found.topology["about"]) == (0.1, "line")
    hops = [frame["flows"][0]["hops"] for frame in frames]
    assert [hop["switch"] for hop in hops[-1]] == ["s1", "s2", "s3"]
    assert [hop["n"] for hop in hops[0]] == [0, 0, 0]
    assert min(hops[-1][0]["n"], hops[-1][1]["n"]) > 5, "also the queue before the one at the narrow link"
    line_rate = 20e6 / 8 / 1514
    assert hops[-1][0]["j"] < 0.8 * line_rate, "the sender's switch sends slower than its link"
    last = frames[-1]
    assert last["switches"]["s2"]["ports"]["2"]["out"] == pytest.approx(10e6, rel=0.1)
    assert last["traffic"][0]["delivered"] > 100


def test_a_session_is_recorded_with_its_controller(tmp_path: Path) -> None:
    _, frames = recorded(tmp_path, LINE.replace("KIND", "p4") + GROUP)
    members = {member["name"]: member for member in frames[15]["sessions"][0]["members"]}
    assert {member["role"] for member in members.values()} == {"sender", "receiver"}
    assert any(event["event"] == "member-joined" for frame in frames for event in frame["events"])


def test_a_recording_on_a_full_disk_ends_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = str(Path(__file__).parents[3] / "examples" / "sweep" / "group.yaml")
    assert main(["sim", "run", scenario, "--record", "/dev/full", "-q"]) == 4
    assert "--record /dev/full: no space left on device; name another file" in capsys.readouterr().err


def test_routers_are_shown_without_figures(tmp_path: Path) -> None:
    _, frames = recorded(tmp_path, LINE.replace("KIND", "fifo") + FLOW)
    assert frames[-1]["switches"]["s3"] == {"state": "up", "problem": "a fifo, without P4"}


def test_one_recording_has_one_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(
            LINE.replace("KIND", "p4").replace("name: line", f"name: {name}")
        )
    files = [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]
    assert main(["sim", "run", *files, "--record", str(tmp_path / "x.rec")]) == 2
    assert "--record takes one scenario" in capsys.readouterr().err
