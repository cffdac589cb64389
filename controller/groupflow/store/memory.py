"""A store in memory: for tests, and for a controller whose state may end with its process."""

from groupflow.store.interface import Transaction


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
