"""The distance between netsim and the real network, in one quantity that both measured."""

WITHIN = 0.10
"""expected relative difference at most"""


class Nearness:
    """A base of dataclasses with both figures, in one unit."""

    kernel: float
    netsim: float

    @property
    def difference(self) -> float:
        """Difference relative to the real network's figure; infinite where that is 0 and netsim's is not."""
        if self.kernel == 0:
            return 0.0 if self.netsim == 0 else float("inf")
        return self.netsim / self.kernel - 1

    @property
    def within(self) -> bool:
        return abs(self.netsim - self.kernel) <= WITHIN * self.kernel
