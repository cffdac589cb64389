"""Routers that mark packets: from a scenario's text to the results of a run."""

from dataclasses import replace

import pytest

from groupflow import sim

LINE = """
name: line
defaults: {link: {rate: 100Mb/s, delay: 1ms, queue: 200 packets}}
switches:
  s1: {kind: fifo, ecn: 40 packets}
  s2: {kind: fifo}
  s3: {kind: fifo}
hosts: {h1: , h2: , h3: }
links:
  - {ends: [h1, s1], delay: 0}
  - {ends: [s1, s2]}
  - {ends: [s2, s3]}
  - {ends: [h3, s2], delay: 0}
  - {ends: [h2, s3], rate: unlimited, delay: 0}
duration: 1s
sample: 10ms
traffic:
  target: {kind: tcp, from: h1, to: h2, variant: newreno, window: 1000 packets, profile: ns2}
  noise: {kind: tcp, from: h3, to: h2, variant: newreno, window: 1000 packets, profile: ns2, start: 100ms}
"""

ERRORS = [
    (
        "ecn: 40 packets",
        "ecn: 40",
        "switches.s1.ecn: 40 cannot be read; write a number with its unit, as in '40 packets'",
    ),
    (
        "ecn: 40 packets",
        "ecn: -4 packets",
        "switches.s1.ecn: '-4 packets' cannot be read; write a number of packets, as in '1500 packets'",
    ),
    (
        "ecn: 40 packets",
        "ecn: 0 packets",
        "switches.s1.ecn: '0 packets' will not do; write 1 to 1000000 packets",
    ),
    (
        "ecn: 40 packets",
        "ecn: 200 packets",
        "switches.s1.ecn: '200 packets' are never reached: the queue to h1 drops when 200 wait; write less",
    ),
    ("{kind: fifo, ecn", "{kind: p4, ecn", "switches.s1.ecn: only a fifo has it; write kind: fifo"),
]


@pytest.mark.parametrize(("old", "new", "message"), ERRORS)
def test_what_is_wrong_is_named(old: str, new: str, message: str) -> None:
    assert old in LINE
    with pytest.raises(sim.ScenarioError) as caught:
        sim.parse(LINE.replace(old, new, 1), "file.yaml")
    assert str(caught.value) == f"file.yaml: {message}"


def test_options_are_read_as_written() -> None:
    assert sim.parse(LINE).fifos == {"s1": sim.FifoOptions(ecn=40)}


def test_scenarios_built_in_python_are_checked_too() -> None:
    scenario = sim.parse(LINE)
    with pytest.raises(sim.ScenarioError, match=r"line: nodes\.s1\.ecn: 200 packets are never reached"):
        sim.run(replace(scenario, fifos={"s1": sim.FifoOptions(ecn=200)}))


def with_options(options: sim.FifoOptions, *, ecn: bool = False) -> sim.Scenario:
    scenario = sim.parse(LINE)
    flows = tuple(
        replace(flow, traffic=replace(flow.traffic, ecn=ecn))  # pyright: ignore[reportCallIssue]
        for flow in scenario.flows
    )
    return replace(scenario, flows=flows, fifos=dict.fromkeys(scenario.topology.switches, options))


def test_marks_take_the_place_of_losses() -> None:
    plain = sim.run(with_options(sim.FifoOptions()))
    marked = sim.run(with_options(sim.FifoOptions(ecn=15), ecn=True))
    assert plain.dropped() > 0
    assert plain.signals == ()
    assert marked.dropped() == 0
    assert marked.signalled("ecn_marked", "s2") > 0
    assert (marked.flows["target"].ecn_reductions or 0) > 0
    assert marked.flows["target"].retransmissions == 0
