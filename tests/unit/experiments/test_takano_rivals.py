"""Drop-tail, marks and pauses on the paper's line: what is built, and short runs on a small line."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.takano import rivals, rivals_figure
from experiments.takano.paper import CASES
from groupflow import sim

FOUR = CASES["4"]
SMALL = replace(FOUR, name="small", nodes=6, background_at=3, bandwidth_bps=10**9, window=1000, buffer=200)


def test_headroom_is_two_delays_and_two_frames() -> None:
    assert rivals.headroom(FOUR, 100_000) == 205 + 2  # 2 * 0.1 ms at 12.3 Gb/s: 205 packets of 1500 bytes
    assert rivals.headroom(FOUR, 0) == 2


def test_every_input_s_part_and_headroom_fit_the_buffer() -> None:
    for case in (CASES["2"], FOUR, SMALL):
        for node in range(1, case.nodes + 1):
            option = rivals.options(case, "xoff", node)
            assert option.xoff is not None and option.xon is not None
            delays = rivals.upstream_delays(case, node)
            needed = sum(option.xoff + rivals.headroom(case, delay) for delay in delays)
            assert case.buffer - len(delays) < needed <= case.buffer or option.xoff == case.buffer - 1
            assert 0 < option.xon < option.xoff
    assert rivals.options(FOUR, "xoff", 2) == sim.FifoOptions(xoff=1593, xon=1062)
    assert rivals.options(FOUR, "xoff", 15) == sim.FifoOptions(xoff=795, xon=530)


def test_a_buffer_below_the_headroom_is_refused() -> None:
    with pytest.raises(ValueError, match="scenario 6: a buffer of 1800 packets is less than node 2"):
        rivals.scenario(CASES["6"], "xoff")


def test_methods_differ_in_what_they_say_they_do() -> None:
    plain, ecn, xoff = (rivals.scenario(FOUR, method) for method in rivals.METHODS)
    assert all(set(s.kinds.values()) == {"fifo"} and len(s.kinds) == 30 for s in (plain, ecn, xoff))
    assert set(plain.fifos.values()) == {sim.FifoOptions()}
    assert set(ecn.fifos.values()) == {sim.FifoOptions(ecn=200)}
    assert all(isinstance(flow.traffic, sim.TcpTraffic) and flow.traffic.ecn for flow in ecn.flows)
    assert plain.flows == xoff.flows
    assert plain.topology == ecn.topology
    assert [link for link in xoff.topology.links if link not in plain.topology.links] == [
        link for link in xoff.topology.links if link.a.node.startswith("source")
    ]


def test_a_comparison_has_a_row_a_method_and_a_figure(tmp_path: Path) -> None:
    found = rivals.compare(SMALL, out=tmp_path, tcps=("newreno",), seconds=0.3)
    rows = {rival.row.method: rival.row for rival in found}
    assert tuple(rows) == rivals.METHODS
    assert rows["drop-tail"].drops > 0
    assert (rows["drop-tail"].marks, rows["drop-tail"].pauses) == (0, 0)
    assert rows["ecn"].marks > 0
    assert rows["ecn"].fullest_queue < rows["drop-tail"].fullest_queue
    assert rows["xoff"].pauses > 0
    assert (rows["xoff"].drops, rows["xoff"].early_drops, rows["xoff"].retransmissions) == (0, 0, 0)
    assert all(0 < row.mean_efficiency <= 1 and 0 < row.fairness <= 1 for row in rows.values())
    again = rivals.run_one(replace(SMALL, tcp="newreno"), "xoff", out=tmp_path / "again", seconds=0.3)
    assert again.row == rows["xoff"], "the same run after run"
    path = tmp_path / "rivals.png"
    rivals_figure.rivals(path, {rival.row.method: rival.outcome for rival in found})
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="a figure is of one scenario"):
        rivals_figure.rivals(path, {})
