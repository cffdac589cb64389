"""The desired entries of one switch, and the keys changed since they were last taken.

Entries come from owners: the topology, and each stream. An entry that several owners want, like the address
of a host in two sessions, stays until the last of them gives it up.
"""

import asyncio
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

from groupflow.p4rt.entries import Entries, Key, Value


class DesiredState:
    """Written by the session manager, read by the task of the switch."""

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
