"""The supervision of a network tells of each death once, and starts its controller again up to a limit."""

import importlib
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from groupflow.lab.named import Running, Supervision
from groupflow.processes import Daemon
from tests.support.waiting import wait_until


def dying(name: str, folder: Path) -> Daemon:
    return Daemon(name, ["sh", "-c", "echo no room >&2; exit 3"], folder / f"{name}.log")


def test_a_controller_that_dies_at_once_is_started_five_times(tmp_path: Path) -> None:
    daemon, agent = dying("controller", tmp_path), dying("agent", tmp_path)
    refused: list[bool] = []
    controller = SimpleNamespace(
        daemon=daemon, begin_again=daemon.restart, refuse=lambda: refused.append(True)
    )
    network = SimpleNamespace(processes=[daemon, agent], nodes=[])
    told: list[str] = []
    supervision = Supervision(
        cast(Running, SimpleNamespace(network=network, controller=controller)), told.append
    )
    for process in (daemon, agent):
        process.start()
    started: list[bool] = []
    for _ in range(8):
        wait_until(lambda: not (daemon.alive or agent.alive))
        started.append(supervision.look())
    assert started == [True] * 5 + [False] * 3
    assert refused == [True], "its addresses refuse connections, once"
    of_agent = [line for line in told if line.startswith("agent ")]
    assert len(of_agent) == 1 and of_agent[0].endswith("exited with status 3: no room")
    of_controller = [line.partition("status 3: no room; ")[2] for line in told if line not in of_agent]
    again = "started again, with its sessions"
    assert of_controller == [again] * 5 + ["not started again, after 5 times"]


def test_it_looks_while_the_main_thread_waits(tmp_path: Path) -> None:
    daemon = dying("controller", tmp_path)
    controller = SimpleNamespace(daemon=daemon, begin_again=daemon.restart, refuse=lambda: None)
    network = SimpleNamespace(processes=[daemon], nodes=[])
    told: list[str] = []
    supervision = Supervision(
        cast(Running, SimpleNamespace(network=network, controller=controller)), told.append
    )
    daemon.start()
    with supervision.always():
        wait_until(lambda: bool(told))
    assert supervision.has_restarted and "started again" in told[0]
    count = len(told)
    wait_until(lambda: not daemon.alive)
    supervision.look()
    assert len(told) == count + 1, "after the block nobody had looked"


def test_a_process_that_is_being_stopped_has_not_died(tmp_path: Path) -> None:
    daemon = Daemon(
        "switch", ["sh", "-c", "trap 'sleep 0.5; exit 1' TERM; while :; do sleep 0.1; done"], tmp_path / "log"
    )
    network = SimpleNamespace(processes=[daemon], nodes=[])
    told: list[str] = []
    running = cast(Running, SimpleNamespace(network=network, controller=None))
    daemon.start()
    with Supervision(running, told.append).always():
        daemon.stop()
    assert told == []


def test_a_file_that_ends_early_is_told_at_once(tmp_path: Path) -> None:
    """Its process goes on, and would tell only at its own end."""
    script = """
        echo '2026-11-29T00:56:37.9Z ERROR capture /full/s1-eth1.pcapng: no room; free some room there'
        echo '2026-11-29T00:56:37.9Z ERROR capture /full/s1-eth2.pcapng: no room; free some room there'
        echo 'level=ERROR logger=groupflow.control.live.recording the recording ends here'
        echo '2026-11-29 00:56:37,6 level=ERROR logger=groupflow.control.store something else'
        while :; do sleep 0.1; done
    """
    daemon = Daemon("s1", ["sh", "-c", script], tmp_path / "log")
    other = Daemon("controller", ["sh", "-c", script.replace("ERROR capture", "INFO")], tmp_path / "other")
    network = SimpleNamespace(processes=[daemon, other], nodes=[])
    told: list[str] = []
    supervision = Supervision(cast(Running, SimpleNamespace(network=network, controller=None)), told.append)
    with daemon, other:
        wait_until(lambda: all("else" in each.output() for each in (daemon, other)))
        supervision.look()
        supervision.look()
    assert told == [
        "s1: capture /full/s1-eth1.pcapng: no room; free some room there",
        "controller: the recording ends here",
    ]


def test_loggers_end_their_lines() -> None:
    """Mininet would make those of its own, which do not."""
    importlib.import_module("groupflow.lab.network")
    assert logging.getLoggerClass() is logging.Logger


def test_a_line_is_news_once() -> None:
    """An error of a command may be the end of a process, of which the supervision tells as well."""
    network = SimpleNamespace(processes=[], nodes=[])
    supervision = Supervision(cast(Running, SimpleNamespace(network=network, controller=None)), print)
    assert [supervision.is_news(line) for line in ("h2 ended", "h2 ended", "h3 ended")] == [True, False, True]


def test_a_shell_that_ended_is_started_again_and_told() -> None:
    published: list[bool] = []
    told: list[str] = []
    nodes = [SimpleNamespace(name=name, renew=lambda name=name: name == "h2") for name in ("h1", "h2")]
    up = SimpleNamespace(
        network=SimpleNamespace(processes=[], nodes=nodes),
        controller=None,
        publish=lambda: published.append(True),
    )
    assert Supervision(cast(Running, up), told.append).look() is False
    assert told == ["h2: its shell ended; started again"]
    assert published == [True], "others find the host by its new process"
