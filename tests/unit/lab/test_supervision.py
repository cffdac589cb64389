"""The supervision of a network tells of each death once, and starts its controller again up to a limit."""

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
