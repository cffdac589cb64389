"""The short reproduction of the clustered-tree paper's tables and figure, from the command to the files."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from groupflow.cli.main import main
from papers.cmt.sockets import claims, network
from papers.cmt.sockets.network import MSS, transfer
from papers.cmt.sockets.network import Path as Wire
from papers.cmt.sockets.outcome import Found, Outcome, by_choice, mbps, run_one
from papers.cmt.sockets.paper import (
    BEST,
    BUFFERS,
    FILE,
    MIDDLE,
    QUICK_CONNECTIONS,
    QUICK_SEEDS,
    QUICK_UP_TO_MOST,
    SMALL,
    SMALL_S,
    TABLE_1_S,
    TABLE_2_S,
    THREE,
    THREE_S,
    Case,
    Run,
)
from tests.support.studies import ids

COMMAND = ["reproduce", "cmt"]


@pytest.mark.rare
def test_the_quick_reproduction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--quick", "--jobs", "2", "--json", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    found: list[dict[str, Any]] = json.loads((tmp_path / "claims.json").read_text())
    assert printed["claims"] == found and len(found) == 15 + 7 + 13
    held = {claim["id"] for claim in found if claim["holds"]}
    assert {"buffer-matters", "buffer-best", "connections-rising", "grid-tuned"} <= held
    assert "buffer-beyond-1048576" not in held, "independent losses do not make a larger buffer worse"
    names = ("table-1", "table-2", "figure-1", "figure-2", "grid", "tree")
    assert {path.name for path in tmp_path.iterdir()} == {
        "claims.json", "run.json", "data", *(f"{name}.{kind}" for name in names for kind in ("csv", "png")),
    }  # fmt: skip
    rows = {name: list(csv.DictReader((tmp_path / f"{name}.csv").open())) for name in names}
    assert len(rows["table-1"]) == len(BUFFERS) * QUICK_SEEDS
    assert len(rows["table-2"]) == len(QUICK_CONNECTIONS) * QUICK_SEEDS
    assert len(rows["figure-2"]) == len(QUICK_UP_TO_MOST) * QUICK_SEEDS
    assert json.loads((tmp_path / "run.json").read_text())["packet_hops"] > 10**6


@pytest.mark.slow
def test_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--only", "queue", "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    assert "findings hold" in capsys.readouterr().out
    found = {claim["id"]: claim for claim in json.loads((tmp_path / "claims.json").read_text())}
    assert {claim["figure"] for claim in found.values()} == {"study queue"}
    assert found["study-queue-5-interference-beyond"]["holds"], "a short queue makes twenty interfere"


@pytest.mark.slow
def test_the_path_takes_the_times_from_which_it_was_inferred() -> None:
    used = {(SMALL, 1): SMALL_S, (BEST, 1): TABLE_1_S[BEST], (MIDDLE, THREE): THREE_S}
    for (buffer, connections), seconds in used.items():
        outcomes = [run_one(Run(Case(buffer, connections), seed)) for seed in range(6, 12)]
        assert fmean(o.seconds for o in outcomes) == pytest.approx(seconds, rel=0.05), (buffer, connections)


def test_a_window_a_round_trip_and_a_link_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without losses, the end can be computed by hand: it is told to a few milliseconds."""
    wire = Wire(rtt_s=0.02, loss=0.0, rate_bps=20e6)
    monkeypatch.setattr(network, "DELAYED_ACK_NS", None)  # each segment is acknowledged
    packets = FILE / MSS
    windows = packets / (SMALL // MSS)
    # The last packet of a window waits for those before it; its acknowledgement is a round trip later.
    trip = wire.rtt_s + 1514 * 8 / wire.rate_bps
    assert transfer(Case(SMALL), wire, 1).seconds == pytest.approx(windows * trip, rel=0.01)
    full = transfer(Case(BEST), wire, 1)
    assert full.seconds == pytest.approx(packets * 1514 * 8 / wire.rate_bps, rel=0.01) and full.lost == 0


def test_the_paper_counts_in_1024() -> None:
    rates = {8192: (281.9, 2.2), 65536: (894.0, 7.0), 1048576: (506.4, 4.0)}
    for buffer, (kbps, listed) in rates.items():
        assert FILE / 1024 / TABLE_1_S[buffer] == pytest.approx(kbps, rel=1e-3)
        assert round(mbps(TABLE_1_S[buffer]), 1) == listed
    assert FILE / 1024 / TABLE_2_S[9] == pytest.approx(1658.0, rel=1e-4)


@pytest.mark.slow
def test_a_run_repeats_and_seeds_differ() -> None:
    case = Case(BEST, 4)
    first = run_one(Run(case, 1))
    assert first == run_one(Run(case, 1))
    assert first.seconds != run_one(Run(case, 2)).seconds


def papers(**other: float) -> Found:
    """The paper's own times as if they had been measured, and made-up times for cases without one."""
    cells = {(b, 1): s for b, s in TABLE_1_S.items()} | {(SMALL, n): s for n, s in TABLE_2_S.items()}
    cells |= {(MIDDLE, n): 10.0 + abs(n - 10) / 2 for n in range(2, 21)}
    return Found(Wire(0.0265, 0.005, 20e6), {(b, n): other.get(f"{b}-{n}", s) for (b, n), s in cells.items()})


def test_the_papers_own_times_are_judged() -> None:
    found = papers()
    judged = [*claims.table_1(found), *claims.table_2(found), *claims.figure_2(found)]
    assert [claim.id for claim in judged if not claim.holds] == []


@pytest.mark.parametrize(
    ("cell", "seconds", "lost"),
    [
        ("1048576-1", 27.0, {"buffer-beyond-1048576", "predicted-table-1"}),
        ("65536-1", 90.0, {"buffer-best", "buffer-beyond-524288"}),
        ("8192-5", 27.0, {"connections-rising"}),
        ("8192-9", 9.0, {"predicted-table-2"}),
        ("32768-9", 12.0, {"connections-to-ten"}),
        ("32768-9", 10.1, {"connections-to-ten"}),
        ("32768-6", 10.4, {"interference-best"}),
        ("32768-20", 9.0, {"interference-beyond"}),
    ],
)
def test_each_claim_can_fail(cell: str, seconds: float, lost: set[str]) -> None:
    found = papers(**{cell: seconds})
    judged = [*claims.table_1(found), *claims.table_2(found), *claims.figure_2(found)]
    failed = {claim.id for claim in judged if not claim.holds}
    assert lost <= failed


def test_the_grid_is_judged_as_the_text_says() -> None:
    def held(best: Mapping[int, int]) -> set[str]:
        """With times that grow with the distance from a buffer's best number of connections."""
        times = {n: {b: 10.0 + abs(n - best[b]) + (b != MIDDLE) for b in BUFFERS} for n in range(1, 10)}
        cells = {(b, n): times[n][b] for n in times for b in BUFFERS}
        return {claim.id for claim in claims.grid(Found(Wire(0.02, 0.0, 20e6), cells)) if claim.holds}

    says = dict(zip(BUFFERS, (9, 9, 4, 9, 2), strict=True))
    assert {"grid-no-number", "grid-nine"} <= held(says)
    assert "grid-nine" not in held(says | {SMALL: 5})
    assert "grid-no-number" not in held(dict.fromkeys(BUFFERS, 9))
    assert "grid-middle" in held(dict.fromkeys(BUFFERS, 9))
    assert "grid-middle" not in held(says), "with four connections 65,536 bytes are best"
    level = {(b, n): 10.0 for b in BUFFERS for n in range(1, 10)}
    judged = claims.grid(Found(Wire(0.02, 0.0, 20e6), level))
    assert "grid-nine" not in {claim.id for claim in judged if claim.holds}, "fewer are as good"


def test_outcomes_are_means_by_choice() -> None:
    wire = Wire(0.02, 0.0, 20e6)
    case, other = Case(SMALL), replace(Case(SMALL), queue=5)
    runs = [(case, 1, 3.0), (case, 2, 5.0), (other, 1, 7.0)]
    found = by_choice([Outcome(Run(c, seed), wire, seconds, 0, 1) for c, seed, seconds in runs])
    assert found[None].times == {(SMALL, 1): 4.0}
    assert found[5].row(SMALL) == {1: 7.0} and found[5].column(1) == {SMALL: 7.0}


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--only", "tea"], f"tea: unknown; there are {ids('cmt')}")]
)
def test_bad_input_is_refused_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, *arguments]) == 4
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
