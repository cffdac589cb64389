"""The wheel, installed where no checkout is: a switch in Python, a simulation, the programs, a session."""

import email
import os
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import httpx
import pytest

from groupflow.files import topology
from groupflow.lab.host import host_script, interface_script
from groupflow.lab.switches import gfswitch_arguments
from groupflow.model.topology import Topology

ROOT = Path(__file__).parents[2]
NAMESPACES = ROOT / "tests/namespaces.sh"
PACKAGE = """
import sys
from pathlib import Path
import groupflow
switch = groupflow.Switch.groupflow()
assert switch.run(1, bytes(64)) == [], "a frame of no protocol goes nowhere"
print(Path(groupflow.__file__).parent)
print([path for path in sys.path if Path(path, "papers").exists()])
"""
SCENARIO = """
switches: {s1: {kind: p4}}
hosts: {h1: , h2: }
links: [{ends: [h1, s1]}, {ends: [h2, s1]}]
duration: 200ms
traffic: {flow: {kind: tcp, from: h1, to: h2, variant: reno}}
"""
SESSION = """
gfswitch {switch} &
groupflow controller run --topology star &
until groupflow switch list | grep -qw up; do sleep 0.1; done
groupflow session create 7 --json >session.json
export GROUPFLOW_TOKEN=$(python -c 'import json; print(json.load(open("session.json"))["tokens"]["join"])')
ip netns exec c1 gfagent cache --name c1 &
ip netns exec h2 groupflow session recv 7 --output copy.bin &
receiver=$!
ip netns exec h1 groupflow session send 7 --file data.bin --members 1
wait $receiver
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment with the wheel, and with third-party packages as here."""
    # Of the programs that there are: `-o setup` builds nothing anew.
    subprocess.run(["make", "-o", "setup", "wheel"], cwd=ROOT, check=True)
    (wheel,) = (ROOT / "out/wheel").glob("*.whl")
    assert "-cp311-abi3-" in wheel.name
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    command = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--quiet"]
    subprocess.run([*command, "--no-index", "--no-deps", wheel], cwd=folder, check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # In such a folder .pth files do not count: the checkout's groupflow is not found.
    (packages / "third_party.pth").write_text(f"{Path(httpx.__file__).parents[1]}\n")
    return folder / "bin"


def call(installed: Path, folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """In that folder, with the installed programs on PATH."""
    environment = {"PATH": f"{installed}:{os.defpath}:/usr/sbin:/sbin", "HOME": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def run(installed: Path, folder: Path, *command: str | Path) -> str:
    done = call(installed, folder, *command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_and_a_switch_in_python(installed: Path, tmp_path: Path) -> None:
    home, checkouts = run(installed, tmp_path, "python", "-c", PACKAGE).splitlines()
    assert Path(home).is_relative_to(installed.parent) and checkouts == "[]"
    assert (Path(home) / "py.typed").is_file()
    for folder, source in (("topologies", "topologies"), ("p4", "p4src/build")):
        there = {path.name for path in (Path(home) / "data" / folder).iterdir()}
        assert there == {path.name for path in (ROOT / source).iterdir() if path.is_file()}


def test_the_metadata_bound_what_is_installed_with_the_package(installed: Path) -> None:
    (file,) = installed.parent.glob("lib/python*/site-packages/groupflow-*.dist-info/METADATA")
    found = email.message_from_bytes(file.read_bytes())
    needed = [
        text
        for text in found.get_all("Requires-Dist", [])
        if not re.search("extra == .(test|lint|build)", text)
    ]
    assert len(needed) > 10 and all(">=" in text and "<" in text for text in needed), needed
    assert found["Author"] and found["License-Expression"] == "Apache-2.0" and found.get_all("Classifier")


def test_a_simulation(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text(SCENARIO)
    run(installed, tmp_path, "groupflow", "sim", "run", "pair.yaml", "--out", "results")
    assert "flow" in (tmp_path / "results/pair/summary.json").read_text()


def test_the_programs_are_of_one_version(installed: Path, tmp_path: Path) -> None:
    programs = ("groupflow", "gfswitch", "gfagent")
    assert all((installed / name).is_file() for name in programs)
    said = {run(installed, tmp_path, name, "--version").split()[1] for name in programs}
    assert len(said) == 1


@pytest.mark.parametrize(
    "command", ["demo", "experiment tree", "experiment --help", "reproduce takano", "bench"]
)
def test_what_needs_a_checkout_says_so(command: str, installed: Path, tmp_path: Path) -> None:
    done = call(installed, tmp_path, "groupflow", *command.split())
    assert done.returncode == 1 and done.stdout == ""
    assert "are part of a checkout" in done.stderr and done.stderr.count("\n") == 1


def test_a_session_between_two_hosts(installed: Path, tmp_path: Path) -> None:
    star = topology.load("star")
    (tmp_path / "data.bin").write_bytes(os.urandom(1 << 20))
    switch = shlex.join(gfswitch_arguments(star, star.switches["s1"], tmp_path / "s1.sock"))
    script = cables(star) + SESSION.format(switch=switch)
    run(installed, tmp_path, NAMESPACES, "sh", "-euc", script)
    assert (tmp_path / "copy.bin").read_bytes() == (tmp_path / "data.bin").read_bytes()


def cables(star: Topology) -> str:
    """Shell commands that make a namespace for each host, with a cable to the switch."""
    script = ["mkdir -p /run/netns && mount -t tmpfs none /run/netns"]
    for host in star.hosts.values():
        near, far = star.switches[host.switch].interface(host.port), host.interface
        script += [f"ip netns add {host.name}"]
        script += [f"ip link add {near} type veth peer name {far} netns {host.name}", interface_script(near)]
        script += [f"ip netns exec {host.name} sh -ec {shlex.quote(host_script(host))}"]
    return "\n".join(script)
