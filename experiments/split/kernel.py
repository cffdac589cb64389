"""A case under Mininet: gfswitches, `gfagent split`, and ordinary TCP programs at both ends."""

import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from experiments.split.plan import CONTROLS, SENDER, Message, Plan, Result
from groupflow.lab import split
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.daemon import Daemon
from groupflow.lab.measure import HealthCheck, link_bytes, queues
from groupflow.lab.network import Network, running
from papers.icn2011.paper import Case

SCRIPT = Path(__file__).with_name("messages.py")
SESSION_PORT, MEMBER_PORT = 5000, 9000


def run(plan: Plan, case: Case, messages: Sequence[Message], logs: Path) -> Result:
    """One run, from an empty network. Needs root. Raises DaemonError and the errors of `running`."""
    shutil.rmtree(logs, ignore_errors=True)  # removes the controller's store of an earlier run
    members = case.receivers(SENDER)
    with running(plan.topology(case), logs) as network:
        controller = ControllerProcess(network, logs).start()
        listeners = {name: _program(network, logs, name, "listen", MEMBER_PORT) for name in members}
        session = None
        targets = [(str(network.topology.hosts[member].ip), MEMBER_PORT) for member in members]
        if case.method != "unicast":
            session = _Session(controller, network, case, logs)
            targets = [(session.address, SESSION_PORT)]
        health, carried, dropped = HealthCheck(network), link_bytes(network), queues(network).full
        task = {"targets": targets, "control": CONTROLS[case.tcp], "messages": messages}
        sender = _program(network, logs, SENDER, "send", json.dumps(task))
        start = _samples(sender)[0]["start"]
        end = start + plan.seconds
        time.sleep(max(0.0, end - time.time()))
        after = link_bytes(network)
        dropped = queues(network).full - dropped
        lagging = health.lagging()
        network.check()
        return Result(
            where="kernel",
            case=case,
            throughput_bps={
                name: _received(listener, end) * 8 / plan.seconds for name, listener in listeners.items()
            },
            link_bytes={ends: after[ends] - carried[ends] for ends in plan.directions(case)},
            cache_peak_bytes=session.cache_peaks() if session else {},
            dropped=dropped,
            cpu_bound=lagging,
        )


class _Session:
    """A TCP session with every member registered, and the agents that serve it."""

    def __init__(self, controller: ControllerProcess, network: Network, case: Case, logs: Path) -> None:
        self._controller = controller
        for agent in split.start(network, logs).values():
            agent.wait_ready(lambda host=agent.host: self._is_up(host))
        tcp = {"ports": [SESSION_PORT], "congestion": CONTROLS[case.tcp]}
        made = controller.post("/sessions", {"mode": case.method, "tcp": tcp})
        self._id = made["id"]
        self.address = cast(str, made["address"])
        for member in case.receivers(SENDER):
            controller.post(f"/sessions/{self._id}/members", {"host": member, "port": MEMBER_PORT})

    def cache_peaks(self) -> dict[str, int]:
        """The peak of each agent's cache, by its switch."""
        told = cast(Mapping[str, Any], self._controller.get(f"/sessions/{self._id}/tcp"))
        return {agent["switch"]: agent["counters"]["cache_peak"] for agent in told["agents"]}

    def _is_up(self, host: str) -> bool:
        """Whether the controller has found a host's agent."""
        told = cast(list[Mapping[str, object]], self._controller.get("/agents"))
        return any((agent["kind"], agent["host"], agent["state"]) == ("split", host, "up") for agent in told)


def _program(network: Network, logs: Path, host: str, part: str, argument: object) -> Daemon:
    """Starts `messages.py` in a host until the network ends. Raises DaemonError."""
    command = [*network.hosts[host].launcher(), sys.executable, str(SCRIPT), part, str(argument)]
    program = Daemon(f"{host} ({SCRIPT.name} {part})", command, logs / f"{host}-{part}.log")
    network.start_daemon(program)
    program.wait_ready(lambda: bool(_samples(program)))
    return program


def _samples(program: Daemon) -> list[Mapping[str, float]]:
    """The lines that it has printed, except for an incomplete last one."""
    lines = program.output().split("\n")[:-1]
    return [cast(Mapping[str, float], json.loads(line)) for line in lines if line.startswith("{")]


def _received(listener: Daemon, until: float) -> int:
    """Bytes that a listener had received by a time."""
    counts = (sample["bytes"] for sample in _samples(listener) if sample["time"] <= until)
    return int(max(counts, default=0))
