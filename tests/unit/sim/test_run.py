"""Runs in virtual time: routers and P4 switches, files, interruption, the command."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from groupflow import sim
from groupflow.cli.main import main
from groupflow.study.plots import plot
from tests.support.p4.network import JSON, P4INFO

TEXT = """
name: line
defaults: {link: {rate: 100Mb/s, delay: 1ms, queue: 100 packets}}
switches: {s1: {kind: KIND}, s2: {kind: KIND}, s3: {kind: KIND}}
hosts: {h1: , h2: , h3: }
links:
  - {ends: [h1, s1], rate: unlimited, delay: 0}
  - {ends: [s1, s2]}
  - {ends: [s2, s3]}
  - {ends: [h3, s2], rate: unlimited, delay: 0}
  - {ends: [h2, s3], rate: unlimited, delay: 0}
duration: 500ms
sample: 10ms
traffic:
  target: {kind: tcp, from: h1, to: h2, variant: reno, window: 200 packets, profile: ns2}
  noise: {kind: udp, from: h3, to: h2, rate: 20Mb/s, arrivals: poisson, start: 100ms}
"""
FILES = {
    "flow_throughput.csv", "efficiency.csv", "queues.csv", "windows.csv", "drops.csv", "summary.json",
    "run.json",
}  # fmt: skip


def line(kind: str) -> sim.Scenario:
    return replace(sim.parse(TEXT.replace("KIND", kind)), program=JSON, p4info=P4INFO)


def test_p4_switches_and_routers_do_the_same() -> None:
    p4, fifo = sim.run(line("p4")), sim.run(line("fifo"))
    assert p4.summary == fifo.summary
    assert (fifo.flows["target"].goodput_bps or 0) > 30e6
    assert fifo.dropped(reason="queue_full") == fifo.dropped() > 0


def test_vegas_starts_faster_with_a_larger_gamma() -> None:
    """Packets in queues that end its slow start: ns-2's 1, where none is given."""
    text = TEXT.replace("100Mb/s, delay: 1ms, queue: 100", "1Gb/s, delay: 1ms, queue: 2000")
    base = sim.parse(text.replace("KIND", "fifo"))

    def delivered(gamma: int | None) -> float:
        traffic = sim.TcpTraffic("vegas", 1000, profile="ns2", vegas_gamma=gamma)
        flow = replace(base.flows[0], traffic=traffic)
        return sim.run(replace(base, flows=(flow,))).flows["target"].goodput_bps or 0

    assert 1.2 * delivered(None) == 1.2 * delivered(1) < delivered(100)


@pytest.mark.parametrize("routers", [("s2",), ("s1", "s3")])
def test_p4_switches_and_routers_may_be_neighbours(routers: tuple[str, ...]) -> None:
    mixed = sim.run(replace(line("p4"), kinds=dict.fromkeys(routers, "fifo")))
    assert mixed.summary == sim.run(line("fifo")).summary


@pytest.mark.slow
def test_files_say_what_happened(tmp_path: Path) -> None:
    results = sim.run(line("fifo"), out=tmp_path / "line")
    assert {path.name for path in (tmp_path / "line").iterdir()} == FILES
    assert json.loads((tmp_path / "line" / "summary.json").read_text()) == results.summary
    throughput = results.throughput("noise")
    assert throughput["time_s"] == [pytest.approx(0.01 * n) for n in range(1, 51)]
    assert throughput["delivered_bytes"][-1] == results.flows["noise"].delivered_bytes
    efficiency = results.efficiency("target")
    assert efficiency["capacity_bytes"][0] == 25_000  # two links of 100 Mb/s and 1 ms
    assert 0.5 < max(efficiency["efficiency"]) <= 34 / 33  # 16.5 frames fit a link; seen at an instant: 17
    assert max(results.windows("target")["cwnd_packets"]) > 10
    assert 50 < max(results.queue_packets()["s1"]["packets"]) <= 100
    drawn = plot(results)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
    assert len(drawn) == 4


@pytest.mark.slow
def test_the_files_of_a_seed_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    for name in ("one", "two"):
        sim.run(replace(line("p4"), trace=True), out=tmp_path / name)
    for name in (FILES | {"trace.txt"}) - {"run.json"}:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    assert len((tmp_path / "one" / "trace.txt").read_text().splitlines()) > 10_000


def test_an_interrupted_run_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "line"
    sim.run(line("fifo"), out=out)
    before = (out / "summary.json").read_bytes()

    def interrupt(_: sim.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sim.run(replace(line("fifo"), seed=2, duration_ns=10**12), interrupt, out=out)
    assert (out / "summary.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["line"]


def test_a_switch_is_told_its_queues_and_generators() -> None:
    scenario = replace(line("p4"), flows=(sim.Flow("f", "h1", "h2", sim.UdpTraffic(50_000_000)),))
    generator = sim.Generator(0, period_ns=10**6, first_ns=0, frame=bytes(60), port=1)
    queue = sim.QueueSetting(2, 0, "rate=1000pps")
    setup = sim.SwitchSetup(queues=(queue,), generators=(generator,), nominal_packets={2: 1000})
    found: list[int] = []
    results = sim.run(
        replace(scenario, setups={"s1": setup}),
        inspect=lambda network: found.append(len(json.loads(network.stats("s1"))["ports"])),
    )
    assert found == [2]
    # 1,000 packets/s for half a second, less 2 ms of delay; and of frames of zeros the program wants none.
    assert results.flows["f"].delivered_packets in (498, 499)
    assert results.dropped("s1", "ingress") == 500
    bad = sim.SwitchSetup(queues=(sim.QueueSetting(9, 0, "rate=1000pps"),))
    with pytest.raises(sim.ScenarioError, match=r"switches\.s1: there is no port 9"):
        sim.run(replace(scenario, setups={"s1": bad}))


def test_the_command_runs_scenarios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    text = TEXT.replace("KIND", "fifo")
    one.write_text(text)
    two.write_text(text.replace("name: line", "name: other"))
    out = tmp_path / "out"
    assert main(["sim", "run", str(one), str(two), "--out", str(out), "--jobs", "2", "--json"]) == 0
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    finished = {line["scenario"] for line in lines if line["event"] == "finished"}
    assert finished == {"line", "other"} == {path.name for path in out.iterdir()}
    assert main(["sim", "run", str(one)]) == 0
    assert "target" in capsys.readouterr().out
    assert main(["sim", "run", str(one), "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_a_sweep_is_no_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text("scenario: line.yaml\nvary: {seed: [1, 2]}\n")
    assert main(["sim", "run", str(file)]) == 4
    assert f"{file}: a sweep, no scenario; run `groupflow sim sweep {file}`" in capsys.readouterr().err


def test_the_command_refuses_bad_scenarios_before_it_runs_any(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(TEXT.replace("KIND", "fifo"))
    bad.write_text(TEXT.replace("KIND", "fifo").replace("variant: reno", "variant: quick"))
    out = tmp_path / "out"
    assert main(["sim", "run", str(good), str(bad), "--out", str(out)]) == 4
    assert "traffic.target.variant: unknown variant 'quick'" in capsys.readouterr().err
    assert not out.exists()
    assert main(["sim", "run", str(good), "--jobs", "0"]) == 2
    assert main(["sim", "run", str(good), "--plots"]) == 2
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as where it is not installed
    capsys.readouterr()
    assert main(["sim", "run", str(good), "--out", str(out), "--plots"]) == 1
    assert "--plots needs matplotlib" in capsys.readouterr().err and not out.exists()


@pytest.mark.slow
def test_finsy_is_there_before_the_threads_of_several_scenarios_begin(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(TEXT.replace("KIND", "fifo"))
    program = (
        "import os, sys\n"
        "from concurrent import futures\n"
        "class Pool:\n"
        "    def __init__(self, *_):\n"
        "        os._exit(9 if 'finsy' in sys.modules else 8)\n"
        "futures.ThreadPoolExecutor = Pool\n"
        "from groupflow.cli.main import main\n"
        "main(['sim', 'run', 'one.yaml'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 9, done.stderr
