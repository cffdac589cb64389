"""No tuning: the kernel's own receive buffers, and a fixed number of connections for every client."""

from collections.abc import Sequence
from dataclasses import dataclass

from groupflow.tuning.model import Client, Limits, Readings, Setting, Settings


@dataclass(frozen=True)
class Untuned:
    """The policy that tuning is compared with."""

    connections: int = 1

    def tune(
        self, state: None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[None, Settings]:
        setting = Setting(None, min(self.connections, limits.connections))
        return None, {client.name: setting for client in clients}
