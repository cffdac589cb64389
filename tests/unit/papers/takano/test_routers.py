"""Drop-tail, marks and pauses on the paper's line: scenarios, and short runs on a small line."""

from dataclasses import replace
from pathlib import Path

from groupflow import sim
from papers.takano import routers
from papers.takano.outcome import run_one
from papers.takano.paper import CASES, Case
from papers.takano.plan import Control, Run

FOUR = CASES["4"]
SMALL = replace(FOUR, name="small", nodes=6, background_at=3, bandwidth_bps=10**9, window=1000, buffer=200)
METHODS: tuple[Control, ...] = ("drop-tail", "ecn", "xoff")


def run(case: Case, control: Control) -> Run:
    return Run(f"test-{control}", case, control)


def test_headroom_is_two_delays_and_two_frames() -> None:
    assert routers.headroom(FOUR, 100_000) == 205 + 2  # 2 * 0.1 ms at 12.3 Gb/s: 205 packets of 1500 bytes
    assert routers.headroom(FOUR, 0) == 2


def test_every_input_s_part_and_headroom_fit_the_buffer() -> None:
    for case in (CASES["2"], FOUR, SMALL):
        for node in range(1, case.nodes + 1):
            option = routers.options(run(case, "xoff"), node)
            assert option.xoff is not None and option.xon is not None
            delays = routers.upstream_delays(case, node)
            needed = sum(option.xoff + routers.headroom(case, delay) for delay in delays)
            assert case.buffer - len(delays) < needed <= case.buffer or option.xoff == case.buffer - 1
            assert 0 < option.xon < option.xoff
    assert routers.options(run(FOUR, "xoff"), 2) == sim.FifoOptions(xoff=1593, xon=1062)
    assert routers.options(run(FOUR, "xoff"), 15) == sim.FifoOptions(xoff=795, xon=530)


def test_methods_differ_in_what_they_say_they_do() -> None:
    plain, ecn, xoff = (routers.scenario(run(FOUR, control)) for control in METHODS)
    assert all(set(s.kinds.values()) == {"fifo"} and len(s.kinds) == 30 for s in (plain, ecn, xoff))
    assert set(plain.fifos.values()) == {sim.FifoOptions()}
    assert set(ecn.fifos.values()) == {sim.FifoOptions(ecn=200)}
    assert all(isinstance(flow.traffic, sim.TcpTraffic) and flow.traffic.ecn for flow in ecn.flows)
    assert plain.flows == xoff.flows
    assert plain.topology == ecn.topology
    assert routers.scenario(replace(run(FOUR, "ecn"), paced=True)).topology == xoff.topology
    assert [link for link in xoff.topology.links if link not in plain.topology.links] == [
        link for link in xoff.topology.links if link.a.node.startswith("source")
    ]


def test_the_threshold_of_marks_is_the_run_s() -> None:
    assert routers.options(replace(run(FOUR, "ecn"), ecn=77), 3) == sim.FifoOptions(ecn=77)


def test_what_the_methods_do_on_a_small_line(tmp_path: Path) -> None:
    small = replace(SMALL, tcp="newreno").shortened(0.3)
    tail, ecn, xoff = (run_one(run(small, control), tmp_path) for control in METHODS)
    assert tail.dropped > 0
    assert (tail.marks, tail.pauses) == (0, 0)
    assert ecn.marks > 0
    assert ecn.fullest_queue < tail.fullest_queue
    assert xoff.pauses > 0
    assert (xoff.dropped, xoff.early_drops, sum(xoff.retransmissions.values())) == (0, 0, 0)
    assert all(0 < o.mean_efficiency <= 1 and 0 < o.fairness <= 1 for o in (tail, ecn, xoff))
    again = run_one(run(small, "xoff"), tmp_path / "again")
    assert (again.queues == xoff.queues).all(), "the same run after run"
