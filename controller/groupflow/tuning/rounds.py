"""A policy at work: its memory from round to round, and what holds in a round in which it fails."""

from collections.abc import Sequence
from typing import Any

from groupflow.tuning.model import Client, Limits, Policy, Readings, Settings, checked


class Rounds:
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
