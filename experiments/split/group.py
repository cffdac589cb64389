"""A case of group sessions under Mininet: gfswitches that run the P4 program, cache agents, `gfagent send`
and `gfagent recv`."""

import asyncio
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from experiments.split.plan import Message, Plan, Result, Stream, streams
from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import ClientError
from groupflow.agents.events import Event
from groupflow.agents.options import CacheOptions, RecvOptions, SendOptions
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck, link_bytes, queues
from groupflow.lab.network import Network, running
from groupflow.processes import how_it_ended
from papers.icn2011.paper import Case


def run(plan: Plan, case: Case, messages: Mapping[str, Sequence[Message]], logs: Path) -> Result:
    """One run, from an empty network. Needs root. Raises ClientError, DaemonError and the errors of
    `running`."""
    shutil.rmtree(logs, ignore_errors=True)  # removes the controller's store of an earlier run
    with running(plan.topology(case), logs) as network:
        controller = ControllerProcess(network, logs).start()
        return asyncio.run(_measure(plan, case, messages, network, controller))


async def _measure(
    plan: Plan,
    case: Case,
    messages: Mapping[str, Sequence[Message]],
    network: Network,
    controller: ControllerProcess,
) -> Result:
    sessions = {source: controller.create_session() for source in case.sources}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    async with AsyncExitStack() as stack:
        stack.callback(os.close, nowhere)

        async def started(agent: AgentProcess) -> AgentProcess:
            await stack.enter_async_context(agent)
            await agent.wait_for("joined")
            return agent

        def at(host: str) -> Sequence[str]:
            return network.hosts[host].launcher()

        agents = {switch.name: switch.agent for switch in network.topology.switches.values() if switch.agent}
        caches = {
            switch: await started(AgentProcess(CacheOptions(name=host), launcher=at(host)))
            for switch, host in agents.items()
        }
        receivers: dict[Stream, AgentProcess] = {}
        senders: dict[str, AgentProcess] = {}
        for source, member in streams(case):
            session = sessions[source]
            options = RecvOptions(session=session.id, token=session.token, name=member)
            agent = AgentProcess(options, launcher=at(member), output_to=nowhere)
            receivers[source, member] = await started(agent)
        for source, session in sessions.items():
            count = len(case.receivers(source))
            options = SendOptions(session=session.id, token=session.token, name=source, members=count)
            agent = AgentProcess(options, launcher=at(source), piped_input=True)
            senders[source] = await started(agent)
        everyone = (*senders.values(), *receivers.values())
        stack.push_async_callback(_closed, senders.values())
        stack.push_async_callback(AgentProcess.stop_all, everyone)
        for sender in senders.values():
            await sender.wait_for("started")
        health, carried, dropped = HealthCheck(network), link_bytes(network), queues(network).full
        writing = [asyncio.create_task(_write(senders[name], messages[name])) for name in senders]
        await asyncio.sleep(plan.seconds)
        after = link_bytes(network)
        got = {stream: told(agent, "progress").integer("bytes") for stream, agent in receivers.items()}
        check((*everyone, *caches.values()), writing)
        for task in writing:
            task.cancel()
        network.check()
        return Result(
            where="kernel",
            case=case,
            received_bps={stream: count * 8 / plan.seconds for stream, count in got.items()},
            link_bytes={ends: after[ends] - carried[ends] for ends in plan.directions(case)},
            cache_peak_bytes={
                switch: told(agent, "stats").integer("cache_peak_bytes") for switch, agent in caches.items()
            },
            dropped=queues(network).full - dropped,
            cpu_bound=health.lagging(),
        )


async def _write(sender: AgentProcess, messages: Sequence[Message]) -> None:
    """Writes each message at its time, or later while the sender takes no more."""
    start = time.monotonic()
    for at, size in messages:
        await asyncio.sleep(max(0.0, start + at - time.monotonic()))
        sender.data_in.write(bytes(size))
        await sender.data_in.drain()


def check(agents: Iterable[AgentProcess], writing: Iterable[asyncio.Task[None]]) -> None:
    """Raises ClientError if an agent has ended, and a writer's error if one has failed."""
    for agent in agents:
        if agent.returncode is not None:
            how = how_it_ended(agent.returncode)
            raise ClientError(f"gfagent of {agent.options.name} {how} before the run's end; run it again")
    for task in writing:
        if task.done():
            task.result()


async def _closed(senders: Iterable[AgentProcess]) -> None:
    """Takes note that what was still to be written has found nobody to read it."""
    for sender in senders:
        with suppress(OSError):
            await sender.data_in.wait_closed()


def told(agent: AgentProcess, name: str) -> Event:
    """The agent's last event of that name, without which a count would be wrong. Raises ClientError."""
    if name not in agent.latest:
        raise ClientError(f"gfagent of {agent.options.name} told no {name}; run it again for longer")
    return agent.latest[name]
