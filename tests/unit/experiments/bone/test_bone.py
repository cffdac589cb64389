"""`groupflow experiment bone` without the network: the plan in netsim, and the comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.bone import run, transfers
from experiments.bone.plan import FEW, RIMS, Case, Plan, Transfer, full, quick
from groupflow.study.experiment import Frame, StudyOptions, always

SMALL = Plan(FEW, size=60_000, real_runs=1, simulated_runs=4, seed=1)


def test_a_packet_leaves_as_often_as_the_hubs_rate_says() -> None:
    # 1,000 bytes, 22 of the message, 42 below it, 24 of the session: 1,088 bytes at 900 kb/s
    assert Case("scheduled", "selective").interval_ns == 9_671_111
    assert Case("unicast", "selective").interval_ns == 9_457_777


def test_every_case_ends_in_netsim_with_the_file_at_every_rim() -> None:
    found = list(transfers.simulate(SMALL))
    assert [each.case for each in found] == [case for case in FEW for _ in range(4)]
    assert all(each.complete == len(RIMS) and 1 < each.seconds < 60 for each in found)
    again = {case: sum(each.again for each in found if each.case == case) for case in FEW}
    assert again[FEW[0]] > 4 * again[FEW[1]] > 0, "Go-Back-N costs, and the link loses"


def test_the_full_plan_has_every_method_with_every_repair() -> None:
    assert len(set(full(1).cases)) == 6 and set(quick(1).cases) < set(full(1).cases)


def test_means_are_compared_and_told(tmp_path: Path) -> None:
    case = FEW[0]
    transfers = [
        Transfer("kernel", case, seconds=10, again=0.5, rounds=3, complete=3),
        Transfer("kernel", case, seconds=12, again=0.7, rounds=3, complete=3),
        Transfer("netsim", case, seconds=11.5, again=0.9, rounds=3, complete=3),
        Transfer("netsim", case, seconds=12.5, again=0.9, rounds=3, complete=3),
        Transfer("netsim", FEW[1], seconds=1, again=0, rounds=3, complete=3),
    ]
    compared = run.compare(SMALL, transfers)
    assert [(each.case, each.quantity, each.plausible) for each in compared] == [
        (case, "seconds", False),
        (case, "again", False),
    ]
    assert (compared[0].kernel, compared[0].netsim, compared[0].spread) == (11, 12, 0.5)
    assert replace(compared[0], netsim=11.7).plausible, "two standard errors of two runs are 0.71"
    study = replace(run.EXPERIMENT.studies[0], runs=always(SMALL))
    frame = Frame[Transfer](replace(run.EXPERIMENT, studies=[study]), StudyOptions(tmp_path))
    frame.lagging.append("s1: late")
    found = run.find(frame, transfers)
    told: Any = found.told
    assert told == found.files["results.json"]
    assert told["beside_netsim"][1]["difference"] == pytest.approx(0.5) and told["cpu_bound"] == ["s1: late"]
