"""Control put into a scenario: excessive requests are refused, and a line under control loses nothing."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from groupflow import sim

LINE = """
name: line
defaults: {link: {rate: 100Mb/s, delay: 1ms, queue: 60 packets}}
switches: {s1: {}, s2: {}, s3: {}, s4: {}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  - {ends: [h1, s1], rate: unlimited, delay: 0, queue: 100000 packets}
  - {ends: [s1, s2]}
  - {ends: [s2, s3]}
  - {ends: [s3, s4], rate: 50Mb/s}
  - {ends: [h3, s2], rate: unlimited, delay: 0, queue: 100000 packets}
  - {ends: [h2, s4], rate: unlimited, delay: 0}
  - {ends: [h4, s4], rate: unlimited, delay: 0}
duration: 2s
sample: 10ms
traffic:
  target: {kind: tcp, from: h1, to: h2, variant: newreno, window: 150 packets}
  other: {kind: tcp, from: h3, to: h4, variant: newreno, window: 150 packets, start: 200ms}
"""
AGENTS = """
name: agents
defaults: {link: {rate: 100Mb/s, delay: 5ms, queue: 60 packets}}
switches: {s1: {kind: agent, agent: a1}, r1: {}, r2: {}, s2: {kind: agent, agent: a2}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}, a1: {}, a2: {}}
links:
  - {ends: [h1, s1]}
  - {ends: [h2, s1]}
  - {ends: [s1, r1]}
  - {ends: [r1, r2]}
  - {ends: [r2, s2], rate: 50Mb/s}
  - {ends: [h3, s2]}
  - {ends: [h4, s2]}
  - {ends: [a1, s1], rate: unlimited, delay: 0}
  - {ends: [a2, s2], rate: unlimited, delay: 0}
duration: 5s
sample: 100ms
splits:
  - {name: one, from: h1, to: [h3], mode: n2n, variant: newreno, window: 500 packets}
  - {name: other, from: h2, to: [h4], mode: n2n, variant: newreno, window: 500 packets}
"""
CONTROL = sim.Diffusion(Fraction(1, 10), ("target", "other"), host_delay_ns=1_000_000)


@pytest.fixture
def scenario() -> sim.Scenario:
    return sim.parse(LINE)


def test_controlled_flows_share_the_bottleneck_and_lose_nothing(scenario: sim.Scenario) -> None:
    alone = sim.run(scenario)
    controlled = sim.run(sim.with_diffusion(scenario, CONTROL))
    assert alone.dropped(reason="queue_full") > 0
    assert controlled.dropped(reason="queue_full") == 0
    target, other = (controlled.flows[name].goodput_bps or 0 for name in ("target", "other"))
    assert 0.75 < target / other < 1.35
    assert target + other > 45e6


def test_packets_of_hosts_that_do_not_shape_wait_all_along(scenario: sim.Scenario, tmp_path: Path) -> None:
    control = replace(CONTROL, host_delay_ns=None)
    for controlled in (False, True):
        run = sim.with_diffusion(scenario, control) if controlled else scenario
        waiting = sim.run(run, out=tmp_path / "run").queue_packets()
        first = [n for n, at in zip(waiting["s1"]["packets"], waiting["s1"]["time_s"], strict=True) if at > 1]
        assert (max(first, default=0) > 5) == controlled


def test_an_agent_keeps_to_what_the_switches_after_it_tell() -> None:
    alone = sim.run(sim.parse(AGENTS))
    asked = "diffusion: {d: 0.1, flows: [one-s1-s2, other-s1-s2], hosts: 5ms}\n"
    controlled = sim.run(sim.parse(AGENTS + asked))
    assert alone.dropped(reason="queue_full") > 0
    assert controlled.dropped(reason="queue_full") == 0
    one, other = (controlled.flows[f"{name}-s1-s2"].goodput_bps or 0 for name in ("one", "other"))
    assert 0.9 < one / other < 1.1, "ports tell the agent's flows apart"
    assert one + other > 40e6
    with pytest.raises(sim.ScenarioError, match="one-h1-s1 passes no switch"):
        sim.parse(AGENTS + asked.replace("one-s1-s2", "one-h1-s1"))


def test_a_single_flow_gets_the_whole_link(scenario: sim.Scenario) -> None:
    alone = replace(scenario, flows=scenario.flows[:1])
    result = sim.run(sim.with_diffusion(alone, replace(CONTROL, flows=("target",))))
    assert (result.flows["target"].goodput_bps or 0) > 44e6


def test_a_file_may_ask_for_control(scenario: sim.Scenario) -> None:
    asked = sim.parse(LINE + "diffusion: {d: 0.1, flows: [target, other], hosts: 1ms}\n")
    assert asked == sim.with_diffusion(scenario, CONTROL)
    assert asked.warnings == ()
    more = sim.parse(LINE + "diffusion: {d: 0.1, flows: [target, other], bound: true, pool: 60 packets}\n")
    assert (more.bound, more.pool) == (True, 60)
    unshaped = replace(CONTROL, host_delay_ns=None)
    lost = [
        sim.run(sim.with_diffusion(scenario, replace(unshaped, pool=pool))).dropped(reason="queue_full")
        for pool in (None, 30)
    ]
    assert lost[0] < lost[1], "flows share 30 packets of a port"


def test_a_d_beyond_stability_is_a_warning() -> None:
    (warning,) = sim.parse(LINE + "diffusion: {d: 1.5}\n").warnings
    assert warning.startswith("diffusion.d: D 1.5 is beyond the stability limit of 1")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("{}", "scenario: diffusion.d: missing; write a number such as 0.1"),
        ("{d: much}", "scenario: diffusion.d: D 'much' is no number; write one like 0.1 or 1/10"),
        ("{d: -1}", "scenario: diffusion: D -1 is negative"),
        ("{d: 0.1, alpha: 3}", "scenario: diffusion: alpha 3 is out of range"),
        ("{d: 0.1, flows: target}", "scenario: diffusion.flows: not a list; write names"),
        ("{d: 0.1, flows: [nobody]}", "scenario: diffusion.flows: no flow 'nobody'"),
        ("{d: 0.1, hosts: 5}", "scenario: diffusion.hosts: "),
        ("{d: 0.1, speed: 1}", "scenario: diffusion.speed: unknown key"),
    ],
)
def test_a_bad_wish_is_refused_by_its_key(asked: str, message: str) -> None:
    with pytest.raises(sim.ScenarioError) as refusal:
        sim.parse(f"{LINE}diffusion: {asked}\n")
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("flows", "message"),
    [
        (("target", "nobody"), "no flow 'nobody' in the traffic; name one of target, other"),
        (("target", "other") * 4, "more than 6 flows; leave some uncontrolled"),
    ],
)
def test_what_cannot_be_controlled_is_refused(
    scenario: sim.Scenario, flows: tuple[str, ...], message: str
) -> None:
    with pytest.raises(sim.ScenarioError, match=message):
        sim.with_diffusion(scenario, replace(CONTROL, flows=flows))
