"""Transfers in hosts of a Mininet network, whose P4 switches copy the hub's multicast in a session; and the
same in netsim, many times, because a single loss can change a transfer by rounds."""

import asyncio
import random
import shutil
from collections.abc import Generator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

from experiments.bone.plan import (
    GRACE_MS,
    HUB,
    JOIN_MS,
    PACKET,
    PER_ROUND,
    RATE_BPS,
    RESULT_MS,
    RIMS,
    Case,
    Plan,
    Transfer,
    again,
    topology,
)
from groupflow import sim
from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.bone.options import HubOptions, RimOptions
from groupflow.lab.controller_process import ControllerProcess, SessionAccess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import Network, running
from groupflow.sim import bone
from groupflow.study import RunFailedError

PORT = 26500
PATIENCE_S = 300.0
"""time for one file"""


def send(plan: Plan, folder: Path, lagging: list[str]) -> Generator[Transfer]:
    """Every case, as often as planned; lines about switches that lagged behind go to `lagging`.

    Needs root. Raises RunFailedError, ClientError and the errors of `running`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    with running(topology(), folder / "logs") as network:
        controller = ControllerProcess(network, folder / "logs").start()
        for case in plan.cases:
            for number in range(plan.real_runs):
                health = HealthCheck(network)
                session = None if case.method == "unicast" else controller.create_session()
                place = folder / f"{case.method}-{case.repair}-{number}"
                yield asyncio.run(_transfer(network, plan, case, session, place, number))
                network.check()
                lagging += [f"{case.title}: {line}" for line in health.lagging()]


async def _transfer(
    network: Network, plan: Plan, case: Case, session: SessionAccess | None, place: Path, number: int
) -> Transfer:
    data = random.Random(plan.seed * 1000 + number).randbytes(plan.size)
    (place / "outbox").mkdir(parents=True)
    async with AsyncExitStack() as stack:
        for rim in RIMS:
            options = RimOptions(
                name=rim,
                folder=place / rim,
                session=session and session.id,
                token=session.token if session else "",
            )
            launcher = network.hosts[rim].launcher()
            agent = await stack.enter_async_context(AgentProcess(options, launcher=launcher))
            await agent.wait_for("joined" if session else "ready")
        options = hub_options(network, case, session, place / "outbox")
        hub = AgentProcess(options, launcher=network.hosts[HUB].launcher())
        await stack.enter_async_context(hub)
        await hub.wait_for("joined" if session else "ready")
        (place / "outbox" / "file").write_bytes(data)
        try:
            async with asyncio.timeout(PATIENCE_S):
                sent = await hub.wait_for("sent")
        except TimeoutError:
            raise RunFailedError(f"{case.title}: not sent within {PATIENCE_S:g} s; see {place}") from None
    wrong = [rim for rim in RIMS if not (f := place / rim / "file").exists() or f.read_bytes() != data]
    if wrong and case.method != "unscheduled":  # there, a lost report counts as silence, which means success
        raise RunFailedError(f"{case.title}: {', '.join(wrong)} did not get the file")
    return Transfer(
        where="kernel",
        case=case,
        seconds=sent.number("seconds"),
        again=again(case, plan.size, sent.integer("sent_bytes")),
        rounds=sent.integer("rounds"),
        complete=len(RIMS) - len(wrong),
    )


def hub_options(network: Network, case: Case, session: SessionAccess | None, folder: Path) -> HubOptions:
    rims = tuple(f"{network.topology.hosts[rim].ip}:{PORT}" for rim in RIMS)
    return HubOptions(
        name=HUB,
        folder=folder,
        session=session and session.id,
        token=session.token if session else "",
        method=case.method,
        repair=case.repair,
        rims=rims if case.method == "unicast" else (),
        rate=RATE_BPS,
        packet=PACKET,
        per_round=PER_ROUND,
        join_ms=JOIN_MS,
        result_ms=RESULT_MS,
        grace_ms=GRACE_MS,
        poll_ms=50,
    )


MS, SECOND = 10**6, 10**9
LIMIT_S = 600
SIZES = (64, 1344)
"""bounds of the packet size of gfagent's hub"""


def simulate(plan: Plan) -> Generator[Transfer]:
    """Every case, as often as planned. Raises RunFailedError where a transfer does not end."""
    for case in plan.cases:
        for number in range(plan.simulated_runs):
            results = sim.run(scenario(plan, case, plan.seed * 1000 + number))
            sent = results.bones.get("bone")
            if sent is None or not sent.done:
                raise RunFailedError(f"{case.title}: not sent within {LIMIT_S} s of simulated time")
            yield Transfer(
                where="netsim",
                case=case,
                seconds=sent.duration_s,
                again=again(case, plan.size, sent.sent_bytes),
                rounds=sent.rounds,
                complete=sum(bool(results.flows[f"bone-{rim}"].finished) for rim in RIMS),
            )


def scenario(plan: Plan, case: Case, seed: int) -> sim.Scenario:
    """A scenario whose switches copy multicast to all their other ports, as a session does."""
    return sim.Scenario(
        name=case.title,
        topology=topology(),
        flows=(),
        duration_ns=LIMIT_S * SECOND,
        sample_ns=LIMIT_S * SECOND,
        seed=seed,
        kinds={"s1": "broadcast", "s2": "broadcast"},
        bones=(
            sim.Bone(
                "bone",
                HUB,
                RIMS,
                size=plan.size,
                interval_ns=case.interval_ns,
                result_wait_ns=RESULT_MS * MS,
                join_wait_ns=JOIN_MS * MS,
                grace_ns=GRACE_MS * MS,
                method=case.method,
                repair=cast(bone.Repair, case.repair.replace("-", "_")),
                packet=PACKET,
                packets=SIZES,
                per_round=PER_ROUND,
            ),
        ),
    )
