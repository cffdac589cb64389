"""The judgement in the studies beyond the paper, on made-up outcomes; and figures of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from groupflow.study.claims import BEYOND, Claim
from groupflow.study.files import write_rows
from papers.takano.outcome import Outcome, row
from papers.takano.plan import Run
from papers.takano.studies.conditions import CHANGES
from papers.takano.studies.stability import limit, zone
from tests.support.studies import beyond
from tests.unit.papers.takano.outcomes import STEPS, outcome

STUDIES = beyond("takano")

Change = Callable[[Run, Outcome], Outcome]


def as_it_should_be(run: Run) -> Outcome:
    """With control shares are equal and queues rest; without, packets are lost and one flow gets nothing."""
    share = 1 / len(run.case.sources)
    if run.control == "dfc":
        made = outcome(run.case, "dfc", efficiency=share)
        if run.case.name == CHANGES:
            alone = made.time_s // 0.06 % 2 == 0
            made = replace(made, efficiency=np.where(alone, 1.0, 0.5))
    else:
        made = outcome(run.case, run.control, efficiency=0.1, drops=9 if run.control == "tcp" else 0)
        unfair = {flow: series * (flow == "target") for flow, series in made.throughput_bps.items()}
        made = replace(made, throughput_bps=unfair)
    return replace(made, run=run)


def judged(name: str, change: Change = lambda _run, made: made) -> dict[str, Claim]:
    study = STUDIES[name]
    runs = study.runs(False, 1)
    outcomes: dict[str, list[Outcome]] = {}
    for run in runs:
        outcomes.setdefault(run.label, []).append(change(run, as_it_should_be(run)))
    return {claim.id.removeprefix(f"study-{name}-"): claim for claim in study.judge(outcomes)}


def held(claims: dict[str, Claim]) -> set[str]:
    return {name for name, claim in claims.items() if claim.holds}


@pytest.mark.parametrize("name", STUDIES)
def test_findings_say_where_they_belong_and_by_which_rule(name: str) -> None:
    found = judged(name)
    assert len(found) >= 4
    assert all(claim.paper == BEYOND and claim.figure == f"study {name}" for claim in found.values())
    assert all(claim.note for claim in found.values())


@pytest.mark.parametrize("subject", ["hosts", "hosts-vegas"])
def test_a_reading_explains_the_paper_if_all_its_claims_hold_and_nothing_is_lost_early(subject: str) -> None:
    def as_the_paper_says(run: Run, made: Outcome) -> Outcome:
        """If L bounds rates, and Vegas' gamma is 100; losses early, if flows share buffers."""
        case, alone = run.case, run.control == "tcp"
        says = alone or (run.bound and not run.taking)
        if case.tcp == "vegas":
            collapses = alone and case.name == "4V2"
            made = outcome(case, "tcp", efficiency=0.1, drops=9 if collapses else 0)
            wave = np.linspace(0.6, 0.2, STEPS) + np.tile([-0.1, 0.1], STEPS)[:STEPS]
            series = wave if says and case.vegas_gamma == 100 and not collapses else made.efficiency
            return replace(made, run=run, efficiency=series)
        made = outcome(
            case, run.control, efficiency=0.3 if alone else 0.5, swing=0.2 * alone, drops=9 * alone
        )
        made = made if says or run.pool else replace(made, efficiency=np.full(STEPS, 0.7))
        return replace(made, run=run, early_drops=5 * run.pool)

    found = judged(subject, as_the_paper_says)
    assert held(found) == {"hosts": {"bound"}, "hosts-vegas": {"bound-gamma-100"}}[subject]
    if subject == "hosts":
        assert "explains Fig. 6, Fig. 7, Fig. 8; not: none" in found["bound"].note
        assert "not: 1-dfc-no-loss, 2-dfc-no-loss, 3-dfc-no-loss;" in found["target-bound-pool"].note
        assert "explains nothing; not: 1-dfc-half" in found["both"].note


def swinging(run: Run, made: Outcome) -> Outcome:
    wave = np.tile([0.0, 100.0], STEPS)[:STEPS]
    return replace(made, queues=made.queues + wave[:, np.newaxis])


def test_the_limits_are_where_theory_puts_them() -> None:
    assert limit(1.0) == pytest.approx(1.0, abs=1e-3)
    assert limit(0.0) == pytest.approx(1 / 3, abs=1e-3)
    assert 0 < limit(1.5) < limit(1.25) < limit(1.125) < 1
    zones = {d: zone(d, 1.0) for d in (0.1, 0.32, 0.5, 0.95, 1.2)}
    assert zones == {0.1: "below", 0.32: "", 0.5: "between", 0.95: "", 1.2: "beyond"}


def test_resting_queues_refute_the_limit_and_swinging_ones_that_there_is_rest_below() -> None:
    rest = {"one-below", "one-between", "two-below", "two-between"}
    assert held(judged("stability")) == rest
    found = judged("stability", swinging)
    assert held(found) == {"one-beyond", "two-beyond"}
    assert "against it: D 0.1 alpha 1: 0.49" in found["two-below"].note


def test_one_line_of_delays_that_loses_is_noticed() -> None:
    assert held(judged("delays")) == {"dfc-share", "dfc-stable", "dfc-fair", "dfc-no-loss", "tcp-loss"}

    def one(run: Run, made: Outcome) -> Outcome:
        if "rising" not in run.label:
            return made
        return replace(made, drops={3: 1} if run.control == "dfc" else {})

    assert held(judged("delays", one)) == {"dfc-share", "dfc-stable", "dfc-fair"}


def test_shares_are_of_as_many_flows_as_there_are() -> None:
    assert held(judged("flows")) == {
        *("dfc-share", "dfc-stable", "dfc-fair", "dfc-no-loss", "dfc-full", "tcp-loss", "dfc-changes")
    }

    def starved(run: Run, made: Outcome) -> Outcome:
        if len(run.case.sources) != 6:
            return made
        return replace(made, throughput_bps=made.throughput_bps | {"flow6": np.zeros(STEPS)})

    assert held(judged("flows", starved)) == {
        *("dfc-share", "dfc-stable", "dfc-no-loss", "tcp-loss", "dfc-changes")
    }

    def slow(run: Run, made: Outcome) -> Outcome:
        """Recovers in eleven round trips."""
        away = made.time_s % 0.06 < 11 * 0.003
        return replace(made, efficiency=np.where(away, 0.0, made.efficiency))

    assert "dfc-changes" not in held(judged("flows", slow))


def test_tcp_alone_is_compared_with_control() -> None:
    assert {"cubic-worse-alone", "cubic-less-fair-alone", "sack-worse-alone"} <= held(judged("tcps"))

    def better_once(run: Run, made: Outcome) -> Outcome:
        return (
            replace(made, efficiency=np.ones(STEPS))
            if run.label.endswith("cubic-tcp") and run.number == 2
            else made
        )

    found = judged("tcps", better_once)
    assert not found["cubic-worse-alone"].holds and found["sack-worse-alone"].holds
    assert found["cubic-worse-alone"].note.startswith("in 1 of 2 runs")


def test_rivals_are_judged_as_the_control_is() -> None:
    assert held(judged("rivals")) == {"dfc-no-loss", "dfc-good", "dfc-smallest-queue"}

    def good_at_100(run: Run, made: Outcome) -> Outcome:
        return replace(outcome(run.case, "dfc", efficiency=0.5), run=run) if run.ecn == 100 else made

    found = judged("rivals", good_at_100)
    assert found["ecn-some-threshold"].holds and found["ecn-some-threshold"].measured == 1
    assert not found["ecn-good"].holds
    assert not found["dfc-smallest-queue"].holds, "as large is not smaller"


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False])
def test_table_of_a_study(name: str, quick: bool, tmp_path: Path) -> None:
    outcomes: dict[str, list[Outcome]] = {}
    for run in STUDIES[name].runs(quick, 1):
        outcomes.setdefault(run.label, []).append(as_it_should_be(run))
    made = [each for runs in outcomes.values() for each in runs]
    write_rows(tmp_path / "table.csv", [row(each) for each in made])
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 1 + len(made)


@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False])
def test_figure_of_the_study_of_stability(quick: bool, tmp_path: Path) -> None:
    outcomes: dict[str, list[Outcome]] = {}
    for run in STUDIES["stability"].runs(quick, 1):
        outcomes.setdefault(run.label, []).append(as_it_should_be(run))
    STUDIES["stability"].draw(tmp_path / "figure.png", outcomes)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
