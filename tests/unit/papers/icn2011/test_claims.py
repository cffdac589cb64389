"""The judgement whether a reproduction agrees with the split-connection paper, on made-up points."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from groupflow.study.files import write_rows
from papers.icn2011 import findings
from papers.icn2011.claims import LINK_MBPS, PAYLOAD_MBPS, at_every_load, evaluate
from papers.icn2011.figures import FIGURES, Figure, draw
from papers.icn2011.outcome import Indices, Outcome, Point, points, row, runs
from papers.icn2011.paper import DELAYS_MS, LOADS, SEEDS, Case, D, Run

NOTHING = Indices(*[0.0] * 11)


def as_the_paper_says(case: Case) -> Indices:
    """Curves of the form that the paper's figures have."""
    load = case.load
    offered = load * PAYLOAD_MBPS
    if case.senders == 4:
        received = {"unicast": 60 - 50 * load, "n2n": 90 - 80 * load}.get(case.method, 90.0)
        return replace(
            NOTHING,
            consumption_mbps={"unicast": min(3 * load, 0.8), "n2n": load}.get(case.method, min(load, 0.5))
            * LINK_MBPS,
            received_mbps=received,
            effective=received / 100,
            cache_ratio={"unicast": 0.0, "n2n": 0.8 * load}.get(case.method, 0.2 * load),
            acknowledgements_mbps=(20 if case.method == "n2n" else 5) * load,
        )
    if case.method == "unicast":
        received = 6.0 * (1 - load) * (1 if case.delay_ms == 10 else 0.5)
        return replace(
            NOTHING,
            consumption_mbps=min(3 * case.members * load, 1.0) * LINK_MBPS * 0.999 + case.members / 1000,
            reception_mbps=received,
            effective=received / offered,
            nearest_mbps=20.0,
        )
    if case.method == "members":
        twice = min(2 * load, 1.0)
        return replace(
            NOTHING, consumption_mbps=twice * LINK_MBPS, reception_mbps=PAYLOAD_MBPS * twice / 2 * 0.97
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


def made(
    number: int, change: Callable[[Case, Indices], Indices] = lambda _, indices: indices
) -> dict[Case, Point]:
    """The points of a figure."""
    figure = next(figure for figure in FIGURES if figure.number == number)
    return {case: Point(change(case, as_the_paper_says(case)), NOTHING) for case in figure.cases(LOADS)}


def found(change: Callable[[Case, Indices], Indices] = lambda _, indices: indices) -> dict[str, bool]:
    verdicts: dict[str, bool] = {}
    for figure in FIGURES:
        points = made(figure.number, change)
        claims, beyond = evaluate(figure.number, points), findings.evaluate(figure.number, points)
        assert [claim.kind for claim in (*claims, *beyond)] == ["claim"] * len(claims) + ["finding"] * len(
            beyond
        )
        verdicts |= {claim.id: claim.holds for claim in (*claims, *beyond)}
    return verdicts


def test_a_reproduction_as_the_paper_says_agrees() -> None:
    verdicts = found()
    assert len(verdicts) >= 30
    assert all(verdicts.values()), [name for name, holds in verdicts.items() if not holds]


Change: TypeAlias = Callable[[Case, Indices], Indices]

OF_A_METHOD: dict[str, Change] = {
    "flat": lambda case, i: replace(i, consumption_mbps=i.consumption_mbps * (1 + 0.01 * case.members)),
    "only-data": lambda _, i: replace(i, consumption_mbps=i.consumption_mbps * 1.2),
    "reception-100ms": lambda case, i: replace(
        i, reception_mbps=i.reception_mbps * (0.8 if case.delay_ms == 100 else 1)
    ),
    "delay": lambda case, i: replace(
        i, reception_mbps=i.reception_mbps * (0.5 if case.delay_ms == 100 else 1)
    ),
    "effective": lambda case, i: replace(i, effective=i.effective if case.load < 1 else 0.8),
    "one-cache": lambda _, i: replace(i, cache_ratio=i.cache_ratio + 0.06),
}
"""figures of one method against a claim that each of SPLIT_AND_GROUP has"""
SPLIT_AND_GROUP = ("n2n", "e2e", "group")
OF_A_DELAY: dict[str, Change] = {
    "unicast-zero": lambda _, i: replace(i, reception_mbps=i.reception_mbps + 4),
    "split-higher": lambda case, i: replace(
        i, reception_mbps=50.0 if case.method == "unicast" else i.reception_mbps
    ),
    "members-less": lambda case, i: replace(
        i, reception_mbps=99.0 if case.method == "members" else i.reception_mbps
    ),
}


def only(change: Change, **which: str | float | None) -> Change:
    """The change, at the points that have these parameters."""
    return lambda case, i: change(case, i) if all(getattr(case, n) == v for n, v in which.items()) else i


WRONG: dict[str, Change] = {
    **{f"{method}-{claim}": only(change, method=method)
       for claim, change in OF_A_METHOD.items() for method in SPLIT_AND_GROUP},
    **{f"{claim}-{delay}ms": only(change, delay_ms=delay)
       for claim, change in OF_A_DELAY.items() for delay in DELAYS_MS},
    "unicast-more": lambda case, i: replace(
        i, consumption_mbps=i.consumption_mbps * (0.35 if case.method == "unicast" else 1)
    ),
    "unicast-proportional": lambda case, i: replace(
        i, consumption_mbps=i.consumption_mbps / case.members if case.senders == 1 else i.consumption_mbps
    ),
    "n2n-four-proportional": lambda case, i: replace(
        i, consumption_mbps=min(i.consumption_mbps, 70.0) if case.senders == 4 else i.consumption_mbps
    ),
    "n2n-four-highest": lambda case, i: replace(i, consumption_mbps=99.0),
    "four-low-load": lambda _, i: replace(i, consumption_mbps=99.0),
    "e2e-four-held-back": lambda case, i: replace(i, consumption_mbps=90 * case.load),
    "n2n-four-reception": lambda _, i: replace(i, received_mbps=90.0),
    "unicast-four-reception": lambda case, i: replace(i, received_mbps=30.0 + (case.load == 0.1)),
    "n2n-four-acknowledgements": lambda _, i: replace(i, acknowledgements_mbps=2.0),
    "e2e-four-reception": lambda case, i: replace(i, received_mbps=i.received_mbps - 30 * case.load),
    "e2e-four-effective": lambda _, i: replace(i, effective=0.9),
    "n2n-four-cache": lambda _, i: replace(i, cache_ratio=i.cache_ratio / 2),
    "e2e-four-cache": lambda _, i: replace(i, cache_ratio=i.cache_ratio + 0.5),
    "four-cache-more": lambda _, i: replace(i, cache_ratio=0.05),
    "members-more": lambda _, i: replace(i, consumption_mbps=50.0),
    "group-four-low-load": lambda _, i: replace(i, consumption_mbps=99.0),
    "group-four-reception": lambda case, i: replace(i, received_mbps=i.received_mbps - 30 * case.load),
    **{f"group-four{id}-effective": only(lambda _, i: replace(i, effective=0.5), method="group", diffusion=d)
       for id, d in (("", None), ("-control", D))},
    "group-four-cache": lambda _, i: replace(i, cache_ratio=i.cache_ratio + 0.5),
}  # fmt: skip


def test_each_claim_has_figures_that_refute_it() -> None:
    assert WRONG.keys() == found().keys()


@pytest.mark.parametrize("name", WRONG)
def test_each_claim_can_fail(name: str) -> None:
    assert not found(WRONG[name])[name]


@pytest.mark.parametrize("method", SPLIT_AND_GROUP)
@pytest.mark.parametrize("claim", OF_A_METHOD)
def test_figures_of_one_method_refute_no_claim_of_another(method: str, claim: str) -> None:
    verdicts = found(WRONG[f"{method}-{claim}"])
    assert [each for each in SPLIT_AND_GROUP if not verdicts[f"{each}-{claim}"]] == [method]


STARVED_OTHERWISE: dict[str, Callable[[Case, Indices], Indices]] = {
    "not zero": lambda _, i: replace(i, reception_mbps=i.reception_mbps + 4),
    "zero at every load": lambda _, i: replace(i, reception_mbps=2.0),
    "no member takes most": lambda _, i: replace(i, nearest_mbps=1.5 * i.reception_mbps),
    "as effective at every load": lambda _, i: replace(i, effective=0.5),
    "more effective by a hundredth": lambda case, i: replace(
        i, effective=0.12 if case.load == 0.2 else 0.11 if case.load == 0.1 else i.effective / 20
    ),
}


@pytest.mark.parametrize("how", STARVED_OTHERWISE)
def test_the_starvation_of_far_members_is_one_claim(how: str) -> None:
    """Fig. 8, of the effective throughput, shows 10 ms alone."""
    verdicts = found(STARVED_OTHERWISE[how])
    assert not verdicts["unicast-zero-10ms"] and verdicts["unicast-zero-100ms"] == ("effective" in how)


def test_steps_that_seeds_could_make_are_no_degradation() -> None:
    def hardly(case: Case, i: Indices) -> Indices:
        return replace(i, received_mbps={0.8: 50.0, 1.0: 49.0}.get(case.load, i.received_mbps))

    assert not found(hardly)["unicast-four-reception"]


def test_a_claim_over_the_load_holds_when_it_does_at_every_load() -> None:
    values = {0.2: 3.0, 0.6: 2.0, 1.0: 1.0}
    least = at_every_load("a", "Fig. 1", "claim", "paper", values, "Mb/s", least=1.5)
    assert (least.holds, least.measured) == (False, 1.0)
    assert least.note == "the least over the loads; at least 1.5 at load 0.2, 0.6"
    most = at_every_load("a", "Fig. 1", "claim", "paper", values, "Mb/s", most=3.0)
    assert (most.holds, most.measured) == (True, 3.0)
    assert most.note == "the most over the loads; at most 3 at every load"
    assert at_every_load("a", "", "", "", values, "", most=0.5).note.endswith("at no load")


def test_a_point_is_the_mean_and_the_deviation_of_its_seeds(tmp_path: Path) -> None:
    case = Case("n2n", 0.5)
    outcomes = [
        Outcome(Run(case, seed, 9.0), replace(NOTHING, effective=value), 9.0, 1, 1.0)
        for seed, value in enumerate((0.4, 0.6, 0.8))
    ]
    point = points(outcomes)[case]
    assert point.mean.effective == pytest.approx(0.6)
    assert point.spread.effective == pytest.approx(0.1633, abs=1e-4)
    write_rows(tmp_path / "runs.csv", [row(outcome) for outcome in outcomes])
    rows = list(csv.DictReader((tmp_path / "runs.csv").open()))
    assert [(row["method"], row["seed"], row["effective"], row["agent_pps"]) for row in rows] == [
        ("n2n", "0", "0.4", ""), ("n2n", "1", "0.6", ""), ("n2n", "2", "0.8", ""),
    ]  # fmt: skip


def test_figures_share_what_they_have_in_common() -> None:
    of_figures = {
        figure.number: set(runs(lambda _, of=figure: of.cases(LOADS))(False, 1)) for figure in FIGURES
    }
    assert len(of_figures[6]) == (5 * 2 * len(LOADS) + 1) * SEEDS
    assert of_figures[8] < of_figures[7] and of_figures[9] == of_figures[10] < of_figures[11]
    assert {(run.case.load, run.case.diffusion) for run in of_figures[11] - of_figures[9]} == {(1.0, D)}
    assert of_figures[12] < of_figures[7] | of_figures[9]
    assert len(set[Run]().union(*of_figures.values())) == (5 * 4 * len(LOADS) + 2) * SEEDS


def test_tcp_through_members_has_the_tree_of_the_papers_figure_1() -> None:
    near_first = {"mb1": "ma1", "mb2": "ma1", "mc1": "mb2", "mc2": "mc1", "md1": "mc2", "md2": "md1"}
    assert Case("members", 1.0, members=2).overlay("ma1") == near_first
    four = Case("members", 1.0, senders=4, members=1)
    assert four.overlay("mc1") == {"md1": "mc1", "ma1": "mc1", "mb1": "ma1"}
    assert four.buffered == ("ma1", "mb1", "mc1", "md1")
    assert Case("unicast", 1.0).buffered == ("ma1",)


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: str(figure.number))
def test_figures_are_drawn(tmp_path: Path, figure: Figure) -> None:
    draw(figure, tmp_path / "figure.png", made(figure.number))
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
