"""A sweep: its runs, failures that stop nothing, what is kept when it is killed."""

import csv
import json
import math
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from groupflow.cli.main import main
from groupflow.compiler import compiled_files
from groupflow.sim import ScenarioError
from groupflow.study.sweep import real, results
from groupflow.study.sweep.form import METRICS, SweepForm, check_real, quantity, read
from groupflow.study.sweep.results import half_interval
from groupflow.study.sweep.runs import simulate
from tests.support.waiting import wait_until
from tests.unit.language.steps import PROGRAMS

SCENARIO = """
switches: {s1: {kind: fifo}, s2: {kind: fifo}}
hosts: {h1: , h2: }
links:
  - {ends: [h1, s1], rate: unlimited, delay: 0}
  - {ends: [s1, s2], rate: 10mbit, delay: 1ms}
  - {ends: [h2, s2], rate: unlimited, delay: 0}
duration: 200ms
traffic: {a: {kind: tcp, from: h1, to: h2, variant: newreno, window: 20 packets}}
"""
SWEEP = """
scenario: line.yaml
vary: {links.s1-s2.loss: [0, 2%, MORE], traffic.a.window: {from: 10, to: 20, step: 10, unit: packets}}
seeds: 3
"""


EMPTY: dict[bytes, bytes] = {}


def sweep_file(folder: Path, more: str = "4%", text: str = SWEEP, scenario: str = SCENARIO) -> Path:
    (folder / "line.yaml").write_text(scenario)
    file = folder / "experiment.yaml"
    file.write_text(text.replace("MORE", more))
    return file


def swept(file: Path, out: Path, *more: str) -> int:
    return main(["sim", "sweep", str(file), "--out", str(out), "--jobs", "2", *more])


def journal(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines()]


def rows(out: Path) -> Any:
    parquet: Any = import_module("pyarrow.parquet")
    return parquet.read_table(out / "results.parquet")


def test_every_value_meets_every_other_and_every_seed(tmp_path: Path) -> None:
    asked = read(sweep_file(tmp_path))
    windows = ("10packets", "20packets")
    assert [(run.values, run.seed) for run in asked.runs] == [
        ((loss, window), seed) for loss in (0, "2%", "4%") for window in windows for seed in (1, 2, 3)
    ]
    links = [run.scenario().topology.link_between("s1", "s2").spec for run in asked.runs]
    assert [spec.loss for spec in links[::6]] == [0, 20_000_000, 40_000_000]
    assert {spec.rate for spec in links} == {10_000_000}
    assert len({run.key for run in asked.runs}) == 18


def test_a_run_of_another_version_is_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run, *_) = read(sweep_file(tmp_path)).runs
    before = run.key

    def of_another(_: str) -> str:
        return "0.0.0"

    monkeypatch.setattr("groupflow.study.sweep.form.version", of_another)
    assert run.key != before


def test_a_run_of_another_program_is_another_run(tmp_path: Path) -> None:
    keys: set[str] = set()
    for program in ("{}", "{ }"):
        folder = tmp_path / str(len(program))
        folder.mkdir()
        (folder / "prog.json").write_text(program)
        keys.add(read(sweep_file(folder, scenario=SCENARIO + "program: prog.json\n")).runs[0].key)
    assert len(keys) == 2


def test_a_run_is_another_after_an_edit_of_a_file_that_its_program_includes(tmp_path: Path) -> None:
    for part in ("start", "rest"):
        shutil.copy(PROGRAMS / f"{part}.p4", tmp_path)
    shutil.copy(PROGRAMS / "slice_of_signed.p4", tmp_path / "prog.p4")
    path = sweep_file(tmp_path, scenario=SCENARIO + "program: prog.p4\n")
    keys: list[str] = []
    for width in (8, 8, 16):
        start = tmp_path / "start.p4"
        start.write_text(start.read_text().replace("bit<8> d;", f"bit<{width}> d;"))
        compiled_files.cache_clear()  # as another process
        keys.append(read(path).runs[0].key)
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ("{from: 1, to: 2, step: 0.5}", (1, 1.5, 2)),
        ("{from: 1, to: 100, count: 3, spacing: log}", (1, 10, 100)),
        ("{from: 1, to: 4, count: 3, unit: mbit}", ("1mbit", "2.5mbit", "4mbit")),
        ("[a, b, a]", ("a", "b")),
    ],
)
def test_lists_and_ranges(values: str, found: tuple[object, ...]) -> None:
    form = SweepForm.model_validate({"scenario": "line.yaml", "vary": {"rate": yaml.safe_load(values)}})
    assert form.vary["rate"] == (pytest.approx(found) if found[0] == 1 else found)


def test_a_star_is_every_entry_also_of_a_named_topology(tmp_path: Path) -> None:
    text = "scenario: line.yaml\nvary: {links.*.loss: [1%], hosts.ma1.ip: [10.9.9.1/24]}"
    network = (
        read(sweep_file(tmp_path, text=text, scenario="topology: fig5\nduration: 1s"))
        .runs[0]
        .scenario()
        .topology
    )
    assert {link.spec.loss for link in network.links} == {10_000_000}
    assert str(network.hosts["ma1"].ip) == "10.9.9.1"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", "the file is empty; its keys are scenario, where, vary"),
        ("duration: 3s\ntopology: fig5", "a scenario, no sweep; run `groupflow sim run "),
        ("scenario: no.yaml", "no.yaml: no such file or directory"),
        ("seeds: 0", "seeds: write a number of seeds, or a list or range of whole numbers"),
        ("vary: {a: {from: 1, to: 2}}", "vary.a: write a step, as in {from: 1, to: 5, step: 2}, or a count"),
        ("vary: {a: []}", "vary.a: no values; write a list, as [5mbit, 10mbit], or"),
        ("vary: {a: [1, 2]}\nseeds: 60000", "vary: 120000 runs are more than 100000; write fewer"),
        ("vary: {links.s1-s9.loss: [1%]}", "vary.links.s1-s9.loss: 's1-s9' is not in the scenario; there"),
        ("vary: {traffic.a.window: [5 packets]}\nx: b", "x: 'b' is not varied; name one of traffic.a.window"),
        ("vary: {a: [1, 2]}", "vary.a: a: unknown key; known are"),
        ("vary: {links.s1-s2.rat: [5mbit, 10mbit]}", "vary.links.s1-s2.rat: links[1].rat: unknown key;"),
        ("vary: {links.s1-s2.loss: [200%, fast]}", "vary.links.s1-s2.loss: links[1].loss: '200%' is no loss"),
        ("vary: {seed: [1, 2]}", "vary.seed: each run has a seed of `seeds`; write them there"),
        ("where: real", "a real network runs `sessions`"),
        ("show: [speed]", "show[0]: unknown show 'speed'; known are goodput,"),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_refused(
    text: str, refusal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sweep_file(
        tmp_path,
        text=text if not text or "scenario" in text or "duration" in text else f"scenario: line.yaml\n{text}",
    )
    with pytest.raises(ScenarioError) as told:
        read(file)
    assert refusal in str(told.value) and str(tmp_path) in str(told.value)
    assert swept(file, tmp_path / "out") == 4
    assert len(capsys.readouterr().err.splitlines()) == 1 and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_run_that_fails_is_recorded_and_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert swept(sweep_file(tmp_path, "200%"), out) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "groupflow: 6 of 18 runs failed: links.s1-s2.loss=200%, traffic.a.window=10packets, seed="
    )
    assert "line.yaml: links[1].loss: '200%' is no loss; write a fraction" in line
    table = rows(out)
    units: dict[str, Any] = {field.name: (field.metadata or EMPTY).get(b"unit") for field in table.schema}
    assert (units["goodput"], units["dropped"], units["traffic.a.window"]) == (
        b"bit/s",
        b"packets",
        b"packets",
    )
    found = table.to_pylist()
    assert [row["state"] for row in found].count("failed") == 6 and len(found) == 18
    for row in found:
        assert (row["goodput"] is None) == (row["state"] == "failed") == ("no loss" in (row["error"] or ""))
    with (out / "summary.csv").open() as file:
        means = {
            (row["links.s1-s2.loss"], row["traffic.a.window"]): float(row["mean"])
            for row in csv.DictReader(file)
            if row["metric"] == "goodput"
        }
    assert means["0", "20packets"] > means["2%", "20packets"] > 1e6 and len(means) == 4
    assert (out / "goodput.png").stat().st_size > 10_000
    # A failed run is repeated only on request, a finished one never.
    assert swept(sweep_file(tmp_path, "200%"), out) == 1
    assert len(journal(out)) == 18
    capsys.readouterr()
    assert swept(sweep_file(tmp_path, "200%"), out, "--again", "--json") == 1
    assert len(journal(out)) == 24
    told = json.loads(capsys.readouterr().out)
    shown = {tuple(row.values())[:2]: row["mean"] for row in told if row["metric"] == "goodput"}
    assert {(str(loss), window): mean for (loss, window), mean in shown.items()} == means
    assert swept(sweep_file(tmp_path, "3%"), out) == 0
    assert len(journal(out)) == 30 and rows(out).num_rows == 18


@pytest.mark.slow
def test_without_pyarrow_the_runs_are_in_a_csv_and_a_line_says_so_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(name: str) -> object:
        return None if name in ("pyarrow", "matplotlib") else find_spec(name)

    monkeypatch.setattr(results, "find_spec", lacking)
    out = tmp_path / "out"
    assert swept(sweep_file(tmp_path, "200%"), out, "--json") == 1
    told = capsys.readouterr()
    first = told.err.splitlines()[0]
    assert "without pyarrow: no results.parquet" in first
    assert "without matplotlib: no plots" in first
    with (out / "results.csv").open() as file:
        found = list(csv.DictReader(file))
    assert len(found) == 18 and [row["state"] for row in found].count("failed") == 6
    assert all((row["goodput"] == "") == (row["state"] == "failed") for row in found)
    assert found[0]["traffic.a.window"] == "10.0" and (out / "summary.csv").exists()
    assert json.loads(told.out) and not list(out.glob("*.png"))


LONG = SCENARIO.replace("200ms", "20s")
"""some tenths of a second a run"""


@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    file, out = sweep_file(tmp_path, scenario=LONG), tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "groupflow.cli.main",
        "sim",
        "sweep",
        str(file),
        "--out",
        str(out),
        "--jobs",
        "2",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        wait_until(lambda: (out / "runs.jsonl").exists() and len(journal(out)) >= 3)
        first.kill()
    kept = journal(out)
    assert 3 <= len(kept) < 18 and not (out / "results.parquet").exists()
    with (out / "runs.jsonl").open("a") as torn:
        torn.write('{"key": "dead')
    assert swept(file, out) == 0  # its workers have ended, too: else the journal would be locked
    lines = (out / "runs.jsonl").read_text().splitlines()
    outcomes = [json.loads(line) for line in lines if line != '{"key": "dead']
    assert outcomes[: len(kept)] == kept and len({each["key"] for each in outcomes}) == len(outcomes) == 18
    assert rows(out).num_rows == 18


def test_two_sweeps_do_not_share_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    hold = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.lockf(f, fcntl.LOCK_EX); print(); input()"
    command = [sys.executable, "-c", hold, str(out / "runs.jsonl")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "\n"
        assert swept(sweep_file(tmp_path), out) == 1
        other.communicate("\n")
    assert "another sweep writes there; choose another --out" in capsys.readouterr().err


def test_intervals_are_those_of_students_t() -> None:
    # t of 97.5 % with 1, 4 and 10 degrees of freedom: 12.706, 2.776, 2.228 (any table).
    for count, t in ((2, 12.706), (5, 2.776), (11, 2.228)):
        values = [0.0] * (count - 1) + [1.0]
        spread = math.sqrt((count - 1) / count / (count - 1) / count) * math.sqrt(1)
        assert half_interval(values, 0.95) == pytest.approx(t * spread, rel=1e-3)
    assert half_interval([1.0], 0.95) != half_interval([1.0], 0.95), "one run has no interval"


def test_values_have_units() -> None:
    cases = (("10mbit", (1e7, "bit/s")), ("5ms", (0.005, "s")), ("1%", (0.01, "1")), (3, (3.0, "1")))
    for value, found in (*cases, ("9 packets", (9.0, "packets")), ("reno", None), ("unlimited", None)):
        assert quantity(value) == found


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "vary: {links.s1-s2.loss: [0, 2%]}", "vary: {traffic.a.ecn: [true]}"])
def test_every_metric_can_be_shown_and_what_was_not_measured_is_empty(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show = f"scenario: line.yaml\nshow: [{', '.join(METRICS)}]\n{text}"
    assert swept(sweep_file(tmp_path, text=show), tmp_path / "out") == 0
    assert "not measured in these runs" in capsys.readouterr().out
    with (tmp_path / "out/results.csv").open() as file:
        row = next(iter(csv.DictReader(file)))
    assert {name for name in METRICS if row[name] == ""} == {
        *("repairs", "delay", "end", "completed", "cache_peak")
    }
    with (tmp_path / "out/summary.csv").open() as file:
        assert {row["low"] for row in csv.DictReader(file)} == {""}, "one run has no interval"
    assert len(list((tmp_path / "out").glob("*.png"))) == (len(METRICS) if "loss" in text else 0)


SESSION = """
switches: {s1: }
hosts: {h1: , h2: , h3: }
links:
  - {ends: [h1, s1], rate: 50mbit, delay: 1ms}
  - {ends: [h2, s1], rate: 50mbit, delay: 1ms}
  - {ends: [h3, s1], rate: 50mbit, delay: 1ms}
duration: 3s
sample: 50ms
sessions: [{id: 7, from: h1, to: [h2, h3], size: 1000000 bytes}]
"""


def test_goodput_and_completion_follow_the_rate_and_the_loss(tmp_path: Path) -> None:
    text = "scenario: line.yaml\nvary: {links.h2-s1.rate: [10mbit, 20mbit], links.h3-s1.loss: [0, 5%]}"
    asked = read(sweep_file(tmp_path, text=text, scenario=SESSION))
    found = {run.values: simulate(run, "") for run in asked.runs}
    rows = {values: outcome.rows[0] for values, outcome in found.items()}
    assert rows["20mbit", 0]["completed"] < 0.6 * rows["10mbit", 0]["completed"]
    assert rows["20mbit", 0]["goodput"] > 1.7 * rows["10mbit", 0]["goodput"]
    assert rows["20mbit", 0]["repairs"] == 0 and rows["20mbit", 0]["cache_peak"] is None
    slowed = (found["20mbit", loss].rows[1]["completed"] for loss in (0, "5%"))
    assert next(slowed) < next(slowed) and found["20mbit", "5%"].rows[1]["repairs"] > 0


def test_a_real_run_whose_switches_lagged_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[tuple[str, ...]] = [("s1: 99 % of packets left within 20 ms",), ()]
    lagging = iter(told)

    def run(*_: object) -> tuple[list[dict[str, object]], tuple[str, ...]]:
        return [{"flow": "a", "goodput": 1e6}], next(lagging)

    monkeypatch.setattr(real, "run", run)
    file = sweep_file(tmp_path, text="scenario: line.yaml\nwhere: real\nseeds: 2", scenario=SESSION)
    assert swept(file, tmp_path / "out") == 1
    line = capsys.readouterr().err
    assert "1 of 2 runs CPU-bound, do not trust them: seed=1: s1: 99 % of packets left within 20 ms" in line
    assert [row["state"] for row in rows(tmp_path / "out").to_pylist()] == ["cpu-bound", "finished"]


def test_what_a_real_network_cannot_do_is_refused(tmp_path: Path) -> None:
    (run,) = read(sweep_file(tmp_path, text="scenario: line.yaml")).runs
    with pytest.raises(ScenarioError, match="a real network runs `sessions`"):
        check_real(run.scenario())


@pytest.mark.slow
def test_the_schema_takes_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "sweep"]) == 0
    validator: Any = import_module("jsonschema").Draft202012Validator(json.loads(capsys.readouterr().out))
    examples = Path(__file__).parents[3] / "examples/sweep"
    for name, count in (("experiment", 40), ("caches", 12)):
        text = (examples / f"{name}.yaml").read_text()
        assert validator.is_valid(yaml.safe_load(text)) and len(read(examples / f"{name}.yaml").runs) == count
    for bad in ("where: moon", "seeds: x", "vary: {a: 1}", "vary: {a: []}", "show: [speed]", "more: 1"):
        assert not validator.is_valid(yaml.safe_load(f"scenario: line.yaml\n{bad}")), bad
