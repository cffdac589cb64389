"""Ctrl-C, as a terminal sends it, at an experiment that has no network."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_bench_keeps_the_figures_that_it_has_and_earlier_ones(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("[]")
    command = [sys.executable, "-c", _BENCH, "bench", "--json", "--out", str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as bench:
        assert bench.stderr is not None
        for line in bench.stderr:
            if line.startswith("line"):
                break
        bench.send_signal(signal.SIGINT)
        told, said = bench.communicate(timeout=20)
    assert (bench.returncode, said.count("\n")) == (130, 1), said
    (figure,) = json.loads(told)
    assert figure == json.loads((tmp_path / "pipeline.json").read_text())[0] and figure["name"] == "a"
    assert said.startswith("groupflow: interrupted; 1 run kept")
    assert (tmp_path / "results.json").read_text() == "[]"


_BENCH = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
from groupflow.study import checkout
checkout.at_hand()
from experiments.bench import run
from experiments.bench.tools import Figure
run.PARTS |= {"pipeline": lambda _: [Figure("a", 1, "s", "")], "line": lambda _: time.sleep(60)}
from groupflow.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
