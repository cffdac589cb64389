"""Made-up outcomes, for tests of claims and figures."""

from __future__ import annotations

import numpy as np

from papers.takano.outcome import Outcome
from papers.takano.paper import CASES, Case
from papers.takano.plan import Control, Run, label

STEPS = 301


def outcome(
    case: Case | str,
    control: Control,
    *,
    efficiency: float,
    swing: float = 0.0,
    drops: int = 0,
    name: str = "",
    number: int = 1,
) -> Outcome:
    """A run whose efficiency swings around a mean, with all stored packets at the bottleneck, or spread."""
    case = CASES[case] if isinstance(case, str) else case
    time = np.linspace(0, case.seconds, STEPS)
    queues = np.zeros((STEPS, case.nodes))
    if control == "dfc":
        queues += 100.0
    else:
        queues[: STEPS // 2, case.background_at - 1] = case.buffer
        queues[STEPS // 2 :, case.background_at - 1] = case.buffer / 4
    flows = [source.flow for source in case.sources]
    share = np.full(STEPS, case.goodput_bps / len(flows))
    return Outcome(
        run=Run(name or label(case.name, control), case, control, number),
        time_s=time,
        efficiency=efficiency + swing * np.sign(np.sin(time * 100)),
        throughput_bps=dict.fromkeys(flows, share),
        window_packets=case.window * (np.ones(STEPS) if control == "dfc" else np.linspace(1, 0.1, STEPS)),
        queues=queues,
        drops={case.background_at: drops} if drops else {},
        early_drops=0,
        retransmissions=dict.fromkeys(flows, drops),
        wall_s=1.0,
        packet_hops=1,
    )
