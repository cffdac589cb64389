"""Counters of switches become bytes on links and a verdict."""

import copy

import pytest

from groupflow.errors import InvalidError
from groupflow.files import variants
from groupflow.lab.measure import CpuTimes, PortBytes, port_statistics, switch_health, usage

STATS: dict[str, object] = {
    "cpu_bound": False,
    "kernel_drops": 0,
    "lateness": {"p99_ns": 400_000, "limit_ns": 10_000_000},
    "ports": [
        {
            "port": 1,
            "in": {"packets": 99, "bytes": 99_000, "drops": {"loss": 1}},
            "out": {"packets": 5, "bytes": 500, "drops": {"loss": 2}},
        },
        {
            "port": 2,
            "in": {"packets": 0, "bytes": 0, "drops": {"loss": 0}},
            "out": {"packets": 0, "bytes": 0, "drops": {"loss": 0}},
        },
    ],
}


def test_a_link_carried_what_it_lost_too() -> None:
    assert port_statistics(STATS) == {1: PortBytes(100_000, 500), 2: PortBytes(0, 0)}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("ports", 3, "ports: 3 is no list"), ("ports", [{"port": 1}], "in: None is no object")],
)
def test_unexpected_statistics_are_named(field: str, value: object, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        port_statistics({**STATS, field: value})


def test_a_switch_judges_itself() -> None:
    good = switch_health("s1", STATS)
    assert not good.cpu_bound and "0.40 ms" in good.detail
    late = copy.deepcopy(STATS) | {"cpu_bound": True, "kernel_drops": 12}
    bad = switch_health("s1", late)
    assert bad.cpu_bound and "kernel dropped 12" in bad.detail
    with pytest.raises(InvalidError, match="s1: cpu_bound"):
        switch_health("s1", {})


def test_usage_is_the_difference_over_the_file() -> None:
    topology = variants.named("star")
    directions = [
        pair for link in topology.links for pair in ((link.a.node, link.b.node), (link.b.node, link.a.node))
    ]
    before = dict.fromkeys(directions, 100)
    after = before | {("h1", "s1"): 1100, ("s1", "h1"): 110}
    uses = {(use.source, use.target): use for use in usage(topology, before, after, 500)}
    assert (uses["h1", "s1"].bytes, uses["h1", "s1"].copies) == (1000, 2.0)
    assert (uses["s1", "h1"].bytes, uses["s1", "h1"].copies) == (10, 0.02)
    assert uses["s1", "h2"].bytes == 0


def test_idle_time_is_the_share_since_the_earlier_look() -> None:
    # proc(5): user nice system idle iowait irq softirq steal guest guest_nice
    before = CpuTimes.parse("cpu 100 0 100 800 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    after = CpuTimes.parse("cpu 190 0 100 805 5 0 0 0 50 0\n")
    assert after.idle_since(before) == pytest.approx(0.1)
    assert before.idle_since(before) == 1.0
