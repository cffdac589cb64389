"""The store of values that must outlive the controller, by keys, as in etcd.

A key is a path (`members/7/3`), a value a JSON text. A decision of the controller is in the store before it
is answered, so that a controller that starts again carries on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from groupflow.errors import UnavailableError

Writes: TypeAlias = Mapping[str, str | None]
"""New values by key; None deletes."""


class StoreError(UnavailableError):
    """The store cannot be used. The text is one line with the cure."""


@dataclass(frozen=True)
class Transaction:
    """Writes carried out all or none, if every key of `expect` has the value given (None: does not exist)."""

    writes: Writes
    expect: Writes = field(default_factory=dict[str, str | None])


class Store(Protocol):
    async def get(self, key: str) -> str | None: ...

    async def items(self, prefix: str) -> dict[str, str]:
        """All values whose key begins with `prefix`, in the order of their keys."""
        ...

    async def commit(self, transaction: Transaction) -> bool:
        """True: done, and outlives this process. False: an expected value differed, nothing is done."""
        ...

    async def close(self) -> None: ...


class MemoryStore:
    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self._values.get(key)

    async def items(self, prefix: str) -> dict[str, str]:
        return {key: self._values[key] for key in sorted(self._values) if key.startswith(prefix)}

    async def commit(self, transaction: Transaction) -> bool:
        if any(self._values.get(key) != value for key, value in transaction.expect.items()):
            return False
        for key, value in transaction.writes.items():
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
        return True

    async def close(self) -> None:
        pass
