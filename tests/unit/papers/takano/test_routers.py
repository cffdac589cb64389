"""Drop-tail and marks on the paper's line: scenarios, and short runs on a small line."""

from dataclasses import replace
from pathlib import Path

from groupflow import sim
from papers.takano import routers
from papers.takano.outcome import run_one
from papers.takano.paper import CASES, Case
from papers.takano.plan import Control, Run

FOUR = CASES["4"]
SMALL = replace(FOUR, name="small", nodes=6, background_at=3, bandwidth_bps=10**9, window=1000, buffer=200)
METHODS: tuple[Control, ...] = ("drop-tail", "ecn")


def run(case: Case, control: Control) -> Run:
    return Run(f"test-{control}", case, control)


def test_methods_differ_in_what_they_say_they_do() -> None:
    plain, ecn = (routers.scenario(run(FOUR, control)) for control in METHODS)
    assert all(set(s.kinds.values()) == {"fifo"} and len(s.kinds) == 30 for s in (plain, ecn))
    assert set(plain.fifos.values()) == {sim.FifoOptions()}
    assert set(ecn.fifos.values()) == {sim.FifoOptions(ecn=200)}
    assert all(isinstance(flow.traffic, sim.TcpTraffic) and flow.traffic.ecn for flow in ecn.flows)
    assert plain.topology == ecn.topology
    paced = routers.scenario(replace(run(FOUR, "ecn"), paced=True)).topology
    assert [link for link in paced.links if link not in plain.topology.links] == [
        link for link in paced.links if link.a.node.startswith("source")
    ]


def test_the_threshold_of_marks_is_the_run_s() -> None:
    assert routers.options(replace(run(FOUR, "ecn"), ecn=77)) == sim.FifoOptions(ecn=77)


def test_what_the_methods_do_on_a_small_line(tmp_path: Path) -> None:
    small = replace(SMALL, tcp="newreno").shortened(0.3)
    tail, ecn = (run_one(run(small, control), tmp_path) for control in METHODS)
    assert tail.dropped > 0 and tail.marks == 0
    assert ecn.marks > 0
    assert ecn.fullest_queue < tail.fullest_queue
    assert all(0 < o.mean_efficiency <= 1 and 0 < o.fairness <= 1 for o in (tail, ecn))
    again = run_one(run(small, "ecn"), tmp_path / "again")
    assert (again.queues == ecn.queues).all(), "the same run after run"
