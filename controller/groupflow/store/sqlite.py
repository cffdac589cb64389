"""The store in one SQLite file, which several processes of a machine may have open.

One thread owns the database. Transactions that wait while it works are committed together, each all or none:
a thousand joins at once cost few commits.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from groupflow.errors import Kind
from groupflow.store.interface import StoreError, Transaction

_SCHEMA = "CREATE TABLE IF NOT EXISTS groupflow (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_BACKLOG = 65536
"""Jobs that may wait; with more the store refuses, rather than grow."""
_GROUP = 256
"""Most jobs in one commit."""


_Result = TypeVar("_Result")


class _Job(NamedTuple):
    work: Callable[[sqlite3.Connection], object]
    future: "asyncio.Future[Any]"
    writes: bool


class SqliteStore:
    """A store in a file. Made by `open`. Must be closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "store")
        self._database: sqlite3.Connection
        self._jobs: list[_Job] = []
        self._working: asyncio.Task[None] | None = None

    @staticmethod
    async def open(path: Path) -> "SqliteStore":
        """Opens or creates the file. Raises StoreError."""
        store = SqliteStore(path)
        try:
            store._database = await store._in_thread(_opened, path)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: {error}; name a store, or a new file", Kind.INVALID) from None
        return store

    async def get(self, key: str) -> str | None:
        return await self._do(lambda database: _value(database, key))

    async def items(self, prefix: str) -> dict[str, str]:
        query = "SELECT key, value FROM groupflow WHERE key >= ? AND key < ? ORDER BY key"
        span = (prefix, prefix + "\U0010ffff")
        return await self._do(lambda database: dict(database.execute(query, span).fetchall()))

    async def commit(self, transaction: Transaction) -> bool:
        return await self._do(lambda database: _commit(database, transaction), writes=True)

    async def close(self) -> None:
        """Carries out the waiting jobs, then ends the thread."""
        if self._working is not None:
            await self._working
        await self._in_thread(self._database.close)
        self._thread.shutdown()

    async def _do(self, work: Callable[[sqlite3.Connection], _Result], *, writes: bool = False) -> _Result:
        if len(self._jobs) >= _BACKLOG:
            raise StoreError(f"{self._path}: {_BACKLOG} writes wait already; the disk is too slow")
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._jobs.append(_Job(work, done, writes))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work(), name="store")
        try:
            return cast(_Result, await done)
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {error}; {_cure(error)}") from None

    async def _work(self) -> None:
        """Carries out all jobs: those that come while the thread works wait for its next commit."""
        while self._jobs:
            jobs, self._jobs = self._jobs[:_GROUP], self._jobs[_GROUP:]
            results = await self._in_thread(_carry_out, self._database, jobs)
            for (_, future, _), result in zip(jobs, results, strict=True):
                if future.cancelled():
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    async def _in_thread(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)


def _opened(path: Path) -> sqlite3.Connection:
    _keep_private(path)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(_SCHEMA)
    return database


def _keep_private(path: Path) -> None:
    """Lets only the owner read the file, which has secrets; SQLite gives those beside it the same mode."""
    with suppress(OSError):  # SQLite tells of a path that cannot be used, and how
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            if each.exists() and each.stat().st_mode & 0o077:
                each.chmod(0o600)


def _cure(error: sqlite3.Error) -> str:
    locked = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return "end the stopped process that holds the lock" if locked else "see that the disk has room"


def _carry_out(database: sqlite3.Connection, jobs: Sequence[_Job]) -> list[object]:
    """The results or the errors of jobs, carried out in one commit."""
    try:
        # A batch of reads only needs no write lock, so it waits for no other process.
        database.execute("BEGIN IMMEDIATE" if any(job.writes for job in jobs) else "BEGIN")
        results = [_attempt(database, job) for job in jobs]
        database.execute("COMMIT")
        return results
    except sqlite3.Error as error:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        return [error] * len(jobs)


def _attempt(database: sqlite3.Connection, job: _Job) -> object:
    """Carries out one job, which leaves no change when it fails."""
    database.execute("SAVEPOINT job")
    try:
        return job.work(database)
    except (sqlite3.Error, ValueError) as error:  # ValueError: text that is no Unicode
        database.execute("ROLLBACK TO job")
        return error
    finally:
        database.execute("RELEASE job")


def _value(database: sqlite3.Connection, key: str) -> str | None:
    row = database.execute("SELECT value FROM groupflow WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def _commit(database: sqlite3.Connection, transaction: Transaction) -> bool:
    if any(_value(database, key) != expected for key, expected in transaction.expect.items()):
        return False
    gone = [(key,) for key, value in transaction.writes.items() if value is None]
    database.executemany("DELETE FROM groupflow WHERE key = ?", gone)
    database.executemany(
        "INSERT INTO groupflow VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [(key, value) for key, value in transaction.writes.items() if value is not None],
    )
    return True
