"""The policies by name; no tuning, as a policy; and a policy at work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from groupflow.control.gather.climber import Climber
from groupflow.control.gather.comparison import Comparison
from groupflow.control.gather.model import Client, Limits, Policy, Readings, Setting, Settings, checked
from groupflow.control.gather.sakajiri import Sakajiri


@dataclass(frozen=True)
class Untuned:
    """The policy that tuning is compared with: the kernel's own receive buffers, and a fixed number of
    connections for every client."""

    connections: int = 1

    def tune(
        self, state: None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[None, Settings]:
        setting = Setting(None, min(self.connections, limits.connections))
        return None, {client.name: setting for client in clients}


Policies: TypeAlias = Mapping[str, Policy[Any]]
"""by name"""

POLICIES: Policies = {
    "sakajiri": Sakajiri(),
    "buffer": Sakajiri(connections=False),
    "none": Untuned(),
    "comparison": Comparison(),
    "climber": Climber(),
}
"""The built-in policies. A new one is a line here, or a file of one's own (`plugin`)."""


class Rounds:
    """A policy with its memory from round to round, and what holds in a round in which it fails."""

    def __init__(self, policy: Policy[Any]) -> None:
        self.policy = policy
        self._state: Any = None

    def tune(
        self, clients: Sequence[Client], readings: Readings, limits: Limits, before: Settings
    ) -> tuple[Settings, str | None]:
        """The policy's settings; if it fails, those of `before`, and why."""
        try:
            self._state, settings = self.policy.tune(self._state, clients, readings, limits)
            return checked(settings, readings, limits), None
        except Exception as error:  # noqa: BLE001 (the policy may be anybody's code)
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            kept = {name: before[name] for name in readings if name in before}
            return kept, f"the policy failed, settings stay as they are ({reason})"
