"""The simulator: networks in virtual time, with the same P4, the same controller entries, and TCP.

    from groupflow import sim

    scenario = sim.load("scenario.yaml")
    results = sim.run(scenario, out="out/line")
    print(results.flows["target"].goodput_bps)

A scenario is a value; build one in Python, or change one with `dataclasses.replace`.
"""

from typing import TYPE_CHECKING

from groupflow.sim.bone import Bone, BoneResult
from groupflow.sim.diffusion import Diffusion, with_diffusion, with_udp_in
from groupflow.sim.model import (
    AgentOptions,
    Arrivals,
    FifoOptions,
    Flow,
    Generator,
    GilbertElliott,
    GroupSession,
    LinkExtra,
    Messages,
    QueueSetting,
    Scenario,
    ScenarioError,
    SplitSession,
    SwitchSetup,
    TcpTraffic,
    UdpTraffic,
)
from groupflow.sim.results import Results
from groupflow.sim.runner import Progress, Traced, run
from groupflow.sim.tree import Tree, TreeMember, TreePlace

if TYPE_CHECKING:
    from groupflow.sim.reader import load, parse

__all__ = [
    "AgentOptions", "Arrivals", "Bone", "BoneResult", "Diffusion", "FifoOptions", "Flow", "Generator",
    "GilbertElliott", "GroupSession", "LinkExtra", "Messages", "Progress", "QueueSetting", "Results",
    "Scenario", "ScenarioError", "SplitSession", "SwitchSetup", "TcpTraffic", "Traced", "Tree", "TreeMember",
    "TreePlace", "UdpTraffic", "load", "parse", "run", "with_diffusion", "with_udp_in",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """The reader of files when it is asked for: its import takes longer than all others here."""
    if name not in ("load", "parse"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from groupflow.sim import reader

    return getattr(reader, name)
