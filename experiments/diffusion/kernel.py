"""The chain under Mininet: switches, kernel TCP, with or without diffusion-type flow control."""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np

from experiments.common.scripts import samples, script
from experiments.diffusion.result import FRAME_BYTES, Flow, Method, Plan, Result
from groupflow.agents.agent_process import find_program
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import Network, running
from groupflow.model.topology import Topology
from groupflow.processes import Daemon
from groupflow.study import RunFailedError

SEGMENT_BYTES = 1448
_READY_SECONDS = 10.0


def run(topology: Topology, plan: Plan, control: str, method: Method, logs: Path) -> Result:
    """One run, from an empty network. Needs root. Raises RunFailedError and the errors of `running`."""
    shutil.rmtree(logs, ignore_errors=True)  # removes the controller's store of an earlier run
    with running(topology, logs) as network:
        controller = ControllerProcess(network, logs).start()
        queues = Queues(network)
        if method != "tcp":
            numbers = install(controller, plan, external=method == "shaped")
            if method == "shaped":
                shape(network, plan, numbers, logs)
        receiving = sinks(network, plan, logs)
        before = queues.dropped()
        health = HealthCheck(network)
        start = time.time()
        sending = {flow.name: _sender(network, plan, flow, control, logs) for flow in plan.flows}
        sampled = list(_follow(network, sending, queues, start, plan))
        lagging = health.lagging()
        network.check()  # a sink waits for a sender that failed
        for sink in receiving.values():
            sink.wait_ready(lambda sink=sink: not sink.alive)
        network.check()
        return Result(
            where="gfswitch",
            control=control,
            method=method,
            time_s=np.array([when for when, _ in sampled]) - start,
            queues=np.array([depths for _, depths in sampled], dtype=np.float64),
            goodput_bps={name: _goodput(samples(sink), start, plan) for name, sink in receiving.items()},
            drops={name: count - before[name] for name, count in queues.dropped().items()},
            retransmitted={name: int(samples(each)[-1]["retransmitted"]) for name, each in sending.items()},
            cpu_bound=lagging,
        )


def _sender(network: Network, plan: Plan, flow: Flow, control: str, logs: Path) -> Daemon:
    """A flow's sender, which does not run yet."""
    target, seconds = network.topology.hosts[flow.receiver].ip, plan.seconds - flow.start_s
    words = ("flow", target, flow.port, control, seconds)
    return script(network, flow.sender, logs / f"{flow.name}-sender.log", *words)


def _follow(
    network: Network, sending: Mapping[str, Daemon], queues: "Queues", start: float, plan: Plan
) -> Iterator[tuple[float, list[int]]]:
    """Starts each sender at its time. Until all are over, yields Unix times, and the packets that wait in
    each switch of the chain, towards the next one."""
    due = sorted(plan.flows, key=lambda flow: flow.start_s)
    while due or any(sender.alive for sender in sending.values()):
        elapsed = time.time() - start
        if elapsed > plan.seconds + _READY_SECONDS:
            raise RunFailedError("a sender did not end in time")
        while due and elapsed >= due[0].start_s:
            network.start_daemon(sending[due.pop(0).name])
        yield time.time(), queues.waiting()
        time.sleep(plan.sample_s)


def sinks(network: Network, plan: Plan, logs: Path) -> dict[str, Daemon]:
    """A listening receiver for each flow, until the network ends."""
    listening: dict[str, Daemon] = {}
    for flow in plan.flows:
        words = ("listen", flow.port, plan.window_packets * SEGMENT_BYTES)
        sink = script(network, flow.receiver, logs / f"{flow.name}-sink.log", *words)
        network.start_daemon(sink).wait_ready(lambda sink=sink: bool(samples(sink)))
        listening[flow.name] = sink
    return listening


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


def _goodput(samples: Sequence[Mapping[str, float]], start: float, plan: Plan) -> float:
    """Bits per second that arrived from the time when all flows were there."""
    settled = [s for s in samples if s["time"] - start >= plan.settled_s]
    if len(settled) < 2:
        raise RunFailedError("a flow delivered nothing while all flows were there")
    first, last = settled[0], settled[-1]
    return (last["bytes"] - first["bytes"]) * 8 / (last["time"] - first["time"])


def install(controller: ControllerProcess, plan: Plan, *, external: bool) -> dict[str, int]:
    """Measures the links' delays and installs every flow. Raises UnavailableError. Returns their numbers."""
    numbers: dict[str, int] = {}
    for flow in plan.flows:
        request = {"kind": "flow", "src": flow.sender, "dst": flow.receiver, "protocol": "tcp"}
        request |= {"d": plan.diffusion, "packet_bytes": FRAME_BYTES, "external": external}
        numbers[flow.name] = cast(dict[str, int], controller.post("/diffusion", request))["flow"]
    return numbers


def shape(network: Network, plan: Plan, numbers: Mapping[str, int], logs: Path) -> None:
    """Has each sender's host shape its flow to the rate that its switch reports. Raises DaemonError."""
    program = str(find_program("gfagent"))
    for flow in plan.flows:
        host = network.hosts[flow.sender]
        iface = network.topology.hosts[flow.sender].interface
        packets = f"{numbers[flow.name]}=tcp:{network.topology.hosts[flow.receiver].ip}:{flow.port}"
        command = [*host.launcher(), program, "shape", "--iface", iface, "--flow", packets, "--json"]
        log = logs / f"shape-{flow.sender}.log"
        daemon = network.start_daemon(Daemon(f"gfagent shape on {flow.sender}", command, log))
        daemon.wait_ready(lambda daemon=daemon: '"ready"' in daemon.output())
