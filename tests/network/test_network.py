"""The network itself: it is taken down in every case, and reports when a part of it has died."""

import logging
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from groupflow.data import RUN_FOLDER
from groupflow.files import variants
from groupflow.lab.network import interfaces, processes_in, running
from groupflow.processes import DaemonError

STAR, LINE = variants.named("star"), variants.named("line")


def present() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def test_an_error_takes_everything_down(tmp_path: Path) -> None:
    namespaces: list[int] = []
    with pytest.raises(ZeroDivisionError), running(STAR, tmp_path) as network:
        namespaces += [host.namespace for host in network.hosts.values()]
        assert set(interfaces(STAR, "gfswitch")) <= present()
        _ = 1 / 0
    assert present().isdisjoint(interfaces(STAR, "gfswitch"))
    assert [processes_in(namespace) for namespace in namespaces] == [[]] * len(STAR.hosts)
    assert not list(RUN_FOLDER.glob("*.json"))


def test_what_runs_in_a_host_ends_with_the_network(tmp_path: Path) -> None:
    with running(STAR, tmp_path) as network:
        host = network.hosts["h1"]
        left = subprocess.Popen(
            [*host.launcher(), "sh", "-c", "echo; exec sleep 60"],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert left.stdout is not None
        assert left.stdout.readline() == b"\n"  # it is in the host
    assert left.wait(5) == -signal.SIGKILL


def test_a_run_that_was_killed_is_cleaned_up_by_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Interfaces between two switches stay when everything else goes with its owner."""
    script = (
        "import sys; from pathlib import Path\n"
        "from groupflow.files import variants; from groupflow.lab.network import running\n"
        f"with running(variants.named('line'), Path({str(tmp_path)!r})):\n"
        "    print('up', flush=True); sys.stdin.read()\n"
    )
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    owner = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | path
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"up\n"
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    assert "s1-eth2" in present()
    with caplog.at_level(logging.WARNING), running(LINE, tmp_path) as network:
        network.check()
    assert "removed leftovers of a run that did not end well" in caplog.text
    assert "s1-eth2" in caplog.text


def test_a_switch_that_died_is_named(tmp_path: Path) -> None:
    with running(STAR, tmp_path) as network:
        network.check()
        network.switches["s1"].daemon.kill()
        with pytest.raises(DaemonError, match=r"s1 \(gfswitch\) \(pid \d+\) was ended by signal 9"):
            network.check()
        network.restart("s1")
        network.check()


def test_a_link_changes_at_every_switch_that_emulates_it(tmp_path: Path) -> None:
    with running(LINE, tmp_path) as network:
        network.change_link("s1", "s2", "rate=5mbit")
        for switch, port in (("s1", LINE.port_to("s1", "s2")), ("s2", LINE.port_to("s2", "s1"))):
            assert out_rate(network.gfswitch(switch).stats(), port) == 5_000_000


def out_rate(stats: dict[str, object], port: int) -> object:
    ports = cast(list[Any], stats["ports"])
    return next(entry["out"]["link"]["rate_bps"] for entry in ports if entry["port"] == port)
