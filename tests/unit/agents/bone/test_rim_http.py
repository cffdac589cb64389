"""Answers to clients of a rim: files, parts of them, files that still arrive, files of the hub."""

import asyncio
import hashlib
import json
import socket
from pathlib import Path

import httpx
import pytest

from tests.support.bone import Bench, FalseHub, Node, bench, content
from tests.support.waiting import until

pytestmark = pytest.mark.slow

SIZE = 100_000
DATA = content(SIZE)
ETAG = f'"{hashlib.sha256(DATA).hexdigest()}"'


async def stored(made: Bench, rim: Node) -> Node:
    hub = await made.hub()
    (hub.folder / "a b.txt").write_bytes(DATA)
    await rim.heard("stored")
    return hub


async def test_whole_files_parts_and_conditions(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        rim = await made.rim()
        await stored(made, rim)
        url = rim.url("a%20b.txt")
        whole = await client.get(url)
        assert (whole.status_code, whole.content) == (200, DATA)
        assert {name: whole.headers[name] for name in ("etag", "accept-ranges", "content-type")} == {
            "etag": ETAG, "accept-ranges": "bytes", "content-type": "text/plain",
        }  # fmt: skip
        head = await client.head(url)
        assert (head.status_code, head.headers["content-length"], head.content) == (200, str(SIZE), b"")
        for headers, status, body in (
            ({"Range": "bytes=10-19"}, 206, DATA[10:20]),
            ({"Range": "bytes=-5"}, 206, DATA[-5:]),
            ({"Range": f"bytes={SIZE - 1}-"}, 206, DATA[-1:]),
            ({"Range": f"bytes={SIZE}-"}, 416, b""),
            ({"Range": "bytes=0-1,5-6"}, 200, DATA),
            ({"Range": "bytes=1-2", "If-Range": ETAG}, 206, DATA[1:3]),
            ({"Range": "bytes=1-2", "If-Range": '"other"'}, 200, DATA),
            ({"If-None-Match": ETAG}, 304, b""),
            ({"If-None-Match": '"other"'}, 200, DATA),
            ({"If-Match": '"other"'}, 412, b""),
        ):
            answer = await client.get(url, headers=headers)
            assert (answer.status_code, answer.content) == (status, body), headers
            assert answer.headers["etag"] == ETAG
        part = await client.get(url, headers={"Range": "bytes=10-19"})
        assert part.headers["content-range"] == f"bytes 10-19/{SIZE}"
        beyond = await client.get(url, headers={"Range": f"bytes={SIZE}-"})
        assert beyond.headers["content-range"] == f"bytes */{SIZE}"
        listing = (await client.get(rim.url(""))).json()
        assert [each["name"] for each in listing["files"]] == ["a b.txt"] and listing["bytes"] == SIZE
        assert (await client.post(url)).status_code == 405


async def test_names_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        rim = await made.rim()
        (tmp_path / "secret").write_text("secret")
        for path in (
            "..%2Fsecret",
            "%2e%2e%2fsecret",
            ".groupflow%2Findex.json",
            ".groupflow",
            "a%00b",
            "%ff",
        ):
            answer = await client.get(rim.url(path))
            assert answer.status_code == 400 and answer.json()["error"].startswith("name: "), path
        host, _, port = rim.http.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /../secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")  # as no client would
        assert (await reader.read()).startswith(b"HTTP/1.1 400")
        writer.close()


@pytest.mark.slow
async def test_a_miss_asks_the_hub_once_for_all_and_streams_what_comes(tmp_path: Path) -> None:
    (tmp_path / "outbox").mkdir()
    data = content(600_000)
    (tmp_path / "outbox" / "a.bin").write_bytes(data)
    async with bench(tmp_path) as (made, client):
        hub = await made.hub(rate=4_000_000)
        rim = await made.rim(hub=f"127.0.0.1:{hub.said('ready')[0].integer('port')}")

        async def get() -> bytes:
            return (await client.get(rim.url("a.bin"))).content

        async with client.stream("GET", rim.url("a.bin")) as first:
            assert first.status_code == 200 and first.headers["content-length"] == str(len(data))
            parts = first.aiter_bytes()
            got = await anext(parts)
            assert not rim.said("stored"), "it streams"
            others = [asyncio.create_task(get()) for _ in range(5)]
            late = await client.get(rim.url("a.bin"), headers={"Range": "bytes=1000-1999"})
            assert (late.status_code, late.content) == (206, data[1000:2000])
            async for part in parts:
                got += part
        assert got == data
        assert await asyncio.gather(*others) == [data] * 5
        assert len(hub.said("asked")) == len(rim.said("asking")) == 1
        assert (await client.get(rim.url("none"))).status_code == 404
        assert (await client.get(rim.url("a.bin"))).content == data
        assert len(hub.said("sent")) == 1


async def test_what_is_no_bytes_of_the_announced_file_is_never_a_whole_answer(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        rim = await made.rim()
        with FalseHub(made.group) as false:
            false.control(1, b"a", 2000, hashlib.sha256(b"something else").digest())
            await rim.heard("began")
            false.data(1, 1, 0, bytes(1000))
            async with client.stream("GET", rim.url("a")) as answer:
                assert answer.headers["content-length"] == "2000"
                false.data(1, 0, 1000, bytes(1000))
                with pytest.raises(httpx.RemoteProtocolError):
                    await answer.aread()
            assert "SHA-256" in (await rim.heard("failed")).text("why")
            assert not (rim.folder / "a").exists()
            # Names of a hub that is no hub.
            false.control(2, b"../b", 10, bytes(32))
            false.control(3, b".groupflow", 10, bytes(32))
            false.control(4, b"c", 1 << 60, bytes(32))
            false.control(5, b"good", 4, hashlib.sha256(b"good").digest())
            false.data(5, 0, 0, b"good")
            await rim.heard("stored")
        assert {path.name for path in rim.folder.iterdir()} == {".groupflow", "good"}
        assert not (tmp_path / "b").exists()


async def test_each_rim_of_a_host_is_answered_by_the_hub(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        rims = [await made.rim(f"rim{number}") for number in range(4)]
        await made.hub()
        for rim in rims:
            assert (await client.get(rim.url("none"))).status_code == 404
            assert (await rim.heard("answered")).text("answer") == "unknown"


@pytest.mark.slow
async def test_a_hub_that_is_silent_or_unknown_is_said_to_be(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        alone, deaf = await made.rim("alone"), await made.rim("deaf", hub="127.0.0.1:9", miss_wait=1)
        for rim, text in ((alone, "no hub is heard"), (deaf, "has not come yet")):
            answer = await client.get(rim.url("a"))
            assert answer.status_code == 504 and text in answer.json()["error"]


async def test_a_miss_waits_for_a_hub_that_has_not_sent_anything_yet(tmp_path: Path) -> None:
    (tmp_path / "outbox").mkdir()
    (tmp_path / "outbox" / "a").write_bytes(DATA)
    async with bench(tmp_path) as (made, client):
        rim = await made.rim()
        wish = asyncio.create_task(client.get(rim.url("a")))
        await rim.heard("asking")
        await made.hub()
        assert (await wish).content == DATA


async def test_a_restart_keeps_the_files_and_what_was_touched_is_fetched_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        rim = await made.rim()
        hub = await stored(made, rim)
        await rim.agent.stop()
        rim = await made.rim(hub=f"127.0.0.1:{hub.said('ready')[0].integer('port')}")
        assert (await client.get(rim.url("a%20b.txt"))).content == DATA
        assert len(hub.said("asked")) == 0
        kept = rim.folder / "a b.txt"
        kept.write_bytes(b"x" + DATA[1:])
        answer = await client.get(rim.url("a%20b.txt"))
        assert answer.content == DATA, "from the hub"
        assert (await rim.heard("damaged")).text("file") == "a b.txt"
        assert kept.read_bytes() == DATA and len(hub.said("asked")) == 1
        index = json.loads((rim.folder / ".groupflow" / "index.json").read_text())
        assert [each["sha256"] for each in index["files"]] == [ETAG.strip('"')]


@pytest.mark.slow
async def test_clients_that_read_nothing_harm_nobody(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        rim = await made.rim()
        hub = await made.hub()
        (hub.folder / "big").write_bytes(content(8_000_000))
        await rim.heard("stored")
        host, _, port = rim.http.rpartition(":")
        idle: list[socket.socket] = []
        for _ in range(20):
            connection = socket.create_connection((host, int(port)))
            connection.sendall(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
            idle.append(connection)
        assert (await client.get(rim.url("big"))).content == content(8_000_000)
        assert rim.peak_kb() < 100_000, "bounded by what a client has waiting, not by files"
        for connection in idle:
            connection.close()
        (hub.folder / "next").write_bytes(DATA)
        await rim.heard("stored", 2)
        await until(lambda: (rim.folder / "next").read_bytes() == DATA, "it goes on")
