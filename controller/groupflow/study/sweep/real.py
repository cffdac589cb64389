"""A run of a sweep on a real network: the scenario's group sessions, with gfagents under Mininet."""

import asyncio
import shutil
import time
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
from groupflow.study.sweep.form import check_real

Row = dict[str, Any]
_OF_SENDER = {"sent": "sent_packets", "retransmitted": "retransmitted"}


def run(scenario: Scenario, logs: Path) -> tuple[list[Row], tuple[str, ...]]:
    """A row for each receiver, and a line for each switch that lagged. Needs root, and the main thread."""
    check_real(scenario)
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
        health, before, began = HealthCheck(network), queues(network).dropped, time.time()
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
        peak = max((statistics(cache).integer("cache_peak_bytes") for cache in caches), default=None)
        until = time.time()
        rows = [
            _row(scenario, group.member(name), transfer, name, (began, until))
            | {"dropped": lost, "cache_peak": peak}
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


def _row(scenario: Scenario, flow: str, transfer: Transfer, name: str, measured: tuple[float, float]) -> Row:
    """The figures of a receiver, measured from one Unix time to another."""
    track, seconds, started = transfer.tracks[name], transfer.seconds(name), transfer.started
    if track.error:
        raise ScenarioError(f"{scenario.name}: {name}: {track.error}")
    told, (began, until) = transfer.complete, measured
    start = None if started is None else started - began
    span = seconds if seconds is not None or started is None else until - started
    return {
        "flow": flow,
        "start": start,
        "end": None if start is None or seconds is None else start + seconds,
        "goodput": track.bytes * 8 / span if span else None,
        "completed": seconds,
        "delivered": track.bytes,
        "repairs": track.repaired,
        **({name: told.integer(field) for name, field in _OF_SENDER.items()} if told else {}),
    }
