"""Both stores keep the same promises."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from groupflow.control.sessions.model import MEMBERS, SESSIONS, Member, SessionRecord
from groupflow.store.interface import MemoryStore, Store, StoreError, Transaction
from groupflow.store.sqlite import SqliteStore


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else await SqliteStore.open(tmp_path / "s.db")
    yield made
    await made.close()


async def test_values_are_listed_by_prefix_in_order(store: Store) -> None:
    await store.commit(Transaction({"a/2": "two", "a/1": "one", "b/1": "other", "a": "short"}))
    assert list((await store.items("a/")).items()) == [("a/1", "one"), ("a/2", "two")]
    assert await store.get("b/1") == "other" and await store.get("c") is None
    await store.commit(Transaction({"a/1": None, "a/9": None, "a/2": "neu \u00fc"}))
    assert await store.items("a/") == {"a/2": "neu \u00fc"}


async def test_a_transaction_happens_whole_or_not_at_all(store: Store) -> None:
    assert await store.commit(Transaction({"k": "1"}, expect={"k": None}))
    assert not await store.commit(Transaction({"k": "2", "other": "x"}, expect={"k": None}))
    assert not await store.commit(Transaction({"k": "2", "other": "x"}, expect={"k": "1", "absent": "y"}))
    assert (await store.get("k"), await store.get("other")) == ("1", None)
    assert await store.commit(Transaction({"k": "2"}, expect={"k": "1"}))
    assert await store.get("k") == "2"


async def test_only_one_of_many_wins_a_compare_and_set(store: Store) -> None:
    tries = [store.commit(Transaction({"k": str(n)}, expect={"k": None})) for n in range(50)]
    assert sum(await asyncio.gather(*tries)) == 1


async def test_sqlite_outlives_its_process(tmp_path: Path) -> None:
    first = await SqliteStore.open(tmp_path / "s.db")
    await asyncio.gather(*(first.commit(Transaction({f"k/{n:03}": str(n)})) for n in range(300)))
    await first.close()
    second = await SqliteStore.open(tmp_path / "s.db")
    assert len(await second.items("k/")) == 300
    await second.close()


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_text("not a database, but long enough to be looked at " * 10)
    with pytest.raises(StoreError, match=r"s\.db: file is not a database; name a store, or a new file"):
        await SqliteStore.open(tmp_path / "s.db")
    with pytest.raises(StoreError, match="unable to open database file"):
        await SqliteStore.open(tmp_path / "no" / "folder" / "s.db")


async def test_who_reads_waits_for_nobody(tmp_path: Path) -> None:
    """Another process is in the middle of a transaction."""
    path = tmp_path / "s.db"
    store = await SqliteStore.open(path)
    assert await store.commit(Transaction({"k": "v"}))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with asyncio.timeout(2):
            assert await store.get("k") == "v"
            assert await store.items("") == {"k": "v"}
        writing = asyncio.create_task(store.commit(Transaction({"k": "w"})))
        await asyncio.sleep(0)
        other.execute("ROLLBACK")
        assert await writing
    await store.close()


async def test_a_disk_that_fails_is_told(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "s.db")
    other = sqlite3.connect(tmp_path / "s.db")
    other.execute("DROP TABLE groupflow")
    other.close()
    with pytest.raises(StoreError, match="no such table"):
        await store.commit(Transaction({"k": "v"}))
    await store.close()


def test_sessions_and_members_survive_the_store() -> None:
    record = SessionRecord(
        id=7,
        mode="n2n",
        policy="isolate",
        window=99,
        salt="ab",
        created=1,
        expires=5,
        last_member=3,
        isolated=frozenset({(1, 2)}),
    )
    assert SESSIONS.load("k", SESSIONS.dump(record)) == record
    member = Member(
        7, 2, "h\u00e9", "receiver", "h2", 5000, 1, frozenset({1, 4}), target=9, minimum=3, priority=2
    )
    assert MEMBERS.load("k", MEMBERS.dump(member)) == member
    former = '{"session":7,"id":2,"name":"m","role":"receiver","host":"h2","udp_port":5000,"joined":1}'
    assert MEMBERS.load("k", former).target is None, "of a store from before there were targets"


def test_a_damaged_value_is_named() -> None:
    record = SESSIONS.dump(SessionRecord(id=7, mode="n2n", policy="isolate", window=99, salt="ab", created=1))
    with pytest.raises(
        StoreError, match=r"sessions/7: mode: input should be 'e2e' or 'n2n'; delete the store"
    ):
        SESSIONS.load("sessions/7", record.replace("n2n", "p2p"))
