"""Bad questions get one line with the cause and the cure, from the function and from the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groupflow.cli.main import main
from groupflow.data import TOPOLOGIES
from groupflow.errors import InvalidError
from groupflow.files.topology import parse
from groupflow.files.variants import named
from groupflow.placement import choose

FIG5 = str(TOPOLOGIES / "fig5.yaml")

TWO_PARTS = """
switches: {s1: {device_id: 1, grpc: 9561}, s2: {device_id: 2, grpc: 9562}}
hosts: {h1: {ip: 10.0.1.1/24}, h2: {ip: 10.0.2.1/24}, h3: {ip: 10.0.1.2/24}}
links: [{ends: [h1, s1]}, {ends: [h3, s1]}, {ends: [h2, s2]}]
"""


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"senders": "mx"}, "'mx' is no host of this network; there are ma1, mb1"),
        ({"members": ["mb1", "mx"]}, "'mx' is no host of this network; there are ma1, mb1"),
        ({"members": ["s1"]}, "'s1' is a switch, not a host; there are ma1, mb1"),
        ({"senders": []}, "no sender given; name one host or more"),
        ({"members": []}, "no member to send to; name a host besides the sender"),
        ({"members": ["ma1"]}, "no member to send to; name a host besides the sender"),
        ({"k": -1}, "-1 agents cannot be placed; give 0 or more"),
        ({"k": 3}, "3 agents are more than the 2 switches that may have one; give fewer"),
        ({"k": 2, "candidates": ["s2"]}, "2 agents are more than the 1 switches that may have one"),
        ({"candidates": ["s9"]}, "no switch 's9'; there are s1, s2"),
        ({"size_bytes": 0}, "a transfer of 0 bytes is empty; give 1 or more"),
    ],
)
def test_refusals(changed: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"senders": "ma1", "members": ["mb1"], "k": 1, **changed}
    with pytest.raises(InvalidError) as refusal:
        choose(named("fig5"), asked.pop("senders"), asked.pop("members"), asked.pop("k"), **asked)
    assert str(refusal.value).startswith(message) and "\n" not in str(refusal.value)


def test_a_member_in_another_part_of_the_network_is_refused() -> None:
    topology = parse(TWO_PARTS)
    with pytest.raises(InvalidError, match=r"^no path from h1 to h2; link their switches$"):
        choose(topology, "h1", ["h3", "h2"], 1)
    found = choose(topology, "h1", ["h3"], 1)
    assert found.link_bytes == 2 * 5_000_000


def place(*words: str) -> int:
    return main(["agent", "place", *words])


MEMBERS = ("--member", "mb1", "--member", "mc1", "--member", "md1")
ASK = ("--topology", FIG5, "--sender", "ma1", *MEMBERS)


def test_the_command_shows_agents_costs_and_connections(capsys: pytest.CaptureFixture[str]) -> None:
    assert place(*ASK, "--agents", "2") == 0
    assert capsys.readouterr().out.splitlines() == [
        "agents           s1,s2",
        "link bytes       25000000",
        "completion time  0.49 s",
        "",
        "SENDER  START  END",
        "ma1     ma1    s1",
        "ma1     s1     s2",
        "ma1     s1     mb1",
        "ma1     s2     mc1",
        "ma1     s2     md1",
    ]


def test_the_command_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--size", "1000000 bytes", "--candidate", "s2", "--json")
    assert place(*ASK, "--agents", "1", *options) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["agents"] == ["s2"]
    assert found["connections"][0] == {"sender": "ma1", "start": "ma1", "end": "s2"}
    assert (found["link_bytes"], found["seconds"]) == (6_000_000, pytest.approx(0.08 + 3 * 0.04))


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            (*ASK, "--agents", "-1"),
            2,
            "groupflow agent place: argument --agents: '-1' will not do; write a whole number from 0 on",
        ),
        ((*ASK, "--agents", "3"), 4, "groupflow: 3 agents are more than the 2 switches"),
        ((*ASK[:3], "mx", *ASK[4:], "--agents", "1"), 4, "groupflow: 'mx' is no host of this network"),
        ((*ASK[:4], "--agents", "1"), 2, "groupflow: --topology needs --sender and --member; give both"),
        (
            (*ASK, "--agents", "1", "--size", "5MB"),
            2,
            "groupflow agent place: argument --size: '5MB' is no size",
        ),
        (("--topology", "none.yaml", *ASK[2:], "--agents", "1"), 4, "groupflow: none.yaml: no such file"),
        (("--session", "7", "--sender", "h1", "--agents", "1"), 2, "groupflow: --sender and --member belong"),
        (("--agents", "1"), 2, "groupflow: --topology or --session is missing; give one of them"),
    ],
)
def test_the_command_fails_in_one_line(
    words: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place(*words) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(message) and captured.err.count("\n") == 1


def test_a_disconnected_member_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TWO_PARTS)
    assert place("--topology", str(file), "--sender", "h1", "--member", "h2", "--agents", "1") == 4
    assert capsys.readouterr().err == "groupflow: no path from h1 to h2; link their switches\n"
