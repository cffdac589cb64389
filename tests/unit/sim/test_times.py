"""When each transfer began and ended, and its goodput meanwhile. What was not measured is None, never 0."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groupflow import sim
from groupflow.study.plots import plot
from tests.unit.sim.test_bone import BONE, SECOND, scenario
from tests.unit.sim.test_sessions import tree
from tests.unit.sim.test_split import TEXT as SPLIT

LINE = """
switches: {s1: {kind: fifo}}
hosts: {h1: , h2: }
links:
  - {ends: [h1, s1], rate: 10mbit, delay: 1ms}
  - {ends: [h2, s1], rate: 10mbit, delay: 1ms}
duration: 1s
sample: 10ms
traffic:
  f: FLOW
"""
TCP = "{kind: tcp, from: h1, to: h2, variant: newreno"
UDP = "{kind: udp, from: h1, to: h2, rate: 1mbit"


def line(flow: str) -> sim.Scenario:
    return sim.parse(LINE.replace("FLOW", flow))


def test_a_transfer_begins_with_its_first_packet_and_ends_with_its_last() -> None:
    flow = sim.run(line(f"{TCP}, size: 500000 bytes, start: 200ms }}")).flows["f"]
    assert flow.duration_s
    assert flow.start_s == 0.2
    assert flow.goodput_bps == pytest.approx(500_000 * 8 / flow.duration_s)
    assert 8e6 < (flow.goodput_bps or 0) < 1e7, "while it ran, not by the duration"


@pytest.mark.parametrize(
    ("flow", "started", "ended", "measured"),
    [
        (f"{TCP}}}", True, False, True),
        (f"{TCP}, stop: 300ms}}", True, True, True),
        (f"{TCP}, start: 2s}}", False, False, False),
        (f"{TCP}, size: 1 bytes}}", True, True, True),
        (f"{UDP}}}", True, False, True),
        (f"{UDP}, stop: 300ms}}", True, True, True),
        (f"{UDP}, start: 2s}}", False, False, False),
    ],
)
def test_a_flow_that_has_not_started_or_ended_has_no_time(
    flow: str, started: bool, ended: bool, measured: bool
) -> None:
    found = sim.run(line(flow)).flows["f"]
    assert (found.start_s is not None, found.end_s is not None) == (started, ended)
    assert (found.goodput_bps is not None) == measured
    assert found.mean_delay_s is None or (found.delivered_packets and found.retransmissions is None)


def test_a_cut_off_transfer_goes_on_and_one_without_a_byte_has_a_measured_zero() -> None:
    base = line(f"{TCP}, size: 5000000 bytes}}")
    cut = replace(base, extras={1: sim.LinkExtra(down_ns=((0, SECOND),))})
    flow = sim.run(cut).flows["f"]
    assert (flow.start_s, flow.end_s, flow.goodput_bps) == (0, None, 0), "the SYN is lost, too"
    late = replace(base, extras={1: sim.LinkExtra(down_ns=((10**7, SECOND),))})
    flow = sim.run(late).flows["f"]
    assert flow.start_s is not None and flow.end_s is None and flow.goodput_bps is not None


def test_a_run_is_measured_to_its_end_whatever_the_time_between_samples() -> None:
    for sample_ns in (10**7, 7 * 10**7, 5 * SECOND):
        results = sim.run(replace(line(f"{TCP}, size: 500000 bytes}}"), sample_ns=sample_ns))
        assert results.simulated_s == 1.0 and results.flows["f"].finished


@pytest.mark.parametrize("loss", ["0", "1%"])
def test_receivers_of_a_session_have_times_and_repairs_of_their_own(loss: str) -> None:
    flows = sim.run(tree(loss)).flows
    sender = flows["session7-h1"]
    assert sender.start_s and sender.end_s and sender.goodput_bps
    assert (sender.delivered_bytes, sender.acknowledged_bytes, sender.mean_delay_s) == (None, 5_000_000, None)
    for host in ("h2", "h3", "h4"):
        member = flows[f"session7-{host}"]
        assert member.start_s == sender.start_s and member.end_s and member.end_s < sender.end_s
        assert member.goodput_bps and sender.goodput_bps < member.goodput_bps < 1e8
        assert member.mean_delay_s is None and member.repairs is not None
    assert (sum(flows[f"session7-{host}"].repairs or 0 for host in ("h2", "h3", "h4")) > 0) == (loss != "0")
    for cache in (flows["cache-c1"], flows["cache-c2"]):
        assert (cache.start_s, cache.delivered_bytes, cache.goodput_bps) == (None, None, None)
        assert cache.repairs is not None


def test_the_goodput_of_a_session_follows_the_loss() -> None:
    without, lossy = (sim.run(tree(loss)).flows["session7-h3"].goodput_bps or 0 for loss in ("0", "5%"))
    assert lossy < 0.9 * without


def test_connections_of_a_split_session_start_with_its_source() -> None:
    flows = sim.run(sim.parse(SPLIT.replace("MODE", "n2n"))).flows
    assert len({flow.start_s for flow in flows.values()}) == 1
    ends = [flows[name].end_s or 0.0 for name in ("file-h1-s1", "file-s1-s2", "file-s2-h3")]
    assert 0 < ends[0] < ends[1] < ends[2]


def test_a_hub_and_its_rims() -> None:
    results = sim.run(scenario(BONE))
    hub, rim = results.flows["bone"], results.flows[BONE.rim("r0")]
    assert hub.duration_s == pytest.approx(results.bones["bone"].duration_s)
    assert rim.start_s == hub.start_s == 0 and rim.end_s and hub.end_s and rim.end_s < hub.end_s
    assert hub.goodput_bps and rim.goodput_bps and hub.goodput_bps < rim.goodput_bps


def test_a_hub_that_is_not_done_has_no_result() -> None:
    results = sim.run(replace(scenario(BONE), duration_ns=3 * SECOND, sample_ns=SECOND))
    hub, rim = results.flows["bone"], results.flows[BONE.rim("r0")]
    assert results.bones == {} and (hub.end_s, hub.goodput_bps, hub.bone) == (None, None, None)
    assert rim.end_s is None and rim.goodput_bps is not None


@pytest.mark.slow
def test_plots_leave_out_what_was_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, list[Any]] = {}

    def save(figure: Any, path: Path) -> None:
        axes = figure.axes[0]
        drawn[path.stem] = [each.get_label() for each in axes.lines] or [t.get_text() for t in axes.texts]

    monkeypatch.setattr("groupflow.study.plots.save", save)
    plot(sim.run(replace(tree("0"), duration_ns=SECOND), out=tmp_path / "tree"))
    assert drawn["throughput"] == [f"session7-{host}" for host in ("h2", "h3", "h4")]
    assert drawn["windows"] == ["not measured: no flow is TCP"]
    assert drawn["efficiency"] == ["not measured: of TCP and UDP over links with rate and delay"]
