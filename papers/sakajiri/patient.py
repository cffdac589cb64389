"""The paper's policy, with connections that are first tuned when slow start is over (studies/start.py)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groupflow.control.gather.model import ROUND_S, Client, Limits, Readings, Setting, Settings
from groupflow.control.gather.sakajiri import Sakajiri, Searches

SLOW_START_S = 10.0
"""time of a client that does not count as its steady state, as in the paper's figures here"""


@dataclass(frozen=True)
class Waiting:
    """The searches under way, and the rounds in which each client has sent."""

    searches: Searches
    rounds: Mapping[str, int]


@dataclass(frozen=True)
class Patient:
    """`Sakajiri`, but for one connection of each client until it has sent for `after_s`."""

    after_s: float = SLOW_START_S

    def tune(
        self, state: Waiting | None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[Waiting, Settings]:
        before = Waiting({}, {}) if state is None else state
        rounds = {client.name: before.rounds.get(client.name, 0) + 1 for client in clients}
        searches, settings = Sakajiri().tune(before.searches, clients, readings, limits)
        early = {name for name, count in rounds.items() if count * ROUND_S <= self.after_s}
        kept = {name: search for name, search in searches.items() if name not in early}
        one = {name: Setting(setting.window, 1) for name, setting in settings.items() if name in early}
        return Waiting(kept, rounds), {**settings, **one}
