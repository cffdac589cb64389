"""The chain under Mininet: switches, kernel TCP, with or without diffusion-type flow control."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np

from experiments.common.flows import Flow
from experiments.diffusion import on_bmv2
from experiments.diffusion.install import install, shape
from experiments.diffusion.result import Method, Plan, Result
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import Network, SwitchKind, running
from groupflow.network.topology import Topology
from groupflow.study.experiment import RunError

SCRIPT = Path(__file__).with_name("tcp_flow.py")
SEGMENT_BYTES = 1448
_READY_SECONDS = 10.0


def run(topology: Topology, plan: Plan, control: str, method: Method, logs: Path, kind: SwitchKind) -> Result:
    """One run, from an empty network. Needs root. Raises RunError and the errors of `running`."""
    shutil.rmtree(logs, ignore_errors=True)  # removes the controller's store of an earlier run
    with running(topology, logs, kind) as network, ExitStack() as stack:
        controller = ControllerProcess(network, logs).start()
        controlled = method != "tcp"
        queues: Queues | on_bmv2.Queues = Queues(network)
        if kind == "bmv2":
            queues = stack.enter_context(closing(on_bmv2.Queues(network, controlled=controlled)))
        if controlled:
            numbers = install(controller, plan, external=method == "shaped")
            if method == "shaped":
                shape(network, plan, numbers, logs)
            if kind == "bmv2":
                on_bmv2.start_agents(network, controller, logs)  # after the flows, which they begin with
        with sinks(network, plan) as receiving:
            watch = QueueWatch(queues)
            health = HealthCheck(network)
            start = time.time()
            sending = [_Sender(network, plan, flow, control) for flow in plan.flows]
            _follow(sending, watch, start, plan)
            sent = {sender.flow.name: sender.samples() for sender in sending}
            lagging = health.lagging()
            received = {name: _samples(sink.communicate()[0]) for name, sink in receiving.items()}
        network.check()
        return Result(
            where=kind,
            control=control,
            method=method,
            time_s=np.array(watch.times) - start,
            queues=np.array(watch.depths, dtype=np.float64),
            goodput_bps={name: _goodput(samples, start, plan) for name, samples in received.items()},
            drops=watch.drops(),
            retransmitted={name: int(samples[-1]["retransmitted"]) for name, samples in sent.items()},
            cpu_bound=lagging,
        )


class _Sender:
    """A flow's sender, which starts at its time."""

    def __init__(self, network: Network, plan: Plan, flow: Flow, control: str) -> None:
        self.flow = flow
        host = network.hosts[flow.sender]
        target = str(network.topology.hosts[flow.receiver].ip)
        seconds = str(plan.seconds - flow.start_s)
        command = [sys.executable, str(SCRIPT), "send", target, str(flow.port), control, seconds]
        self._command = [*host.launcher(), *command]
        self._process: subprocess.Popen[str] | None = None

    def start_if_due(self, elapsed: float) -> None:
        if self._process is None and elapsed >= self.flow.start_s:
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)

    @property
    def over(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def samples(self) -> list[Mapping[str, float]]:
        if self._process is None or self._process.wait() != 0:
            raise RunError(f"{self.flow.name}: the sender on {self.flow.sender} failed; see above")
        assert self._process.stdout is not None
        return _samples(self._process.stdout.read())

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _follow(sending: list[_Sender], watch: "QueueWatch", start: float, plan: Plan) -> None:
    try:
        while not all(sender.over for sender in sending):
            elapsed = time.time() - start
            if elapsed > plan.seconds + _READY_SECONDS:
                raise RunError("a sender did not end in time")
            for sender in sending:
                sender.start_if_due(elapsed)
            watch.sample()
            time.sleep(plan.sample_s)
    finally:
        if not all(sender.over for sender in sending):
            for sender in sending:
                sender.end()


@contextmanager
def sinks(network: Network, plan: Plan) -> Generator[dict[str, subprocess.Popen[str]]]:
    """A listening receiver for each flow."""
    window = str(plan.window_packets * SEGMENT_BYTES)
    with ExitStack() as stack:
        started: dict[str, subprocess.Popen[str]] = {}
        for flow in plan.flows:
            command = [sys.executable, str(SCRIPT), "sink", str(flow.port), window]
            launcher = network.hosts[flow.receiver].launcher()
            sink = stack.enter_context(
                subprocess.Popen([*launcher, *command], stdout=subprocess.PIPE, text=True)
            )
            stack.callback(sink.kill)
            assert sink.stdout is not None
            if sink.stdout.readline() != "ready\n":
                raise RunError(f"{flow.name}: the receiver on {flow.receiver} did not start")
            started[flow.name] = sink
        yield started


class QueueWatch:
    """Packets waiting in each switch of a chain, towards the next one."""

    def __init__(self, queues: "Queues | on_bmv2.Queues") -> None:
        self._queues = queues
        self.times: list[float] = []
        self.depths: list[list[int]] = []
        self._before = queues.dropped()

    def sample(self) -> None:
        self.times.append(time.time())
        self.depths.append(self._queues.waiting())

    def drops(self) -> dict[str, int]:
        """Packets refused since the watch began."""
        now = self._queues.dropped()
        return {name: now[name] - before for name, before in self._before.items()}


class Queues:
    """The queues of gfswitches towards the next one."""

    def __init__(self, network: Network) -> None:
        self._network = network
        names = list(network.topology.switches)
        self._ports = {here: network.topology.port_to(here, there) for here, there in pairwise(names)}

    def waiting(self) -> list[int]:
        return [sum(queue["packets"] for queue in self._of(name)) for name in self._ports]

    def dropped(self) -> dict[str, int]:
        return {name: sum(queue["dropped"] for queue in self._of(name)) for name in self._ports}

    def _of(self, name: str) -> list[Mapping[str, int]]:
        ports = cast(list[Mapping[str, object]], self._network.gfswitch(name).stats()["ports"])
        port = next(port for port in ports if port["port"] == self._ports[name])
        return cast(list[Mapping[str, int]], cast(Mapping[str, object], port["out"])["queues"])


def _samples(text: str) -> list[Mapping[str, float]]:
    return [cast(Mapping[str, float], json.loads(line)) for line in text.splitlines()]


def _goodput(samples: list[Mapping[str, float]], start: float, plan: Plan) -> float:
    """Bits per second that arrived from the time when all flows were there."""
    settled = [s for s in samples if s["time"] - start >= plan.settled_s]
    if len(settled) < 2:
        raise RunError("a flow delivered nothing while all flows were there")
    first, last = settled[0], settled[-1]
    return (last["bytes"] - first["bytes"]) * 8 / (last["time"] - first["time"])
