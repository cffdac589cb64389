"""A run of a sweep on a real network: the scenario's group sessions, with gfagents under Mininet."""

import asyncio
import shutil
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from groupflow.lab.controller_process import ControllerProcess, free_port
from groupflow.lab.measure import HealthCheck, queues
from groupflow.lab.network import Network, running
from groupflow.lab.transfer import Transfer, start_caches, statistics
from groupflow.sim import GroupSession, Scenario, ScenarioError

Row = dict[str, Any]
_OF_SENDER = {"sent": "packets", "retransmitted": "retransmitted"}


def run(scenario: Scenario, logs: Path) -> tuple[list[Row], tuple[str, ...]]:
    """A row for each receiver, and a line for each switch that lagged. Needs root, and the main thread."""
    simulated = scenario.flows or scenario.splits or scenario.extras
    if simulated or not scenario.sessions or set(scenario.kinds.values()) > {"p4"}:
        raise ScenarioError(
            f"{scenario.name}: a real network runs `sessions`, over P4 switches and links without bursts,"
            " downtimes and byte bounds; leave all else out, or write `where: netsim`"
        )
    shutil.rmtree(logs, ignore_errors=True)  # with the controller's store of an earlier run
    switches = {
        name: replace(switch, grpc=f"127.0.0.1:{free_port()}")
        for name, switch in scenario.topology.switches.items()
    }
    with running(replace(scenario.topology, switches=switches), logs) as network:
        return asyncio.run(_measure(scenario, network, ControllerProcess(network, logs).start()))


async def _measure(
    scenario: Scenario, network: Network, controller: ControllerProcess
) -> tuple[list[Row], tuple[str, ...]]:
    async with AsyncExitStack() as stack:
        caches = await start_caches(network, stack)
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="groupflow-")))
        health, before = HealthCheck(network), queues(network).dropped
        transfers = {group: _transfer(group, network, controller, folder) for group in scenario.sessions}
        try:
            async with asyncio.timeout(scenario.duration_ns / 1e9), asyncio.TaskGroup() as group:
                for each, transfer in transfers.items():
                    group.create_task(_later(each.start_ns / 1e9, transfer))
        except TimeoutError:
            pass  # the scenario's end, as in netsim
        lagging, lost = health.lagging(), queues(network).dropped - before
        for cache in caches:
            await cache.stop()
        peak = max((statistics(cache).integer("cache_peak_bytes") for cache in caches), default=0)
        rows = [
            _row(scenario, group, transfer, name) | {"dropped": lost, "cache_peak": peak}
            for group, transfer in transfers.items()
            for name in group.destinations
        ]
        return rows, lagging


def _transfer(group: GroupSession, network: Network, controller: ControllerProcess, folder: Path) -> Transfer:
    file = folder / str(group.id)
    with file.open("wb") as out:
        out.truncate(group.size)
    session = controller.create_session(group.mode, group.policy)
    return Transfer(
        network, session, group.source, file, dict.fromkeys(group.destinations), group.rate or None
    )


async def _later(seconds: float, transfer: Transfer) -> None:
    await asyncio.sleep(seconds)
    await transfer.run()


def _row(scenario: Scenario, group: GroupSession, transfer: Transfer, name: str) -> Row:
    track, seconds = transfer.tracks[name], transfer.seconds(name)
    if track.error:
        raise ScenarioError(f"{scenario.name}: {name}: {track.error}")
    told = transfer.complete
    return {
        "flow": group.member(name),
        "goodput": track.bytes * 8 / (scenario.duration_ns - group.start_ns) * 1e9,  # as in netsim
        "completed": seconds,
        "delivered": track.bytes,
        **({name: told.integer(field) for name, field in _OF_SENDER.items()} if told else {}),
    }
