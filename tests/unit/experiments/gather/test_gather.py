"""`groupflow experiment gather` without a network: runs, events, claims, and output."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from rich.console import Console

from experiments.gather import beside, claims, labs, plan, run
from experiments.gather.lab import MTU, topology
from experiments.gather.measured import LabOutcome, Recorder, total_mbps
from experiments.gather.run import EXPERIMENT
from groupflow.agents.events import Event
from groupflow.cli.main import main
from groupflow.study.experiment import Frame, StudyOptions, by_case
from papers.sakajiri.network import MSS
from papers.sakajiri.outcome import Outcome, Series
from papers.sakajiri.paper import HIGH, LOW, SITUATIONS, Case, Links, Method, Run, Scale

SHORT = Scale(30.0, (10.0, 20.0), 2.0)
MODEL_2 = Run(Case("both", interference=True), 1, SHORT)

Rate = Callable[[Method, str, bool], float]
"""Mb/s of a method's client, with or without interference"""


def as_the_paper_says(method: Method, client: str, disturbed: bool) -> float:
    if method == "comparison":
        return 0.7 if client in HIGH else 1.6
    if disturbed:
        return {"both": 1.2, "buffer": 0.9}.get(method, 0.4) if client in HIGH else 0.6
    return 1.6 if client in HIGH else 0.8


def always(method: Method, client: str, disturbed: bool) -> float:
    return 1.2


def outcome(run: Run, rate: Rate, **more: Any) -> LabOutcome:
    ends = tuple(0.5 * (n + 1) for n in range(int(2 * run.seconds)))
    start, stop = run.interference_s

    def series(client: str) -> Series:
        disturbed = [run.case.interference and start < end <= stop for end in ends]
        rates = tuple(rate(run.case.method, client, now) for now in disturbed)
        return Series(ends, rates, (2,) * len(ends), (10_000,) * len(ends), (100.0,) * len(ends))

    return LabOutcome(run, {client: series(client) for client in (*LOW, *HIGH)}, 1, 1.0, **more)


@pytest.mark.parametrize("quick", [False, True])
def test_the_models_are_judged_for_each_congestion_control(quick: bool) -> None:
    for name in plan.MODELS:
        study = EXPERIMENT.study(name)
        runs: list[Run] = study.runs(quick, 1)
        judged = list(study.judge(by_case([outcome(run, as_the_paper_says) for run in runs])))
        others = [c for c in judged if "kernel" in c.id or "climber" in c.id]
        assert all(claim.holds for claim in judged if claim not in others)
        tcps = {run.case.tcp for run in runs}
        wanted = {"bbr"} if name == "model-2-bbr" else {"reno"} if quick else {"reno", "cubic"}
        assert {claim.id.partition("-")[0] for claim in judged} == tcps == wanted
        assert len({claim.id for claim in judged}) == len(judged)
        if not quick and others:
            # Under interference they get 0.4, without it 1.6, in what is made up here.
            assert {c.holds for c in others if c.id.endswith("-high")} == {name == "model-1"}


def test_a_congestion_control_that_falls_short_is_told_alone() -> None:
    runs: list[Run] = EXPERIMENT.study("model-2").runs(False, 1)
    outcomes = [
        outcome(
            run,
            lambda method, client, now, run=run: (
                as_the_paper_says(method, client, now)
                * (0.7 if run.case.tcp == "cubic" and method == "both" and now else 1.0)
            ),
        )
        for run in runs
    ]
    failed = {claim.id for claim in claims.model_2(by_case(outcomes)) if not claim.holds}
    assert {"cubic-f6-during", "cubic-f6-high"} <= failed
    assert not any(id.startswith("reno-f6") for id in failed)


def test_studies_are_netsims_at_another_scale() -> None:
    for study in set(plan.STUDIES) - set(plan.PAPERS):
        runs: list[Run] = study.runs(False, 3)
        assert runs and {(run.scale, run.seed) for run in runs} == {(plan.STUDY, 3)}
        assert len({labs.slug(run) for run in runs}) == len(runs)
    # 12 choices of links, of which one is shared by all parameters, in four cases each.
    assert len(EXPERIMENT.study("range").planned(False, 1)) == 4 * (
        1 + sum(map(len, plan.RANGE.values())) - 5
    )


def test_the_network_is_that_of_the_case() -> None:
    run = Run(Case("both", links=replace(Links(), rtt_ms=80, bottleneck_mbps=6)), 1)
    network = topology(run)
    assert network.link_between("r2", "r3").spec.rate == 6_000_000
    # From a client to the server: 33 + 1 + 5 + 1 ms.
    assert network.link_between("t3", "r1").spec.delay_ns == 33_000_000
    assert network.link_between("t3", "r1").spec.loss == 1_000_000  # of 10^9
    ids = [{s.device_id for s in topology(replace(run, seed=seed)).switches.values()} for seed in (1, 2)]
    assert len(ids[0] | ids[1]) == 8, "another seed draws other losses"
    assert MTU == MSS + 52, "headers of 20 and 20 bytes, and timestamps of 12"
    assert all(topology(Run(Case("both", situation=name), 1)) for name in SITUATIONS)


def round_event(time: float, **mbps: float) -> Event:
    clients = [
        {
            "client": name, "throughput_bps": rate * 1e6, "rtt_ms": 100.0, "rto_ms": 300.0,
            "loss_ratio": 0.0, "window": 9000, "connections": 3,
        }
        for name, rate in mbps.items()
    ]  # fmt: skip
    return Event("round", time, MappingProxyType({"clients": clients, "round": 1}))


def test_what_a_server_tells_is_recorded_from_the_start_on() -> None:
    heard = Recorder()
    for event in (
        round_event(99.5, t0=9.0),
        round_event(100.5, t0=1.0),
        round_event(101.0, t0=2.0, t1=0.5),
        Event("tune_refused", 101.0, MappingProxyType({"text": "tune[0].window must be less"})),
    ):
        heard.take(event)
    rounds = heard.rounds(100.0)
    assert [(each.end_s, each.client, each.reading.throughput) for each in rounds] == [
        (0.5, "t0", 1e6), (1.0, "t0", 2e6), (1.0, "t1", 5e5),
    ]  # fmt: skip
    assert (rounds[0].reading.window, rounds[0].reading.connections) == (9000, 3)
    assert heard.refused == ["tune[0].window must be less"]
    assert total_mbps(rounds, 0.5, 1.0) == 2.5
    assert total_mbps(rounds, 5.0, 6.0) == 0.0


def test_the_buffer_is_summed_over_clients() -> None:
    assert outcome(MODEL_2, as_the_paper_says).buffer_peak == 60_000


def test_netsim_is_put_beside() -> None:
    real, other = outcome(MODEL_2, as_the_paper_says), outcome(MODEL_2, always)
    found = {each.quantity: each for each in beside.compare([real], [other])}
    assert list(found) == [
        f"{group} priority, {when}" for when in ("before", "during", "after") for group in ("high", "low")
    ]
    during = found["high priority, during"]
    assert (during.kernel, during.netsim, during.within) == (pytest.approx(1.2), pytest.approx(1.2), True)
    assert found["low priority, during"].form()["difference"] == pytest.approx(1.0)
    calm = replace(MODEL_2, case=Case("both"))
    whole = beside.compare([outcome(calm, as_the_paper_says)], [outcome(calm, as_the_paper_says)])
    assert [each.quantity for each in whole] == ["high priority", "low priority"]
    assert beside.compare([real], []) == []
    # Linux's reno has a SACK scoreboard.
    assert (beside.simulated(MODEL_2).case.tcp, MODEL_2.case.tcp) == ("sack", "reno")


def test_netsim_runs_what_the_real_network_runs() -> None:
    shorter = replace(MODEL_2, scale=Scale(10.0, (3.0, 7.0), 1.0))
    bbr = replace(shorter, case=replace(shorter.case, tcp="bbr"))  # netsim has none
    (found,) = beside.simulate([shorter, bbr], 1, Console(quiet=True))
    assert found.run == shorter
    assert {series.ends_s[-1] for series in found.series.values()} == {10.0}


@pytest.mark.slow
def test_results_are_written_for_machines(tmp_path: Path) -> None:
    frame = Frame[Outcome](EXPERIMENT, StudyOptions(tmp_path, only=("model-2",), quick=True))
    real = [outcome(each, as_the_paper_says, interference_mbps=4.5) for each in frame.runs]
    for each in real:
        frame.take(each)
    simulated = [Outcome(each.run, each.series, each.packet_hops, each.wall_s) for each in real]
    found = run.find(frame, [*real, *simulated])
    printed: Any = json.loads(json.dumps(found.told))
    assert found.told == found.files["results.json"]
    assert [each["method"] for each in printed["runs"]] == ["both", "buffer", "comparison"]
    first = printed["runs"][0]
    assert first["clients"]["t3"]["spans"]["during"] == {
        "mbps": 1.2, "connections": 2.0, "window": 10_000, "rtt_ms": 100.0,
    }  # fmt: skip
    assert (first["links"]["queue"], first["interference_mbps"]) == (50, 4.5)
    assert all(each["within"] for each in printed["beside_netsim"])
    assert (tmp_path / "model-2.png").stat().st_size > 10_000
    assert (tmp_path / "model-2.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["gather", "--only", "tea"], 4, "tea: unknown; there are model-1, model-2, model-2-bbr, buffers, "),
        (["split", "--only", "loss"], 4, "loss: unknown; there are split, group, four"),
        (["split", "--jobs", "2"], 2, "unrecognized arguments: --jobs 2"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", *arguments]) == code
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_without_root_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert main(["experiment", "gather", "--out", str(tmp_path)]) == 1
    assert "root is needed" in capsys.readouterr().err
