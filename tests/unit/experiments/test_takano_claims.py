"""What decides whether a run agrees with the paper, on runs made up to agree or not."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.common.claims import Claim
from experiments.takano.claims import evaluate
from experiments.takano.outcome import Outcome
from experiments.takano.paper import BACKGROUND, CASES, TARGET

STEPS = 301


def outcome(name: str, *, dfc: bool, efficiency: float, swing: float = 0.0, drops: int = 0) -> Outcome:
    """A run whose efficiency swings around a mean, with all stored packets at the bottleneck, or spread."""
    case = CASES[name]
    time = np.linspace(0, case.seconds, STEPS)
    queues = np.zeros((STEPS, case.nodes))
    if dfc:
        queues += 100.0
    else:
        queues[:, case.background_at - 1] = case.buffer
    share = np.full(STEPS, case.bandwidth_bps / 2)
    return Outcome(
        case=case,
        dfc=dfc,
        time_s=time,
        efficiency=efficiency + swing * np.sign(np.sin(time * 100)),
        throughput_bps={TARGET: share, BACKGROUND: share},
        window_packets=np.full(STEPS, float(case.window)),
        queues=queues,
        drops={case.background_at: drops} if drops else {},
        early_drops=0,
        retransmissions={TARGET: drops, BACKGROUND: 0},
        wall_s=1.0,
        packet_hops=1,
    )


def as_the_paper_says(name: str) -> dict[tuple[str, bool], Outcome]:
    return {
        (name, False): outcome(name, dfc=False, efficiency=0.3, swing=0.2, drops=50),
        (name, True): outcome(name, dfc=True, efficiency=0.5),
    }


def verdicts(claims: list[Claim]) -> dict[str, bool]:
    return {claim.id: claim.holds for claim in claims}


@pytest.mark.parametrize("name", ["1", "2", "3", "4", "5", "4S", "4L", "4R", "4N"])
def test_a_run_as_the_paper_says_agrees(name: str) -> None:
    found = verdicts(evaluate(as_the_paper_says(name)))
    assert len(found) >= 7
    assert all(found.values()), found


def test_the_distribution_of_packets_belongs_to_scenario_4() -> None:
    assert {"4-tcp-pile", "4-dfc-spread"} <= verdicts(evaluate(as_the_paper_says("4"))).keys()
    assert "4-tcp-pile" not in verdicts(evaluate(as_the_paper_says("2")))


@pytest.mark.parametrize(
    ("changed", "dfc", "refuted"),
    [
        ({"efficiency": np.full(STEPS, 0.5)}, False, {"2-tcp-low", "2-tcp-unstable"}),
        ({"drops": {}}, False, {"2-tcp-loss"}),
        ({"drops": {1: 30, 15: 20}}, False, {"2-tcp-loss"}),
        ({"efficiency": np.full(STEPS, 0.4)}, True, {"2-dfc-half"}),
        ({"efficiency": np.tile([0.4, 0.6], STEPS)[:STEPS]}, True, {"2-dfc-stable"}),
        ({"drops": {7: 1}}, True, {"2-dfc-no-loss"}),
        (
            {"throughput_bps": {TARGET: np.full(STEPS, 3e8), BACKGROUND: np.full(STEPS, 9e8)}},
            True,
            {"2-dfc-fair"},
        ),
    ],
)
def test_each_disagreement_is_noticed(changed: dict[str, object], dfc: bool, refuted: set[str]) -> None:
    outcomes = as_the_paper_says("2")
    outcomes["2", dfc] = replace(outcomes["2", dfc], **changed)  # pyright: ignore[reportArgumentType]
    found = verdicts(evaluate(outcomes))
    assert {claim for claim, holds in found.items() if not holds} == refuted


def test_packets_in_one_node_are_not_spread() -> None:
    outcomes = as_the_paper_says("4")
    outcomes["4", True] = replace(outcomes["4", True], queues=outcomes["4", False].queues)
    found = verdicts(evaluate(outcomes))
    assert not found["4-dfc-spread"]
    assert not found["4-dfc-below-buffer"]


def test_sizes_are_compared_when_all_were_run() -> None:
    outcomes = as_the_paper_says("4") | as_the_paper_says("4S") | as_the_paper_says("4L")
    assert not verdicts(evaluate(outcomes))["size-tcp"], "all sizes do the same"
    for name, efficiency in (("4S", 0.4), ("4L", 0.2)):
        outcomes[name, False] = outcome(name, dfc=False, efficiency=efficiency, swing=0.1, drops=1)
    assert verdicts(evaluate(outcomes))["size-tcp"]


def test_vegas_is_judged_by_its_own_claims() -> None:
    outcomes = {
        ("4V", False): outcome("4V", dfc=False, efficiency=0.5, swing=0.3),
        ("4V", True): outcome("4V", dfc=True, efficiency=0.5, swing=0.3),
        ("4V2", False): outcome("4V2", dfc=False, efficiency=0.2, drops=9),
        ("4V2", True): outcome("4V2", dfc=True, efficiency=0.5, swing=0.3),
    }
    found = verdicts(evaluate(outcomes))
    assert found.keys() >= {"4V-oscillation", "4V-no-loss", "4V-same", "4V2-tcp-collapse", "4V2-dfc-as-4V"}
    assert all(found.values()), found
