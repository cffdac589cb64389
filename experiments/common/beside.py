"""netsim beside the real network, quantity by quantity."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from groupflow.sim.model import Variant

VARIANTS: dict[str, Variant] = {"reno": "sack", "cubic": "cubic"}
"""netsim's TCP for the kernel's congestion control: Linux's reno keeps a SACK scoreboard; netsim's `reno` is
RFC 2581's without"""
DELAYED_ACK_NS = 40_000_000
"""how long the kernel waits with an acknowledgement, and so netsim beside it"""
WITHIN = 0.10
"""expected relative difference at most"""


def apart(kernel: float, netsim: float) -> float:
    """Difference relative to the real network's figure; infinite where that is 0 and netsim's is not."""
    if kernel == 0:
        return 0.0 if netsim == 0 else float("inf")
    return netsim / kernel - 1


@dataclass(frozen=True)
class Comparison:
    """One quantity of one run, on the real network and in netsim."""

    title: str
    """of the run, for people"""
    run: Mapping[str, Any]
    """the same for JSON"""
    quantity: str
    unit: str
    kernel: float
    netsim: float
    expected: bool = True
    """whether both should be near: throughput and bytes on links should, the fill of a cache need not"""

    @property
    def within(self) -> bool:
        return abs(self.netsim - self.kernel) <= WITHIN * self.kernel

    def form(self) -> dict[str, Any]:
        figures = {"kernel": self.kernel, "netsim": self.netsim, "expected": self.expected}
        return {
            **self.run, "quantity": self.quantity, "unit": self.unit, **figures,
            "difference": apart(self.kernel, self.netsim), "within": self.within,
        }  # fmt: skip


def shown(compared: Sequence[Comparison]) -> Iterator[RenderableType]:
    """Those that should be near and are not; and how many are."""
    expected = [each for each in compared if each.expected]
    table = Table("run", "quantity", "kernel", "netsim", "differs by")
    for each in expected:
        if not each.within:
            by = f"{apart(each.kernel, each.netsim):+.0%}"
            figures = (f"{each.kernel:.2f}", f"{each.netsim:.2f}", by)
            table.add_row(each.title, f"{each.quantity}, {each.unit}", *figures)
    if table.rows:
        yield table
    near = sum(each.within for each in expected)
    yield f"within {WITHIN:.0%} of the real network: {near} of {len(expected)}"
