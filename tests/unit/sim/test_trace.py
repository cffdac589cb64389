"""Traces in virtual time: the way of chosen packets through the switches of a simulated network."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from groupflow import sim
from groupflow.cli.main import main
from tests.support.p4.network import JSON, P4INFO

TEXT = """
name: line
defaults: {link: {rate: 1Mb/s, delay: 1ms, queue: 3 packets}}
switches: {s1: , s2: , s3: {kind: fifo}}
hosts: {h1: , h2: }
links:
  - {ends: [h1, s1], rate: unlimited, delay: 0}
  - {ends: [s1, s2]}
  - {ends: [s2, s3]}
  - {ends: [h2, s3], rate: unlimited, delay: 0}
duration: 200ms
sample: 10ms
traffic: {target: {kind: udp, from: h1, to: h2, rate: 4Mb/s}}
"""


def traced(*switches: str, **request: object) -> sim.Results:
    line = replace(sim.parse(TEXT), program=JSON, p4info=P4INFO)
    return sim.run(line, traced=sim.Traced(request, switches))


def test_a_packet_is_followed_from_switch_to_switch() -> None:
    results = traced(match=["udp.length=0/0"], next=2)
    ways = [(trace["switch"], trace["id"], trace["verdict"]) for trace in results.traces]
    assert sorted(ways) == [(name, n, "to port 2") for name in ("s1", "s2") for n in (0, 1)]
    one = results.traces[0]
    assert [copy["verdict"] for copy in one["copies"]] == ["sent"]
    plain = sim.run(replace(sim.parse(TEXT), program=JSON, p4info=P4INFO))
    assert results.summary == plain.summary, "a trace changes nothing"


def test_dropped_packets_name_the_full_queue() -> None:
    results = traced("s1", dropped=True, next=100_000)
    ends = {copy["verdict"] for trace in results.traces for copy in trace["copies"]}
    assert ends == {"dropped: the queue is full"}
    assert len(results.traces) == results.dropped(reason="queue_full") > 10, "none is missed"


@pytest.mark.parametrize(
    ("switches", "request_", "message"),
    [
        (("s3",), {}, "line: no switch s3 to trace at; of P4 are s1, s2"),
        ((), {"port": 99}, "line: s1: port: there is no port 99; there are 1, 2, 510"),
        (("s1",), {"port": 3}, "line: s1: port: there is no port 3"),
        ((), {"match": ["a.b=1"]}, "line: s1: match a.b=1: the program extracts no such field"),
    ],
)
def test_a_wrong_choice_is_refused(
    switches: tuple[str, ...], request_: dict[str, object], message: str
) -> None:
    with pytest.raises(sim.ScenarioError) as refused:
        traced(*switches, **request_)
    assert str(refused.value).startswith(message)


def test_of_all_switches_those_with_the_port_are_asked() -> None:
    wider = TEXT.replace("h2: }", "h2: , h3: }").replace("duration", "  - {ends: [h3, s2]}\nduration")
    line = replace(sim.parse(wider.replace("from: h1", "from: h3")), program=JSON, p4info=P4INFO)
    assert {trace["switch"] for trace in sim.run(line, traced=sim.Traced({"port": 3})).traces} == {"s2"}


def test_a_switch_named_twice_is_asked_once() -> None:
    assert len(traced(*["s1"] * 9).traces) == 1, "a switch takes eight requests"


def test_the_command_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "line.yaml"
    path.write_text(TEXT)
    command = ["sim", "run", str(path), "--trace", "--switch", "s2", "--port", "1"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "bytes at port 1 of switch s2, " in text and "=> to port 2" in text
    assert main([*command, "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(e["switch"], e["port"]) for e in events if e["event"] == "trace"] == [("s2", 1)]
    for option in ("--port", "--session"):
        assert main(["sim", "run", str(path), option, "1"]) != 0
        assert "give --trace" in capsys.readouterr().err
    assert main(["sim", "run", str(path), "--next", "5"]) == 2
    for refused in (("--switch", "s9"), ("--match", "foo=1")):
        assert main(["sim", "run", str(path), "--trace", *refused]) == 4
    assert "give --trace" in capsys.readouterr().err
