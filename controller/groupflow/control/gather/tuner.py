"""From a round measured by the server to its new settings: readings, the policy's settings, and the
changes."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from groupflow.agents.events import Event, EventError
from groupflow.agents.gather.service import Message
from groupflow.control.gather.clients import ClientList, Registered
from groupflow.control.gather.model import Limits, Policy, Reading, Readings, Setting, Settings
from groupflow.control.gather.policies import Rounds

log = logging.getLogger(__name__)


class Measured(NamedTuple):
    """One client in a round, as gfagent reports it (docs/reference/gather.md)."""

    client: str
    reading: Reading
    fields: Mapping[str, object]
    """all fields of the report"""


class Tuner:
    """The state between rounds: who may send, the targets, the policy's memory, and the settings given.

    The server remembers the settings of absent clients, and counts their windows, which are the least that
    a connection can have. So the sum of windows stays within the buffer also when a client comes.
    """

    def __init__(self, listed: ClientList, policy: Policy[Any]) -> None:
        self.registered: dict[str, Registered] = {each.client.name: each for each in listed.clients}
        self.measured: dict[str, Measured] = {}
        """the reports of clients that have a stream"""
        self.settings: dict[str, Setting] = {}
        """the settings given to clients last, as far as is known"""
        self.round = 0
        self.seconds = 0.0
        """duration of the last tuning"""
        self.problem: str | None = None
        """why the last settings are not those that were wanted: the policy failed, or the server refused"""
        self.set_limits(listed.limits)
        self.set_policy(policy)

    def set_limits(self, limits: Limits) -> None:
        self.limits = limits
        self._away = Setting(limits.segment, 1)
        self._is_told = False

    def set_policy(self, policy: Policy[Any]) -> None:
        """The policy begins without a memory."""
        self._rounds = Rounds(policy)

    def put(self, registered: Registered) -> None:
        """Adds a client, or changes its token, target, minimum or priority, from the next round on."""
        before = self.registered.get(registered.client.name)
        self._is_told &= before is not None and before.token_sha256 == registered.token_sha256
        self.registered[registered.client.name] = registered

    def remove(self, name: str) -> None:
        """Ends a client's right to send, from the next round on."""
        del self.registered[name]
        self.measured.pop(name, None)
        self._is_told = False

    async def direct(self, event: Event, *, repeat: bool, refused: str | None) -> Message | None:
        """The tuner of a server in this process, as its `Director`."""
        return self.take(event, repeat=repeat, refused=refused)

    def take(self, event: Event, *, repeat: bool = False, refused: str | None = None) -> Message | None:
        """The message to the server after its `ready` or `round` event; None: nothing changes.

        `repeat`: the server may not have carried out the last message, so this one has everything.
        `refused`: the server's reason for not carrying it out. Raises EventError.
        """
        started = perf_counter()
        found = [each for each in measurements(event) if each.client in self.registered]
        if repeat:
            self._is_told = False
        self.round = event.integer("round") if event.name == "round" else 0
        self.measured = {each.client: each for each in found}
        settings, failure = self._tune({each.client: each.reading for each in found})
        self._report(failure or refused)
        message = self._tell(settings)
        if refused is not None and message is not None:
            # Whatever was wrong with the settings, a client that was removed loses its right to send.
            self.settings = {}
            message = {"id": self.round, "clients": self._listed()}
        self.seconds = perf_counter() - started
        return message

    def _tune(self, readings: Readings) -> tuple[Settings, str | None]:
        """The policy's settings; if it fails, those of before, and why. Absent clients keep the least."""
        here = [self.registered[name].client for name in readings]
        kept = self.limits.segment * (len(self.registered) - len(here))
        limits = replace(self.limits, buffer=self.limits.buffer - kept)
        return self._rounds.tune(here, readings, limits, self.settings)

    def _report(self, problem: str | None) -> None:
        if problem is not None and problem != self.problem:
            log.error("round=%d %s", self.round, problem)
        self.problem = problem

    def _tell(self, settings: Settings) -> Message | None:
        """The message with all that has changed; None: nothing has."""
        before = self.settings if self._is_told else {}
        # A client that sends and has no setting keeps that of its server.
        self.settings = {
            name: settings.get(name, self._away)
            for name in self.registered
            if name in settings or name not in self.measured
        }
        changes = [
            {"client": name, "window": setting.window, "connections": setting.connections}
            for name, setting in self.settings.items()
            if setting != before.get(name)
        ]
        if self._is_told:
            return {"id": self.round, "tune": changes} if changes else None
        self._is_told = True
        bounds = {"max_connections": self.limits.connections}
        if self.limits.buffer > 0:
            bounds["buffer"] = self.limits.buffer
        return {"id": self.round, **bounds, "clients": self._listed(), "tune": changes}

    def _listed(self) -> list[dict[str, str]]:
        return [{"client": name, "token_sha256": each.token_sha256} for name, each in self.registered.items()]


_Amount: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Row(BaseModel):
    """The fields read of each client."""

    model_config = ConfigDict(strict=True)
    client: str
    throughput_bps: _Amount
    connections: _Amount
    rtt_ms: _Amount | None = None
    server_rtt_ms: _Amount | None = None
    rto_ms: _Amount | None = None
    window: _Amount | None = None
    loss_ratio: _Amount | None = None

    def reading(self) -> Reading:
        """For the policy, from gfagent's units: bit/s, ms, bytes."""
        rtt_ms = self.rtt_ms or self.server_rtt_ms
        return Reading(
            self.throughput_bps,
            rtt_ms / 1000 if rtt_ms else None,
            None if self.window is None else int(self.window),
            int(self.connections),
            min(1.0, self.loss_ratio or 0.0),
            self.rto_ms / 1000 if self.rto_ms else None,
        )


_ROWS = TypeAdapter(list[_Row])  # all at once: a thousand clients are checked with a call


def measurements(event: Event) -> Sequence[Measured]:
    """The clients of a `round` event; none of `ready`. Raises EventError naming the field."""
    clients: Any = event.fields.get("clients") if event.name == "round" else []
    try:
        rows = _ROWS.validate_python(clients)
    except ValidationError as error:
        raise EventError(_problem(error.errors()[0])) from None
    return [Measured(row.client, row.reading(), form) for row, form in zip(rows, clients, strict=True)]


def _problem(first: ErrorDetails) -> str:
    place, value = first["loc"], None if first["type"] == "missing" else first["input"]
    if len(place) < 2:
        where = f"[{place[0]}]" if place else ""
        return f"round.clients{where}: {value!r} is no {'object' if place else 'list'}"
    kind = "name" if place[1] == "client" else "number of 0 or more"
    return f"round.clients[{place[0]}].{place[1]}: {value!r} is no {kind}"
