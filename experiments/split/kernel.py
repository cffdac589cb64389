"""A case under Mininet: gfswitches, `gfagent split`, and ordinary TCP programs at both ends."""

import json
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from experiments.common.scripts import samples, script
from experiments.split.plan import CONTROLS, Message, Plan, Result, streams
from groupflow.lab import split
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck, link_bytes, queues
from groupflow.lab.network import Network, running
from groupflow.processes import Daemon
from papers.icn2011.paper import SENDERS, Case

SESSION_PORT = 5000
MEMBER_PORTS = {source: 9000 + number for number, source in enumerate(SENDERS)}
"""ports of a member's listeners, one for each sender"""


def run(plan: Plan, case: Case, messages: Mapping[str, Sequence[Message]], logs: Path) -> Result:
    """One run, from an empty network. Needs root. Raises DaemonError and the errors of `running`."""
    shutil.rmtree(logs, ignore_errors=True)  # removes the controller's store of an earlier run
    with running(plan.topology(case), logs) as network:
        controller = ControllerProcess(network, logs).start()
        listeners = {
            (source, member): _program(network, logs, member, "listen", MEMBER_PORTS[source])
            for source, member in streams(case)
        }
        sessions: dict[str, _Session] = {}
        if case.method != "unicast":
            _start_agents(controller, network, logs)
            sessions = {source: _Session(controller, case, source) for source in case.sources}
        health, carried, dropped = HealthCheck(network), link_bytes(network), queues(network).full
        senders: list[Daemon] = []
        for source in case.sources:
            targets = [
                (str(network.topology.hosts[member].ip), MEMBER_PORTS[source])
                for member in case.receivers(source)
            ]
            if sessions:
                targets = [(sessions[source].address, SESSION_PORT)]
            task = {"targets": targets, "control": CONTROLS[case.tcp], "messages": messages[source]}
            senders.append(_program(network, logs, source, "send", json.dumps(task)))
        end = samples(senders[0])[0]["start"] + plan.seconds
        time.sleep(max(0.0, end - time.time()))
        after = link_bytes(network)
        dropped = queues(network).full - dropped
        lagging = health.lagging()
        network.check()
        return Result(
            where="kernel",
            case=case,
            received_bps={
                stream: _received(listener, end) * 8 / plan.seconds for stream, listener in listeners.items()
            },
            link_bytes={ends: after[ends] - carried[ends] for ends in plan.directions(case)},
            cache_peak_bytes=sum((session.cache_peaks() for session in sessions.values()), Counter[str]()),
            dropped=dropped,
            cpu_bound=lagging,
        )


class _Session:
    """A sender's TCP session with every member registered."""

    def __init__(self, controller: ControllerProcess, case: Case, source: str) -> None:
        self._controller = controller
        tcp = {"ports": [SESSION_PORT], "congestion": CONTROLS[case.tcp]}
        made = controller.post("/sessions", {"mode": case.method, "tcp": tcp})
        self._id = made["id"]
        self.address = cast(str, made["address"])
        for member in case.receivers(source):
            controller.post(f"/sessions/{self._id}/members", {"host": member, "port": MEMBER_PORTS[source]})

    def cache_peaks(self) -> Counter[str]:
        """The peak of each agent's cache of this stream, by its switch."""
        told = cast(Mapping[str, Any], self._controller.get(f"/sessions/{self._id}/tcp"))
        return Counter({agent["switch"]: agent["counters"]["cache_peak"] for agent in told["agents"]})


def _start_agents(controller: ControllerProcess, network: Network, logs: Path) -> None:
    """Starts the split agents, and waits until the controller has found them. Raises DaemonError."""

    def is_up(host: str) -> bool:
        told = cast(list[Mapping[str, object]], controller.get("/agents"))
        return any((agent["kind"], agent["host"], agent["state"]) == ("split", host, "up") for agent in told)

    for host, agent in split.start(network, logs).items():
        agent.wait_ready(partial(is_up, host))


def _program(network: Network, logs: Path, host: str, part: str, argument: object) -> Daemon:
    """Starts a TCP program in a host until the network ends. Raises DaemonError."""
    log = logs / f"{host}-{part}{argument if part == 'listen' else ''}.log"
    program = script(network, host, log, part, argument, may_end=False)
    network.start_daemon(program).wait_ready(lambda: bool(samples(program)))
    return program


def _received(listener: Daemon, until: float) -> int:
    """Bytes that a listener had received by a time."""
    counts = (sample["bytes"] for sample in samples(listener) if sample["time"] <= until)
    return int(max(counts, default=0))
