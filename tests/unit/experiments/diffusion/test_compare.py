"""Two runs side by side: every flow and every switch, and the meaning of "within"."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.common.beside import Comparison
from experiments.diffusion.result import Flow, Plan, Result, compare

PLAN = Plan((Flow("one", "h1", "h2", 5001), Flow("two", "h3", "h2", 5002)), 4.0, 2.0, window_packets=10)
KERNEL = Result(
    where="gfswitch",
    control="reno",
    method="dfc",
    time_s=np.array([1.0, 2.0, 3.0]),
    queues=np.array([[90.0, 90.0], [10.0, 20.0], [20.0, 40.0]]),
    goodput_bps={"one": 4e6, "two": 6e6},
    drops={"s1": 0, "s2": 4},
    retransmitted={"one": 0, "two": 4},
)
NETSIM = replace(
    KERNEL,
    where="netsim",
    queues=np.array([[0.0, 0.0], [15.0, 34.0], [15.0, 34.0]]),
    goodput_bps={"one": 4.3e6, "two": 5.4e6},
    drops={"s1": 0, "s2": 5},
)


def test_each_flow_and_each_switch_is_compared_from_when_all_are_there() -> None:
    found = {c.quantity: (c.kernel, c.netsim, c.within) for c in compare(PLAN, [KERNEL, NETSIM])}
    assert found == {
        "goodput of all flows": (10.0, pytest.approx(9.7), True),
        "goodput of one": (4.0, pytest.approx(4.3), True),
        "goodput of two": (6.0, pytest.approx(5.4), True),
        "slower flow": (pytest.approx(4 / 6), pytest.approx(4.3 / 5.4), False),
        "waiting in all switches": (45.0, 49.0, True),
        "waiting in s1": (15.0, 15.0, True),
        "waiting in s2": (30.0, 34.0, False),
        "dropped": (4.0, 5.0, False),
    }


def test_a_run_without_its_counterpart_is_not_compared() -> None:
    assert compare(PLAN, [KERNEL, replace(NETSIM, method="tcp")]) == []
    assert compare(PLAN, [KERNEL]) == []


@pytest.mark.parametrize(
    ("kernel", "netsim", "within"),
    [(0.0, 0.0, True), (0.0, 1.0, False), (10.0, 11.0, True), (10.0, 8.9, False), (10.0, 0.0, False)],
)
def test_within_is_a_tenth_of_the_real_figure(kernel: float, netsim: float, within: bool) -> None:
    assert Comparison("gfswitch", {}, "dropped", "packets", kernel, netsim).within is within
