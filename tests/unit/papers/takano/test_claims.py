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
    assert len(found) >= 7
    assert all(found.values()), found


def test_the_distribution_of_packets_belongs_to_scenario_4() -> None:
    assert {"4-tcp-pile", "4-dfc-spread"} <= verdicts(as_the_paper_says("4")).keys()
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
            {"2-dfc-fair"},
        ),
    ],
)
def test_each_disagreement_is_noticed(changed: dict[str, object], control: str, refuted: set[str]) -> None:
    outcomes = as_the_paper_says("2")
    runs = outcomes[f"scenario-2-{control}"]
    runs[0] = replace(runs[0], **changed)  # pyright: ignore[reportArgumentType]
    found = verdicts(outcomes)
    assert {claim for claim, holds in found.items() if not holds} == refuted


def test_packets_in_one_node_are_not_spread() -> None:
    outcomes = as_the_paper_says("4")
    runs = outcomes["scenario-4-dfc"]
    runs[0] = replace(runs[0], queues=outcomes["scenario-4-tcp"][0].queues)
    found = verdicts(outcomes)
    assert not found["4-dfc-spread"]
    assert not found["4-dfc-below-buffer"]


def test_sizes_are_compared_when_all_were_run() -> None:
    outcomes = as_the_paper_says("4") | as_the_paper_says("4S") | as_the_paper_says("4L")
    assert not verdicts(outcomes)["size-tcp"], "all sizes do the same"
    for name, efficiency in (("4S", 0.4), ("4L", 0.2)):
        outcomes |= by_label(outcome(name, "tcp", efficiency=efficiency, swing=0.1, drops=1))
    assert verdicts(outcomes)["size-tcp"]


def test_vegas_is_judged_by_its_own_claims() -> None:
    outcomes = by_label(
        outcome("4V", "tcp", efficiency=0.5, swing=0.3),
        outcome("4V", "dfc", efficiency=0.5, swing=0.3),
        outcome("4V2", "tcp", efficiency=0.2, drops=9),
        outcome("4V2", "dfc", efficiency=0.5, swing=0.3),
    )
    found = verdicts(outcomes)
    assert found.keys() >= {"4V-oscillation", "4V-no-loss", "4V-same", "4V2-tcp-collapse", "4V2-dfc-as-4V"}
    assert all(found.values()), found


def test_a_claim_holds_when_it_does_in_every_run() -> None:
    runs = [outcome("2", "tcp", efficiency=mean, drops=9) for mean in (0.1, 0.2, 0.6)]
    found = {claim.id: claim for claim in claims(by_label(*runs))}
    assert found.keys() == {"2-tcp-low", "2-tcp-unstable", "2-tcp-loss"}, "of the control nothing is known"
    low, loss = found["2-tcp-low"], found["2-tcp-loss"]
    assert not low.holds and low.measured == pytest.approx(0.3)
    assert low.note == "in 2 of 3 runs, 0.1 to 0.6; low: a mean below 0.45"
    assert loss.holds and loss.note.startswith("in 3 of 3 runs, 9 to 9; ")


def test_one_run_with_control_is_compared_with_each_run_without() -> None:
    alone = [outcome("4R", "tcp", efficiency=mean) for mean in (0.1, 0.7)]
    found = {claim.id: claim for claim in claims(by_label(*alone, outcome("4R", "dfc", efficiency=0.5)))}
    assert found["4R-worse-than-dfc"].note == "in 1 of 2 runs, -0.2 to 0.4"
    assert found["4R-dfc-half"].note == "", "it was run once"


def test_scenarios_are_compared_run_by_run() -> None:
    tahoe = [outcome("4", "tcp", efficiency=mean) for mean in (0.2, 0.6)]
    reno = [outcome("4R", "tcp", efficiency=mean) for mean in (0.3, 0.7)]
    assert verdicts(by_label(*tahoe, *reno))["4R-better-than-tahoe"], "0.3 is compared with 0.2 alone"
