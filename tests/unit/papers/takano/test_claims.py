"""The judgement whether a run agrees with the paper, on runs made up to agree or not."""

from dataclasses import replace

import numpy as np
import pytest

from groupflow.study.claims import Claim
from papers.takano.claims import RULES
from papers.takano.judge import evaluate
from papers.takano.outcome import Outcome
from papers.takano.paper import BACKGROUND, TARGET
from tests.unit.papers.takano.outcomes import STEPS, outcome

Ran = dict[str, list[Outcome]]


def as_the_paper_says(name: str) -> Ran:
    return by_label(
        outcome(name, "tcp", efficiency=0.3, swing=0.2, drops=50), outcome(name, "dfc", efficiency=0.5)
    )


def by_label(*outcomes: Outcome) -> Ran:
    found: Ran = {}
    for each in outcomes:
        found.setdefault(each.run.label, []).append(each)
    return found


def claims(ran: Ran) -> list[Claim]:
    return evaluate(RULES, ran)


def verdicts(ran: Ran) -> dict[str, bool]:
    return {claim.id: claim.holds for claim in claims(ran)}


@pytest.mark.parametrize("name", ["1", "2", "3", "4", "5", "4S", "4L", "4R", "4N"])
def test_a_run_as_the_paper_says_agrees(name: str) -> None:
    found = verdicts(as_the_paper_says(name))
    assert len(found) >= (7 if name == "4" else 6 if name in "1235" else 3)
    assert all(found.values()), found


def test_the_distribution_of_packets_belongs_to_scenario_4() -> None:
    assert {"4-tcp-pile", "4-tcp-falls", "4-dfc-spread", "4-dfc-window", "4-dfc-recovers"} <= verdicts(
        as_the_paper_says("4")
    ).keys()
    assert "4-tcp-pile" not in verdicts(as_the_paper_says("2"))


@pytest.mark.parametrize(
    ("changed", "control", "refuted"),
    [
        ({"efficiency": np.full(STEPS, 0.5)}, "tcp", {"2-tcp-low", "2-tcp-unstable"}),
        ({"drops": {}}, "tcp", {"2-tcp-loss"}),
        ({"drops": {1: 30, 15: 20}}, "tcp", {"2-tcp-loss"}),
        ({"efficiency": np.full(STEPS, 0.4)}, "dfc", {"2-dfc-half"}),
        ({"efficiency": np.tile([0.4, 0.6], STEPS)[:STEPS]}, "dfc", {"2-dfc-stable"}),
        ({"drops": {7: 1}}, "dfc", {"2-dfc-no-loss"}),
        (
            {"throughput_bps": {TARGET: np.full(STEPS, 3e8), BACKGROUND: np.full(STEPS, 9e8)}},
            "dfc",
            {"2-dfc-half"},
        ),
    ],
)
def test_each_disagreement_is_noticed(changed: dict[str, object], control: str, refuted: set[str]) -> None:
    outcomes = as_the_paper_says("2")
    runs = outcomes[f"scenario-2-{control}"]
    runs[0] = replace(runs[0], **changed)  # pyright: ignore[reportArgumentType]
    found = verdicts(outcomes)
    assert {claim for claim, holds in found.items() if not holds} == refuted


STEADY, FALLING = np.ones(STEPS), np.linspace(1, 0.2, STEPS)


@pytest.mark.parametrize(
    ("control", "changed", "refuted"),
    [
        ("dfc", {"queues": as_the_paper_says("4")["scenario-4-tcp"][0].queues}, "4-dfc-spread"),
        ("dfc", {"window_packets": FALLING}, "4-dfc-window"),
        ("dfc", {"efficiency": np.where(np.linspace(0, 3, STEPS) < 1, 0.3, 0.5)}, "4-dfc-recovers"),
        ("dfc", {"efficiency": np.tile([0.4, 0.6], STEPS)[:STEPS]}, "4-dfc-recovers"),
        ("dfc", {"throughput_bps": {TARGET: STEADY, BACKGROUND: 3 * STEADY}}, "4-dfc-recovers"),
        ("tcp", {"queues": np.full((STEPS, 30), 100.0)}, "4-tcp-pile"),
        ("tcp", {"drops": {1: 30, 15: 20}}, "4-tcp-pile"),
        ("tcp", {"window_packets": STEADY}, "4-tcp-falls"),
    ],
)
def test_what_becomes_of_a_congestion_is_noticed(
    control: str, changed: dict[str, object], refuted: str
) -> None:
    outcomes = as_the_paper_says("4")
    runs = outcomes[f"scenario-4-{control}"]
    runs[0] = replace(runs[0], **changed)  # pyright: ignore[reportArgumentType]
    assert not verdicts(outcomes)[refuted]


def test_sizes_are_compared_when_all_were_run() -> None:
    outcomes = as_the_paper_says("4") | as_the_paper_says("4S") | as_the_paper_says("4L")
    assert not verdicts(outcomes)["size-tcp"], "all sizes do the same"
    for name, efficiency in (("4S", 0.4), ("4L", 0.28)):
        outcomes |= by_label(outcome(name, "tcp", efficiency=efficiency, swing=0.1, drops=1))
    assert not verdicts(outcomes)["size-tcp"], "0.28 is as good as 0.3"
    for name, efficiency in (("4S", 0.4), ("4L", 0.2)):
        outcomes |= by_label(outcome(name, "tcp", efficiency=efficiency, swing=0.1, drops=1))
    assert verdicts(outcomes)["size-tcp"]


def test_vegas_is_judged_by_its_own_claims() -> None:
    outcomes = by_label(
        replace(outcome("4V", "tcp", efficiency=0.3, swing=0.1), efficiency=np.geomspace(0.05, 0.9, STEPS)),
        outcome("4V", "dfc", efficiency=0.3, swing=0.3),
        outcome("4V2", "tcp", efficiency=0.2, drops=9),
        outcome("4V2", "dfc", efficiency=0.3, swing=0.3),
    )
    found = verdicts(outcomes)
    assert found.keys() >= {*("4V-oscillation", "4V-slow", "4V-same", "4V2-tcp-collapse", "4V2-dfc-as-4V")}
    assert all(found.values()), found


def test_flows_that_hardly_use_the_line_show_nothing_about_its_buffers() -> None:
    ran = [outcome(name, control, efficiency=0.03) for name in ("4V", "4V2") for control in ("tcp", "dfc")]
    found = verdicts(by_label(*ran))
    assert not found["4V-same"] and not found["4V2-dfc-as-4V"]
    assert not found["4V-slow"], "it does not move any more"


def test_the_first_run_is_the_papers_and_all_runs_are_told() -> None:
    runs = [outcome("2", "tcp", efficiency=mean, drops=9) for mean in (0.1, 0.2, 0.6)]
    found = {claim.id: claim for claim in claims(by_label(*runs))}
    assert found.keys() == {"2-tcp-low", "2-tcp-unstable", "2-tcp-loss"}, "of the control nothing is known"
    low, loss = found["2-tcp-low"], found["2-tcp-loss"]
    assert low.holds and low.measured == pytest.approx(0.1)
    assert not verdicts(by_label(*runs[::-1]))["2-tcp-low"]
    assert low.note == "in 2 of 3 runs, 0.1 to 0.6; low: a mean below 0.45"
    assert loss.holds and loss.note.startswith("in 3 of 3 runs, 9 to 9; ")


def test_one_run_with_control_is_compared_with_each_run_without() -> None:
    alone = [outcome("4R", "tcp", efficiency=mean) for mean in (0.1, 0.7)]
    found = {claim.id: claim for claim in claims(by_label(*alone, outcome("4R", "dfc", efficiency=0.5)))}
    assert found["4R-worse-than-dfc"].note == "in 1 of 2 runs, -0.2 to 0.4; more than 0.05"
    assert found["4R-dfc-stable"].note == "", "it was run once"


def test_scenarios_are_compared_run_by_run() -> None:
    tahoe = [outcome("4", "tcp", efficiency=mean) for mean in (0.2, 0.6)]
    reno = [outcome("4R", "tcp", efficiency=mean) for mean in (0.3, 0.7)]
    assert verdicts(by_label(*tahoe, *reno))["4R-better-than-tahoe"], "0.3 is compared with 0.2 alone"
