"""One simulation as a value, and the loads of a figure."""

from dataclasses import dataclass

from papers.icn2011.paper import HIGH_LOADS, LOADS, QUICK_LOADS, Case


@dataclass(frozen=True)
class Run:
    """One simulation."""

    case: Case
    seed: int
    seconds: float

    @property
    def cost(self) -> float:
        """A number about proportional to the packets that the run moves."""
        case = self.case
        links = 2 + 3 * case.members if case.senders == 1 else 5 * case.senders
        if case.method == "unicast":
            # The sender's link is full, and bounds the packets whatever the number of copies.
            return self.seconds * min(1.0, case.load * len(case.receivers("ma1"))) * 4 * case.senders
        of_p4 = 20 if case.method == "group" else 1
        return self.seconds * case.load * (links + 2 * case.routers) * of_p4


def loads(*, quick: bool) -> tuple[float, ...]:
    """Loads at which the figures have points."""
    return QUICK_LOADS if quick else LOADS


def high_loads(quick: bool) -> tuple[float, ...]:
    """Loads at which studies of overload have points."""
    return QUICK_LOADS[1:] if quick else HIGH_LOADS
