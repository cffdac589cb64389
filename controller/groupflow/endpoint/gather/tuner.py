"""From a round measured by the server to its new settings: readings, the policy's settings, and the
changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, cast

from groupflow.endpoint.events import Event, EventError
from groupflow.endpoint.gather.clients import ClientList
from groupflow.tuning.model import Client, Policy, Reading, Setting, Settings


class Measured(NamedTuple):
    """One client in a round, as gfagent reports it (docs/reference/gather.md)."""

    client: str
    reading: Reading
    fields: Mapping[str, object]
    """all fields of the report"""


class Tuner:
    """The state between rounds: the clients' targets, the policy's memory, and the settings given to clients.

    The server remembers the settings of absent clients, and counts their windows, which are the least that
    a connection can have. So the sum of windows stays within the buffer also when a client comes.
    """

    def __init__(self, listed: ClientList, policy: Policy[Any]) -> None:
        self.clients: dict[str, Client] = {each.client.name: each.client for each in listed.clients}
        self.limits = listed.limits
        self.link = listed.link
        self.measured: dict[str, Measured] = {}
        """the reports of clients that have a stream"""
        self.settings: dict[str, Setting] = {}
        """the settings given to clients last, as far as is known"""
        self.round = 0
        self.seconds = 0.0
        """duration of the last tuning"""
        self._policy = policy
        self._state: Any = None
        self._away = Setting(listed.limits.segment, 1)

    def begin(self) -> dict[str, object] | None:
        """The message to the server before any client has come; None: no message."""
        return self._tell({})

    def take(self, event: Event) -> dict[str, object] | None:
        """The message to the server after a `round` event; None: nothing changes. Raises EventError."""
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
        """Changes target, minimum or priority of a client, from the next round on."""
        self.clients[client.name] = client

    def forget_given(self) -> None:
        """Makes the next message repeat all settings, if the server did not get or apply the last one."""
        self.settings = {}

    def _tell(self, settings: Settings) -> dict[str, object] | None:
        """The message with each client's setting that has changed; None: no setting has."""
        before, self.settings = self.settings, {name: settings.get(name, self._away) for name in self.clients}
        changes = [
            {"client": name, "window": setting.window, "connections": setting.connections}
            for name, setting in self.settings.items()
            if setting != before.get(name)
        ]
        return {"id": self.round, "tune": changes} if changes else None


_NAME: frozenset[type] = frozenset({str})
_NUMBER: frozenset[type] = frozenset({int, float})
_NUMBER_OR_NULL = _NUMBER | {type(None)}
_KINDS = {
    "client": _NAME,
    "throughput_bps": _NUMBER,
    "rtt_ms": _NUMBER_OR_NULL,
    "server_rtt_ms": _NUMBER_OR_NULL,
    "rto_ms": _NUMBER_OR_NULL,
    "window": _NUMBER_OR_NULL,
    "connections": _NUMBER,
    "loss_ratio": _NUMBER,
}
"""types of the fields read of each client; exact types, because a bool is an int, too"""


def measurements(event: Event) -> Sequence[Measured]:
    """The clients of a `round` event. Raises EventError naming the field."""
    clients = event.fields.get("clients")
    if not isinstance(clients, list):
        raise EventError(f"round.clients: {clients!r} is no list")
    rows = cast(list[dict[str, Any]], clients)
    for number, row in enumerate(rows):
        if type(row) is not dict:
            raise EventError(f"round.clients[{number}]: {row!r} is no object")
    # Field by field, not client by client: a thousand clients are checked with a few calls.
    names, *columns = (_column(rows, field) for field in _KINDS)
    readings = map(_reading, *columns)
    return [Measured(*each) for each in zip(names, readings, rows, strict=True)]


def _column(rows: Sequence[Mapping[str, Any]], field: str) -> Sequence[Any]:
    """One field of all clients, checked. Raises EventError."""
    kinds = _KINDS[field]
    column = [row.get(field) for row in rows]
    right = kinds.issuperset(map(type, column))
    if not (right and (kinds is _NAME or min(filter(None, column), default=0) >= 0)):
        for number, value in enumerate(column):
            _check(f"round.clients[{number}].{field}", value, kinds)
    return column


def _check(path: str, value: Any, kinds: frozenset[type]) -> None:
    if kinds is _NAME:
        if type(value) is not str:
            raise EventError(f"{path}: {value!r} is no name")
    elif type(value) not in kinds or (value is not None and value < 0):
        raise EventError(f"{path}: {value!r} is no number of 0 or more")


def _reading(
    throughput: float,
    rtt: float | None,
    server_rtt: float | None,
    timeout: float | None,
    window: float | None,
    connections: float,
    loss: float,
) -> Reading:
    """A reading for the policy, from gfagent's units: bit/s, ms, bytes."""
    rtt = rtt or server_rtt
    return Reading(
        float(throughput),
        rtt / 1000 if rtt else None,
        None if window is None else int(window),
        int(connections),
        min(1.0, float(loss)),
        timeout / 1000 if timeout else None,
    )
