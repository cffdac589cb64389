"""What decides whether a reproduction agrees with the split-connection paper, on points made up."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.icn2011.claims import LINK_MBPS, PAYLOAD_MBPS, evaluate
from experiments.icn2011.figures import draw
from experiments.icn2011.outcome import Indices, Point, Run, points
from experiments.icn2011.paper import Case, cases

NOTHING = Indices(*[0.0] * 10)


def as_the_paper_says(case: Case) -> Indices:
    """Curves of the form that the paper's figures have."""
    load = case.load
    offered = load * PAYLOAD_MBPS
    if case.senders == 4:
        received = {"unicast": 60 - 50 * load, "n2n": 90 - 80 * load, "e2e": 90.0}[case.method]
        return replace(
            NOTHING,
            consumption_mbps={
                "unicast": min(3 * load, 0.8),
                "n2n": load,
                "e2e": min(load, 0.5),
            }[case.method]
            * LINK_MBPS,
            received_mbps=received,
            effective=received / 100,
            cache_ratio={"unicast": 0.0, "n2n": 0.8 * load, "e2e": 0.2 * load}[case.method],
        )
    if case.method == "unicast":
        received = 6.0 * (1 - load)
        return replace(
            NOTHING,
            consumption_mbps=min(3 * case.members * load, 1.0) * LINK_MBPS * 0.999 + case.members / 1000,
            reception_mbps=received,
            effective=received / offered,
            nearest_mbps=20.0,
        )
    return replace(
        NOTHING,
        consumption_mbps=load * LINK_MBPS * 0.99,
        reception_mbps=0.97 * offered,
        received_mbps=0.97 * offered,
        effective=0.97,
        nearest_mbps=0.97 * offered,
        cache_ratio=0.05,
    )


def found(change: Callable[[Case, Indices], Indices] = lambda _, indices: indices) -> dict[str, bool]:
    made = {case: Point(change(case, as_the_paper_says(case)), NOTHING) for case in cases()}
    return {claim.id: claim.holds for claim in evaluate(made)}


def test_a_reproduction_as_the_paper_says_agrees() -> None:
    verdicts = found()
    assert len(verdicts) >= 30
    assert all(verdicts.values()), [name for name, holds in verdicts.items() if not holds]


WRONG: dict[str, Callable[[Case, Indices], Indices]] = {
    "n2n-flat": lambda case, i: replace(i, consumption_mbps=i.consumption_mbps * (1 + 0.01 * case.members)),
    "e2e-only-data": lambda _, i: replace(i, consumption_mbps=i.consumption_mbps * 1.2),
    "unicast-proportional": lambda case, i: replace(
        i, consumption_mbps=i.consumption_mbps / case.members if case.senders == 1 else i.consumption_mbps
    ),
    "unicast-more-5": lambda case, i: replace(
        i, consumption_mbps=i.consumption_mbps * (0.5 if case.method == "unicast" else 1)
    ),
    "e2e-reception-100ms": lambda case, i: replace(
        i, reception_mbps=i.reception_mbps * (0.5 if case.delay_ms == 100 else 1)
    ),
    "n2n-delay": lambda case, i: replace(
        i, reception_mbps=i.reception_mbps * (0.5 if case.delay_ms == 100 else 1)
    ),
    "unicast-zero-10ms": lambda _, i: replace(i, reception_mbps=i.reception_mbps + 2),
    "unicast-short-rtt-10ms": lambda _, i: replace(i, nearest_mbps=5.0, reception_mbps=4.0),
    "split-higher-10ms": lambda case, i: replace(
        i, reception_mbps=50.0 if case.method == "unicast" else i.reception_mbps
    ),
    "n2n-effective": lambda case, i: replace(i, effective=i.effective if case.load < 1 else 0.8),
    "unicast-effective": lambda _, i: replace(i, effective=0.5),
    "n2n-four-proportional": lambda case, i: replace(
        i, consumption_mbps=min(i.consumption_mbps, 70.0) if case.senders == 4 else i.consumption_mbps
    ),
    "n2n-four-highest": lambda case, i: replace(i, consumption_mbps=99.0),
    "n2n-four-reception": lambda _, i: replace(i, received_mbps=90.0),
    "e2e-four-reception": lambda case, i: replace(i, received_mbps=i.received_mbps - 30 * case.load),
    "e2e-four-reception-highest": lambda _, i: replace(i, received_mbps=90.0),
    "e2e-four-effective": lambda _, i: replace(i, effective=0.9),
    "n2n-one-cache": lambda _, i: replace(i, cache_ratio=i.cache_ratio + 0.06),
    "n2n-four-cache": lambda _, i: replace(i, cache_ratio=i.cache_ratio / 2),
    "e2e-four-cache": lambda _, i: replace(i, cache_ratio=i.cache_ratio + 0.5),
    "four-cache-more": lambda _, i: replace(i, cache_ratio=0.05),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_claim_can_fail(name: str) -> None:
    assert not found(WRONG[name])[name]


def test_a_point_is_the_mean_and_the_deviation_of_its_seeds() -> None:
    case = Case("n2n", 0.5)
    runs = [
        Run(case, seed, replace(NOTHING, effective=value), 1.0, 1, 1.0)
        for seed, value in enumerate((0.4, 0.6, 0.8))
    ]
    point = points(runs)[case]
    assert point.mean.effective == pytest.approx(0.6)
    assert point.spread.effective == pytest.approx(0.1633, abs=1e-4)


def test_all_figures_are_drawn(tmp_path: Path) -> None:
    made = {case: Point(as_the_paper_says(case), NOTHING) for case in cases((0.1, 1.0))}
    drawn = draw(tmp_path, made)
    assert [path.name for path in drawn] == [f"figure-{number}.png" for number in range(6, 13)]
    assert all(path.stat().st_size > 5000 for path in drawn)
