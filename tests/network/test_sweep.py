"""A sweep of group sessions on real networks: the same scenario as in netsim, one network after the other."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from groupflow.cli.main import main

SCENARIO = """
topology: fig5
duration: 10s
sessions: [{id: 7, from: ma1, to: [mb1, mc1], size: 1000000 bytes}]
"""


def swept(folder: Path, where: str) -> list[dict[str, Any]]:
    (folder / "group.yaml").write_text(SCENARIO)
    file = folder / f"{where}.yaml"
    file.write_text(f"scenario: group.yaml\nwhere: {where}\nvary: {{links.s1-s2.loss: [0, 5%]}}\nseeds: 1")
    code = main(["sim", "sweep", str(file), "--out", str(folder / where)])
    parquet: Any = import_module("pyarrow.parquet")
    found = parquet.read_table(folder / where / "results.parquet").to_pylist()
    assert code == (1 if any(row["state"] == "cpu-bound" for row in found) else 0)
    return found


def test_a_real_network_does_what_netsim_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for where in ("netsim", "real"):
        found = swept(tmp_path, where)
        told = [(row["links.s1-s2.loss"], row["flow"]) for row in found]
        flows = ("session7-mb1", "session7-mc1")
        assert told == [(loss, flow) for loss in (0.0, 0.05) for flow in flows], where
        for row in found:
            assert row["delivered"] == 1_000_000 and 690 < row["sent"] == 691 + row["retransmitted"], row
            assert 0.08 < row["completed"] < 5 and row["goodput"] == pytest.approx(8e6 / row["completed"])
            assert row["end"] == pytest.approx(row["start"] + row["completed"])
            assert row["dropped"] > 10 or row["links.s1-s2.loss"] == 0, row
    assert "run 2 of 2: links.s1-s2.loss=5%, seed=1" in capsys.readouterr().out
