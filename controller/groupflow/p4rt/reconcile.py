"""Plans changes from a switch's entries to the desired ones, in an order that never breaks a running stream.

A stream's registers keep the acknowledgements of its branches, and indices and branch numbers are used again
when their owners have left. So before a branch begins to count its register is reset, by the pipeline itself:

    first    new streams, with no branch counting yet; leaving branches are no longer accepted
    resets   a RESET through the pipeline for each new stream or branch
    then     everything else: branches begin to count, data is replicated to them
"""

import asyncio
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

from groupflow.p4rt.entries import (
    DELETE,
    GROUPS,
    INSERT,
    MODIFY,
    TABLE_ORDER,
    Action,
    Change,
    Entries,
    Key,
    Value,
)


class DesiredState:
    """The desired entries of one switch, and the keys changed since they were last taken. The session manager
    writes them, the task of the switch reads them.

    Entries come from owners: the topology, and each stream. An entry that several owners want, like the
    address of a host in two sessions, stays until the last of them gives it up.
    """

    def __init__(self) -> None:
        self.entries: Entries = {}
        self.generation = 0
        """number that grows with every change"""
        self.changed = asyncio.Event()
        self._owned: dict[Hashable, Mapping[Key, Value]] = {}
        self._owners: Counter[Key] = Counter()
        self._dirty: set[Key] = set()

    def replace(self, owner: Hashable, entries: Mapping[Key, Value]) -> list[Key]:
        """Sets all entries that one owner wants. Returns the keys that no owner wants any more."""
        before = self._owned.pop(owner, {})
        if entries:
            self._owned[owner] = entries
        gone: list[Key] = []
        for key, value in entries.items():
            if key not in before:
                self._owners[key] += 1
            if self.entries.get(key) != value:
                self.entries[key] = value
                self._dirty.add(key)
        for key in before.keys() - entries.keys():
            self._owners[key] -= 1
            if not self._owners[key]:
                del self._owners[key], self.entries[key]
                self._dirty.add(key)
                gone.append(key)
        if self._dirty:
            self.generation += 1
            self.changed.set()
        return gone

    def mark(self, keys: Iterable[Key]) -> None:
        """Marks keys as changed: the switch may hold something else."""
        self._dirty.update(keys)
        self.changed.set()

    def take_changes(self) -> set[Key]:
        """The keys changed since the last call."""
        self.changed.clear()
        taken, self._dirty = self._dirty, set()
        return taken


ALL_BRANCHES = 0xFF
"""Branch number that stands for a whole stream in a RESET."""


class Reset(NamedTuple):
    """A register to set to `nothing acknowledged`: of one branch, or of a whole stream."""

    session: int
    source: int
    branch: int


class Plan(NamedTuple):
    first: list[Change]
    resets: list[Reset]
    then: list[Change]


def plan(installed: Mapping[Key, Value], desired: Mapping[Key, Value], keys: Iterable[Key]) -> Plan:
    """The changes that make each of `keys` as desired."""
    changes = [change for key in keys if (change := _change(key, installed.get(key), desired.get(key)))]
    fresh = {change.key.match for change in changes if _is_fresh_stream(change, installed)}
    resets = [Reset(session, source, ALL_BRANCHES) for session, source in sorted(fresh)]
    resets += sorted(_branch_resets(changes, fresh))
    first: list[Change] = []
    then: list[Change] = []
    for change in changes:
        if change.key.table == "streams" and change.key.match in fresh:
            first.append(change._replace(value=_inactive(change.value)))
            if _inactive(change.value) != change.value:
                then.append(Change(MODIFY, change.key, change.value))
        elif change.kind == DELETE and change.key.table == "branches":
            first.append(change)
        elif fresh and change.kind != DELETE and change.key.table in ("neighbours", GROUPS):
            first.append(change)  # a stream's groups, with their members, come before the stream
        else:
            then.append(change)
    return Plan(_ordered(first), resets, _ordered(then))


def _change(key: Key, now: Value | None, wanted: Value | None) -> Change | None:
    if now == wanted:
        return None
    if wanted is None:
        return Change(DELETE, key, None)
    return Change(INSERT if now is None else MODIFY, key, wanted)


def _is_fresh_stream(change: Change, installed: Mapping[Key, Value]) -> bool:
    """Whether a stream is new to the switch, or moved to other registers."""
    if change.key.table != "streams" or not isinstance(change.value, Action):
        return False
    now = installed.get(change.key)
    return not isinstance(now, Action) or now.params["index"] != change.value.params["index"]


def _branch_resets(changes: list[Change], fresh: set[tuple[int, ...]]) -> set[Reset]:
    """Resets for new branches of streams that are not new."""
    return {
        Reset(change.key.match[0], change.key.match[1], change.value.params["branch"])
        for change in changes
        if change.key.table == "branches"
        and isinstance(change.value, Action)
        and change.key.match[:2] not in fresh
    }


def _inactive(value: Value | None) -> Value | None:
    if not isinstance(value, Action):
        return value
    return Action(value.name, {**value.params, "active": 0})


def _ordered(changes: list[Change]) -> list[Change]:
    """The changes with each entry after those it refers to, and before them when they are deleted."""
    made = [change for change in changes if change.kind != DELETE]
    gone = [change for change in changes if change.kind == DELETE]
    made.sort(key=lambda change: TABLE_ORDER.index(change.key.table))
    gone.sort(key=lambda change: -TABLE_ORDER.index(change.key.table))
    return made + gone
