"""One run under Mininet: a server that gathers and tunes, its clients, and the interference.

`python -m experiments.gather.lab FOLDER` carries out FOLDER/run.json and writes FOLDER/outcome.json:
`labs` starts it, in namespaces of its own.
"""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from experiments.gather.measured import LabOutcome, Recorder, total_mbps
from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.gather.options import GatherSendOptions, ServeOptions
from groupflow.agents.gather.service import GatherService
from groupflow.control.gather.clients import ClientList, Registered, token_hash
from groupflow.control.gather.model import Client, Limits, Policy
from groupflow.control.gather.policies import Untuned
from groupflow.control.gather.tuner import Tuner
from groupflow.errors import Error, foreseen
from groupflow.files.topology import read_form
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import Network, running
from groupflow.model.topology import Topology
from groupflow.sim.gather import Sender
from groupflow.study import RunFailedError
from papers.sakajiri import network as simulated
from papers.sakajiri.network import POLICIES, RIVAL_SERVER, RIVALS, SERVER
from papers.sakajiri.outcome import measure
from papers.sakajiri.paper import MEGABIT, SITUATIONS, Run

RUN, OUTCOME, ERROR = "run.json", "outcome.json", "error.txt"
PORT = 26490
TOKEN = "c0ffee"
ENDLESS = Path("/dev/zero")
UNBOUNDED = 256 << 20
"""bytes of receive buffers where the kernel decides, so large that they do not bound it"""
MTU = simulated.PACKET
"""bytes: a segment has netsim's 1,000 bytes of payload, with IP's and TCP's headers and timestamps"""
_SEEDS = 60


def topology(run: Run) -> Topology:
    """The network of a run. A switch draws losses by its device id: another seed gives other losses."""
    form = simulated.topology(run.case)
    for number, switch in enumerate(form["switches"].values(), 1):
        switch["device_id"] = run.seed % _SEEDS * 4 + number
    return read_form(form, "gather", real=True)


class Lab:
    """A run on a network that is already up."""

    def __init__(self, network: Network, run: Run) -> None:
        self._network = network
        self._run = run
        self._situation = SITUATIONS[run.case.situation]
        self._senders = self._situation.senders(run.seconds)
        self._heard, self._rival_heard = Recorder(), Recorder()

    async def measure(self) -> LabOutcome:
        """From the first client's start to the run's end. Raises RunFailedError, AgentError, EventError."""
        run, started = self._run, time.monotonic()
        async with AsyncExitStack() as stack:
            await (await stack.enter_async_context(self._service())).ready()
            if run.case.interference:
                await (await stack.enter_async_context(self._rival_service())).ready()
            health, hops = HealthCheck(self._network), self._hops()
            start = time.time()
            async with asyncio.TaskGroup() as tasks:
                for sender in self._senders:
                    tasks.create_task(self._send(start, sender))
                if run.case.interference:
                    for host in RIVALS:
                        tasks.create_task(self._interfere(start, host))
                for when, client, rtt_ms in self._situation.stretched(run.seconds):
                    tasks.create_task(self._stretch(start + when, client, rtt_ms))
            lagging = health.lagging()
            hops = self._hops() - hops
        self._network.check()
        rounds = [each for each in self._heard.rounds(start) if each.end_s <= run.seconds]
        basic = measure(run, rounds, hops, time.monotonic() - started)
        missing = {sender.client.name for sender in self._senders} - basic.series.keys()
        if missing:
            raise RunFailedError(f"{', '.join(sorted(missing))}: the server got no data from them")
        return LabOutcome(
            run=run,
            series=basic.series,
            packet_hops=hops,
            wall_s=basic.wall_s,
            interference_mbps=total_mbps(self._rival_heard.rounds(start), *run.interference_s),
            refused=tuple(self._heard.refused),
            cpu_bound=lagging,
        )

    def _service(self) -> GatherService:
        policy = POLICIES[self._run.case.method]
        buffer = UNBOUNDED if isinstance(policy, Untuned) else self._situation.buffer
        limits = Limits(buffer, connections=self._run.case.links.connections)
        clients = [sender.client for sender in self._senders]
        return self._serving(SERVER, clients, limits, policy, self._heard)

    def _rival_service(self) -> GatherService:
        """Counts the bytes of interference terminals, over a fixed number of untuned connections each."""
        connections = self._run.case.links.rivals
        clients = [Client(host, MEGABIT) for host in RIVALS]
        limits, policy = Limits(UNBOUNDED, connections), Untuned(connections)
        return self._serving(RIVAL_SERVER, clients, limits, policy, self._rival_heard)

    def _serving(
        self, host: str, clients: Sequence[Client], limits: Limits, policy: Policy[Any], heard: Recorder
    ) -> GatherService:
        listed = ClientList(tuple(Registered(each, token_hash(TOKEN)) for each in clients), limits)
        options = ServeOptions(max_clients=len(clients), listen=f"0.0.0.0:{PORT}", name=host)
        launcher = self._network.hosts[host].launcher()
        return GatherService(Tuner(listed, policy), options, on_event=heard.take, launcher=launcher)

    async def _send(self, start: float, sender: Sender) -> None:
        """Runs a client from its start until it leaves by itself, or until the run is over."""
        end = start + self._run.seconds
        leaves = sender.stop_s < self._run.seconds
        await _until(start + sender.start_s)
        duration = round(sender.stop_s - sender.start_s) if leaves else None
        agent = self._client(sender.host, SERVER, sender.client.name, self._run.case.tcp, duration)
        async with agent:
            ended = asyncio.create_task(agent.finish())
            try:
                await asyncio.wait({ended}, timeout=end - time.time())
                if ended.done():
                    ended.result()  # raises AgentError
                    if not leaves:
                        raise RunFailedError(f"{sender.client.name}: ended before the run was over")
            finally:
                ended.cancel()
                await asyncio.gather(ended, return_exceptions=True)

    async def _interfere(self, start: float, host: str) -> None:
        since, until = self._run.interference_s
        await _until(start + since)
        async with self._client(host, RIVAL_SERVER, host, "reno", None) as agent:
            await _until(start + until)
            # Bytes that its TCP still holds must not outlast the interference.
            self._network.change_link(host, "r2", "down")
            if agent.returncode is not None:
                await agent.finish()  # raises AgentError

    def _client(
        self, host: str, server: str, name: str, congestion: str, duration: int | None
    ) -> AgentProcess:
        options = GatherSendOptions(
            to=f"{self._network.topology.hosts[server].ip}:{PORT}",
            name=name,
            token=TOKEN,
            file=ENDLESS,
            duration=duration,
            congestion=congestion,
        )
        return AgentProcess(options, launcher=self._network.hosts[host].launcher())

    async def _stretch(self, when: float, client: str, rtt_ms: int) -> None:
        """Changes the round trip of a client from a time on."""
        await _until(when)
        delay = f"delay={simulated.access_ns(rtt_ms)}ns"
        self._network.change_link(client, simulated.router(client), delay)

    def _hops(self) -> int:
        """Packets that all switches have sent so far."""
        return sum(
            cast(Mapping[str, int], port["out"])["packets"]
            for name in self._network.switches
            for port in cast(list[Mapping[str, object]], self._network.gfswitch(name).stats()["ports"])
        )


async def _until(when: float) -> None:
    """Waits until a Unix time in seconds."""
    await asyncio.sleep(max(0.0, when - time.time()))


def run_lab(run: Run, logs: Path) -> LabOutcome:
    """Carries out one run, from an empty network, as root. Raises RunFailedError, the errors of `running`."""
    with running(topology(run), logs) as network:
        ControllerProcess(network, logs).start()
        for host in network.hosts.values():
            host.run_script(f"ip link set dev {host.spec.interface} mtu {MTU}")
        return asyncio.run(Lab(network, run).measure())


def main(folder: Path) -> int:
    """Exit code 0, or 1 with the reason in FOLDER/error.txt."""
    run = TypeAdapter(Run).validate_json((folder / RUN).read_bytes())
    code = 1
    try:
        outcome = run_lab(run, folder)
        (folder / OUTCOME).write_bytes(TypeAdapter(LabOutcome).dump_json(outcome))
        code = 0
    except* Error as errors:
        (folder / ERROR).write_text(f"{foreseen(errors)}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
