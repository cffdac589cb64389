"""Refusals of `groupflow validate` and `groupflow bench` before they run anything."""

import json
from pathlib import Path

import pytest

from experiments.validate import run
from experiments.validate.compare import Pair, Row, Sample, Series
from experiments.validate.scenarios import Scenario, scenarios
from groupflow.cli.main import main


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("validate --help", 0, "line4-tahoe"),
        ("validate nosuch", 4, "line4-tahoe"),
        ("validate --nosuch", 2, "unrecognized"),
        ("bench --help", 0, "sessions"),
        ("bench nosuch", 4, "nosuch: unknown; there are pipeline, line"),
    ],
)
def test_it_answers_and_runs_nothing(
    command: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == status
    shown = capsys.readouterr()
    assert said in shown.out + shown.err


def test_flows_compared_before_ctrl_c_are_kept_and_the_tables_are_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    same = Series((Sample(1.0, 2.0, 3, 4, 5, 6, 0, 0),))

    def rows(scenario: Scenario, *_: object) -> list[Row]:
        if scenario.name != first:
            raise KeyboardInterrupt
        return [Row(scenario, 0, Pair(same, same), "arrivals", Pair(same, same), None)]

    def written(*_: object) -> None:
        raise AssertionError("an interrupted run writes no tables")

    first = next(iter(scenarios())).name
    monkeypatch.setattr(run, "_rows", rows)
    for module, name in ((run.ns2, "install"), (run.netsim, "build")):
        monkeypatch.setattr(module, name, lambda: None)
    monkeypatch.setattr(run.compare, "write", written)
    assert main(["validate", "--json", "--out", str(tmp_path)]) == 130
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((tmp_path / "flows.json").read_text())
    assert [(each["scenario"], each["exact"]["equal"], each["netsim"]["apart"]) for each in told] == [
        (first, 1, 0)
    ]
