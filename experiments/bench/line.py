"""netsim's packet hops a second on the line of Takano et al., without and with their control."""

import json
import time
from typing import TYPE_CHECKING

from experiments.bench.tools import Figure, in_turns
from groupflow.control.diffusion.plan import QUEUES
from groupflow.sim.model import Scenario
from groupflow.sim.runner import build
from papers.takano.network import scenario
from papers.takano.paper import CASES
from papers.takano.plan import Run

if TYPE_CHECKING:
    from groupflow._native import NativeSim

_SHORT = CASES["4"].shortened(0.3)
_ROUNDS = 3
_STEP_MS = 1000
_FEEDBACK_QUEUE = QUEUES - 1


def figures() -> list[Figure]:
    """Both in turns, on one core; the least processor time of each counts."""
    turns = in_turns(("tcp", "dfc"), _ROUNDS, lambda how: _measure(scenario(Run("bench", _SHORT, how))))
    name = f"netsim, scenario {_SHORT.name} of Takano"
    return [
        Figure(f"{name}{', with control' * (how == 'dfc')}", round(rate), "packet hops/s", note)
        for how, (rate, note) in ((how, max(found)) for how, found in turns.items())
    ]


def _measure(what: Scenario) -> tuple[float, str]:
    """Hops per second of processor time, and a note with the share of feedback in them."""
    sim = build(what)
    start = time.process_time()
    hops, finished = 0, False
    while not finished:
        _, hops, finished = sim.step(_STEP_MS)
    cpu_s = time.process_time() - start
    return hops / cpu_s, f"{hops:,} hops, {_feedback(sim, what) / hops:.1%} of them feedback; {cpu_s:.1f} s"


def _feedback(sim: "NativeSim", what: Scenario) -> int:
    """Feedback packets from switch to switch; each took a tick of a packet generator, which is no hop."""
    sent = 0
    for name in what.topology.switches:
        outbound = {port["port"]: port["out"] for port in json.loads(sim.stats(name))["ports"]}
        for far in what.topology.neighbours(name):
            queues = outbound[what.topology.port_to(name, far)]["queues"]
            sent += sum(q["sent"] for q in queues if q["priority"] == _FEEDBACK_QUEUE)
    return sent
