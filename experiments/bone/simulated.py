"""The same transfers in netsim, many times, because a single loss can change a transfer by rounds."""

from collections.abc import Generator
from typing import cast

from experiments.bone.plan import (
    GRACE_MS,
    HUB,
    JOIN_MS,
    PACKET,
    PER_ROUND,
    RESULT_MS,
    RIMS,
    Case,
    Plan,
    Transfer,
    again,
    topology,
)
from groupflow import sim
from groupflow.sim import bone
from groupflow.study.errors import RunFailedError

MS, SECOND = 10**6, 10**9
LIMIT_S = 600
SIZES = (64, 1344)
"""bounds of the packet size of gfagent's hub"""


def execute(plan: Plan) -> Generator[Transfer]:
    """Every case, as often as planned. Raises RunFailedError where a transfer does not end."""
    for case in plan.cases:
        for number in range(plan.simulated_runs):
            results = sim.run(scenario(plan, case, plan.seed * 1000 + number))
            sent = results.bones["bone"]
            if not sent.done:
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
