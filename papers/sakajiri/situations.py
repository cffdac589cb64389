"""Changes that studies make to the paper's models: round trips, losses, and times of clients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from groupflow.sim.gather import Sender
from papers.sakajiri.paper import BUFFER, CLIENTS, HIGH, LOW, Links

Senders = Callable[[float], tuple[Sender, ...]]
"""the clients of a run of so many seconds"""


@dataclass(frozen=True)
class Situation:
    """Models 1 and 2, with the changes of a study."""

    buffer: int = BUFFER
    senders: Senders = lambda _: tuple(Sender(client, client.name) for client in CLIENTS)
    rtts_ms: Callable[[Links], Mapping[str, int]] = lambda links: {c.name: links.rtt_ms for c in CLIENTS}
    losses: Callable[[Links], Mapping[str, float]] = lambda links: (
        dict.fromkeys(LOW, links.low_loss) | dict.fromkeys(HIGH, links.high_loss)
    )
    stretched: Callable[[float], tuple[tuple[float, str, int], ...]] = lambda _: ()
    """clients whose round trip grows: time, name, and ms from then on; in a run of so many seconds"""


NEAR_MS, FAR_MS = 20, 300
HEAVY_LOSS = 0.05


JOINS = {"t4": 1 / 6, "t5": 1 / 3}
LEAVES = {"t0": 2 / 3, "t4": 5 / 6}
"""times of departure, as parts of the run"""


def _coming_and_going(seconds: float) -> tuple[Sender, ...]:
    return tuple(
        Sender(c, c.name, JOINS.get(c.name, 0.0) * seconds, LEAVES.get(c.name, float("inf")) * seconds)
        for c in CLIENTS
    )


SITUATIONS: dict[str, Situation] = {
    "paper": Situation(),
    "jump": Situation(
        rtts_ms=lambda links: {c.name: NEAR_MS if c.name == "t3" else links.rtt_ms for c in CLIENTS},
        stretched=lambda seconds: ((seconds / 2, "t3", FAR_MS),),
    ),
    "churn": Situation(senders=_coming_and_going),
    "loss": Situation(losses=lambda _: dict.fromkeys((*LOW, *HIGH), HEAVY_LOSS)),
}
"""by the name that a case has"""
