"""The store in one SQLite file, which several processes of a machine may have open.

One thread owns the database. Transactions that wait while it works are committed together, each all or none:
a thousand joins at once cost few commits.
"""

import asyncio
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
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


class _Done(NamedTuple):
    future: "asyncio.Future[Any]"
    result: object
    error: sqlite3.Error | ValueError | None


class SqliteStore:
    """A store in a file. Made by `open`. Must be closed."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._loop = loop
        self._jobs: queue.Queue[_Job | None] = queue.Queue(_BACKLOG)
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._opened: asyncio.Future[None] = loop.create_future()

    @staticmethod
    async def open(path: Path) -> "SqliteStore":
        """Opens or creates the file. Raises StoreError."""
        store = SqliteStore(path, asyncio.get_running_loop())
        store._thread.start()
        try:
            await store._opened
        except sqlite3.Error as error:
            raise StoreError(f"{path}: {error}; name a store, or a new file", Kind.INVALID) from None
        return store

    async def get(self, key: str) -> str | None:
        def work(database: sqlite3.Connection) -> str | None:
            row = database.execute("SELECT value FROM groupflow WHERE key = ?", (key,)).fetchone()
            return row[0] if row else None

        return await self._do(work)

    async def items(self, prefix: str) -> dict[str, str]:
        def work(database: sqlite3.Connection) -> dict[str, str]:
            end = prefix + "\U0010ffff"
            rows = database.execute(
                "SELECT key, value FROM groupflow WHERE key >= ? AND key < ? ORDER BY key", (prefix, end)
            )
            return dict(rows.fetchall())

        return await self._do(work)

    async def commit(self, transaction: Transaction) -> bool:
        return await self._do(lambda database: _commit(database, transaction), writes=True)

    async def close(self) -> None:
        """Carries out the waiting jobs, then ends the thread."""
        if self._thread.is_alive():
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)

    async def _do(self, work: Callable[[sqlite3.Connection], _Result], *, writes: bool = False) -> _Result:
        done: asyncio.Future[object] = self._loop.create_future()
        try:
            self._jobs.put_nowait(_Job(work, done, writes))
        except queue.Full:
            raise StoreError(f"{self._path}: {_BACKLOG} writes wait already; the disk is too slow") from None
        try:
            return cast(_Result, await done)
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {error}; {_cure(error)}") from None

    def _run(self) -> None:
        """The body of the thread, the only user of the database."""
        try:
            _keep_private(self._path)
            database = sqlite3.connect(self._path, isolation_level=None)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute(_SCHEMA)
        except sqlite3.Error as error:
            self._answer([_Done(self._opened, None, error)])
            return
        self._answer([_Done(self._opened, None, None)])
        with closing(database):
            while self._work(database, self._next_jobs()):
                pass

    def _next_jobs(self) -> list[_Job | None]:
        """At least one job, and all others that wait."""
        jobs = [self._jobs.get()]
        with suppress(queue.Empty):
            while jobs[-1] is not None and len(jobs) < _GROUP:
                jobs.append(self._jobs.get_nowait())
        return jobs

    def _work(self, database: sqlite3.Connection, jobs: list[_Job | None]) -> bool:
        """Carries out jobs in one commit. False: one of them says to end."""
        todo = [job for job in jobs if job is not None]
        try:
            # A batch of reads only needs no write lock, so it waits for no other process.
            database.execute("BEGIN IMMEDIATE" if any(job.writes for job in todo) else "BEGIN")
            done = [_attempt(database, job) for job in todo]
            database.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            done = [_Done(job.future, None, error) for job in todo]
        self._answer(done)
        return None not in jobs

    def _answer(self, done: list[_Done]) -> None:
        """Wakes all waiting callers in one step of the loop."""
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            self._loop.call_soon_threadsafe(_resolve, done)


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


def _resolve(done: list[_Done]) -> None:
    for future, result, error in done:
        if future.cancelled():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)


def _attempt(database: sqlite3.Connection, job: _Job) -> _Done:
    """Carries out one job, which leaves no change when it fails."""
    database.execute("SAVEPOINT job")
    try:
        result = job.work(database)
    except (sqlite3.Error, ValueError) as error:  # ValueError: text that is no Unicode
        database.execute("ROLLBACK TO job")
        return _Done(job.future, None, error)
    finally:
        database.execute("RELEASE job")
    return _Done(job.future, result, None)


def _commit(database: sqlite3.Connection, transaction: Transaction) -> bool:
    for key, expected in transaction.expect.items():
        row = database.execute("SELECT value FROM groupflow WHERE key = ?", (key,)).fetchone()
        if (row[0] if row else None) != expected:
            return False
    gone = [(key,) for key, value in transaction.writes.items() if value is None]
    database.executemany("DELETE FROM groupflow WHERE key = ?", gone)
    database.executemany(
        "INSERT INTO groupflow VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [(key, value) for key, value in transaction.writes.items() if value is not None],
    )
    return True
