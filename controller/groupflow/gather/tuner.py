"""From a round that the server measured to what it is told: readings, the policy's settings, and what
changed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, cast

from groupflow.client.events import Event, EventError
from groupflow.gather.clients import ClientList
from groupflow.tuning.model import Client, Policy, Reading, Setting, Settings


class Measured(NamedTuple):
    """One client in a round, as gfagent tells it (docs/gather.md)."""

    client: str
    reading: Reading
    fields: Mapping[str, object]
    """all of it"""


class Tuner:
    """The state between rounds: wanted targets, the policy's memory, and what clients were given.

    The server remembers the settings of clients that are away, and counts their windows: these have the least
    that a connection can have. So windows are never more than the buffer, when a client comes, too.
    """

    def __init__(self, listed: ClientList, policy: Policy[Any]) -> None:
        self.clients: dict[str, Client] = {each.client.name: each.client for each in listed.clients}
        self.limits = listed.limits
        self.link = listed.link
        self.measured: dict[str, Measured] = {}
        """of the clients that have a stream"""
        self.settings: dict[str, Setting] = {}
        """what clients were given last, as far as is known"""
        self.round = 0
        self.seconds = 0.0
        """that the last tuning took"""
        self._policy = policy
        self._state: Any = None
        self._away = Setting(listed.limits.segment, 1)

    def begin(self) -> dict[str, object] | None:
        """What to tell the server before anyone has come."""
        return self._tell({})

    def take(self, event: Event) -> dict[str, object] | None:
        """What to tell the server after a `round` event; None: nothing changes. Raises EventError."""
        started = perf_counter()
        found = [each for each in measurements(event) if each.client in self.clients]
        self.round = event.integer("round")
        self.measured = {each.client: each for each in found}
        readings = {each.client: each.reading for each in found}
        here = [self.clients[name] for name in readings]
        kept = self.limits.segment * (len(self.clients) - len(here))
        limits = replace(self.limits, buffer=self.limits.buffer - kept)
        self._state, settings = self._policy.tune(self._state, here, readings, limits)
        line = self._tell(settings)
        self.seconds = perf_counter() - started
        return line

    def change(self, client: Client) -> None:
        """Another target, minimum or priority, from the next round on."""
        self.clients[client.name] = client

    def forget_given(self) -> None:
        """The server did not get or obey a tuning: the next one says everything again."""
        self.settings = {}

    def _tell(self, settings: Settings) -> dict[str, object] | None:
        """Everyone's setting, where it is another than before."""
        before, self.settings = self.settings, {name: settings.get(name, self._away) for name in self.clients}
        changes = [
            {"client": name, "window": setting.window, "connections": setting.connections}
            for name, setting in self.settings.items()
            if setting != before.get(name)
        ]
        return {"id": self.round, "tune": changes} if changes else None


def measurements(event: Event) -> Sequence[Measured]:
    """The clients of a `round` event. Raises EventError naming the field."""
    clients = event.fields.get("clients")
    if not isinstance(clients, list):
        raise EventError(f"round.clients: {clients!r} is no list")
    return [_measured(number, item) for number, item in enumerate(cast(list[object], clients))]


def _measured(number: int, item: object) -> Measured:
    if not isinstance(item, dict):
        raise EventError(f"round.clients[{number}]: {item!r} is no object")
    fields = cast(dict[str, object], item)
    client = fields.get("client")
    if not isinstance(client, str):
        raise EventError(f"round.clients[{number}].client: {client!r} is no name")
    known = cast(Mapping[str, Any], fields)
    # Not isinstance: a bool is an int to it. And this runs some thousand times a round, so it calls little.
    for name in _NUMBERS:
        value = known.get(name)
        if value is None or type(value) not in (int, float) or value < 0:
            raise _no_number(number, name, value)
    for name in _NUMBERS_OR_NULL:
        value = known.get(name)
        if value is not None and (type(value) not in (int, float) or value < 0):
            raise _no_number(number, name, value)
    rtt, timeout, window = (
        known.get("rtt_ms") or known.get("server_rtt_ms"),
        known.get("rto_ms"),
        known.get("window"),
    )
    reading = Reading(
        float(known["throughput_bps"]),
        rtt / 1000 if rtt else None,
        None if window is None else int(window),
        int(known["connections"]),
        min(1.0, float(known["loss_ratio"])),
        timeout / 1000 if timeout else None,
    )
    return Measured(client, reading, fields)


_NUMBERS = ("throughput_bps", "connections", "loss_ratio")
_NUMBERS_OR_NULL = ("rtt_ms", "server_rtt_ms", "rto_ms", "window")


def _no_number(number: int, name: str, value: object) -> EventError:
    return EventError(f"round.clients[{number}].{name}: {value!r} is no number of 0 or more")
