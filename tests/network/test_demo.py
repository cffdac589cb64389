"""`groupflow demo`, whole: its exit code, its report, and that Ctrl-C leaves nothing."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from experiments.demo import baseline
from groupflow.lab.measure import link_bytes, usage
from tests.network.harness import MIB, ROOT, Lab, undisturbed_report

DEMO = (sys.executable, "-m", "groupflow.cli.main", "demo", "--size", "4MiB", "--members", "1")


def test_a_small_demo(tmp_path: Path) -> None:
    report = undisturbed_report([*DEMO, "--loss", "2%"], tmp_path)
    assert [run["loss"] for run in report["runs"]] == [0, 0.02]
    for run in report["runs"]:
        assert [each["name"] for each in run["receivers"]] == ["mb1", "mc1", "md1"]
        assert not any(each["error"] for each in run["receivers"])
        assert {agent["name"] for agent in run["agents"]} == {"sa1", "sa2"}
        group, tcp = (
            {(link["source"], link["target"]): link["copies"] for link in run[kind]["links"]}
            for kind in ("group", "tcp")
        )
        assert 1.0 < group["ma1", "s1"] <= 1.2 and tcp["ma1", "s1"] >= 3.0
        lossy = run["loss"] > 0
        repairs = sum(agent["repairs_unicast"] + agent["repairs_multicast"] for agent in run["agents"])
        lost = run["group"]["queues"][-1]["lost"]
        # 2,897 packets over five links downstream, each of which loses 2 %; repairs may be lost, too.
        assert (repairs > 100, 150 < lost < 500) == (lossy, lossy), (run["loss"], repairs, lost)
        # TCP that loses packets keeps its window so small that a sample seldom finds a packet in a queue.
        assert lossy or max(sample["waiting"] for sample in run["tcp"]["queues"]) > 10
    assert report["cpu_bound"] is False
    html = (tmp_path / "report.html").read_text()
    assert "mb1" in html and "SHA-256" in html
    assert not (tmp_path / "files").exists()


def start(out: Path, *, run: int = 1) -> subprocess.Popen[str]:
    """Starts a demo that runs for some seconds; returns when data flows in that run.

    The rate is one that a loaded machine does, too: else the demo begins again, without the runs before.
    """

    def hear_ctrl_c() -> None:
        # A test run in the background ignores it, and so would its children.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    demo = subprocess.Popen(
        [*DEMO, "--size", "16MiB", "--rate", "50mbit", "--no-baseline", "--out", str(out)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_ctrl_c,
    )
    assert demo.stdout is not None
    for line in demo.stdout:
        run -= "loss on every link" in line
        if run == 0 and "slowest" in line:
            return demo
    raise AssertionError(f"the demo ended with {demo.wait()}: {demo.communicate()[1]}")


def test_ctrl_c_takes_everything_down(tmp_path: Path) -> None:
    with start(tmp_path) as demo:
        demo.send_signal(signal.SIGINT)
        _, said = demo.communicate(timeout=20)
    assert demo.returncode == 130
    assert said.splitlines() == ["groupflow: interrupted; 0 runs kept"]
    assert not (tmp_path / "report.json").exists()


def test_ctrl_c_keeps_the_runs_that_are_over(tmp_path: Path) -> None:
    with start(tmp_path, run=2) as demo:
        demo.send_signal(signal.SIGINT)
        _, said = demo.communicate(timeout=20)
    assert (demo.returncode, said.count("\n")) == (130, 1)
    assert said.startswith("groupflow: interrupted; 1 run kept")
    (run,) = json.loads((tmp_path / "report.json").read_text())["runs"]
    assert run["loss"] == 0 and run["receivers"] and "no loss" in (tmp_path / "report.html").read_text()


def test_a_switch_that_dies_fails_the_demo(tmp_path: Path) -> None:
    with start(tmp_path) as demo:
        os.kill(switch_pid(demo.pid), signal.SIGKILL)
        _, said = demo.communicate(timeout=20)
    assert demo.returncode == 1
    (line,) = said.splitlines()
    assert "gfswitch" in line and "was ended by signal 9" in line


def switch_pid(parent: int) -> int:
    """The pid of one of the switches that this demo started."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (entry / "comm").read_text().strip() == "gfswitch":
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                return int(entry.name)
    raise AssertionError("the demo runs no gfswitch")


async def test_tcp_carries_a_file_to_several_hosts_at_once(pair: Lab) -> None:
    file = pair.file(2 * MIB)
    receivers = pair.receivers()
    todo = baseline.plan(pair.topology, "ma1", receivers, 2 * MIB, paced=False)
    before = link_bytes(pair.network)
    seconds = await baseline.run(pair.network, "ma1", receivers, file, pair.folder, todo)
    assert 0 < seconds < baseline.MAX_SECONDS and todo.file_bytes == 2 * MIB
    links = usage(pair.topology, before, link_bytes(pair.network), 2 * MIB)
    copies = {(use.source, use.target): use.copies for use in links}
    assert copies["ma1", "s1"] > 3.0  # one for each receiver
    assert copies["s1", "s2"] > 2.0
    assert hashlib.sha256((pair.folder / "baseline.bin").read_bytes()).digest() == (
        hashlib.sha256(file.read_bytes()).digest()
    )
