"""The comparison with ns-2: refusals, and the results that are kept after Ctrl-C."""

import json
from pathlib import Path

import pytest

from tests.validation import run
from tests.validation.compare import Pair, Row, Sample, Series
from tests.validation.scenarios import Scenario, scenarios


def test_an_unknown_scenario_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SystemExit, match=r"nosuch: unknown; there are .*line4-tahoe"):
        run.main(["nosuch"])


def test_flows_compared_before_ctrl_c_are_kept_and_the_tables_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    monkeypatch.setattr(run.simulators, "prepare", lambda: None)
    monkeypatch.setattr(run.compare, "write", written)
    with pytest.raises(SystemExit, match=r"1 run kept"):
        run.main(["--out", str(tmp_path)])
    told = json.loads((tmp_path / "flows.json").read_text())
    assert [(each["scenario"], each["exact"]["equal"], each["netsim"]["apart"]) for each in told] == [
        (first, 1, 0)
    ]
