"""The paper's policy: buffers by section III.A, connections by section III.B; either can be switched
off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groupflow.control.gather.buffers import share_buffers
from groupflow.control.gather.connections import GAMMA, XI, Search, tune_connections
from groupflow.control.gather.model import Client, Limits, Readings, Setting, Settings

Searches = Mapping[str, Search]
"""the searches under way, by client"""


@dataclass(frozen=True)
class Sakajiri:
    """The policy: meets targets, those of high priority first."""

    connections: bool = True
    """whether connections are tuned, too; without, each client has one (Fig. 5)"""
    gamma: float = GAMMA
    xi: float = XI

    def tune(
        self, state: Searches | None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[Searches, Settings]:
        windows = share_buffers(clients, readings, limits) if clients else {}
        if not self.connections:
            return {}, {name: Setting(window, 1) for name, window in windows.items()}
        searches: dict[str, Search] = {}
        settings: dict[str, Setting] = {}
        for client in clients:
            window = windows[client.name]
            most = max(1, min(limits.connections, window // limits.segment))
            under_way = state.get(client.name) if state else None
            tuned = tune_connections(
                under_way, client.target, readings[client.name], most, gamma=self.gamma, xi=self.xi
            )
            settings[client.name] = Setting(window, tuned.connections)
            if tuned.search is not None:
                searches[client.name] = tuned.search
        return searches, settings
