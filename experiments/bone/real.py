"""Hub and rims in hosts of a Mininet network, whose P4 switches copy the hub's multicast in a session."""

import asyncio
import random
import shutil
from collections.abc import Generator
from contextlib import AsyncExitStack
from pathlib import Path

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
from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.bone.options import HubOptions, RimOptions
from groupflow.lab.controller_process import ControllerProcess, SessionAccess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import Network, running
from groupflow.study.errors import RunFailedError

PORT = 26500
LIMIT_S = 300.0
"""time for one file"""


def execute(plan: Plan, folder: Path, lagging: list[str]) -> Generator[Transfer]:
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
            async with asyncio.timeout(LIMIT_S):
                sent = await hub.wait_for("sent")
        except TimeoutError:
            raise RunFailedError(f"{case.title}: not sent within {LIMIT_S:g} s; see {place}") from None
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
