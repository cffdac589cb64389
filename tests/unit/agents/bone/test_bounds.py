"""Requests that a hub and a rim refuse, or let wait, when there are too many (docs/how-to/bone.md)."""

import asyncio
import socket
from pathlib import Path

import httpx
import pytest

from tests.support.bone import FAST, Node, bench, content, free_udp_port
from tests.support.waiting import until

WAITING = 1000
WISHES = 256
CLIENTS = 512
UNLIMITED = httpx.Limits(max_connections=None)


@pytest.mark.slow
async def test_a_thousand_files_wait_at_a_hub_and_wishes_beyond_are_refused(tmp_path: Path) -> None:
    (tmp_path / "outbox").mkdir()
    for n in range(WAITING + 3):
        (tmp_path / "outbox" / f"f{n}").write_bytes(b"x")
    async with bench(tmp_path) as (made, client):
        # Nobody takes part, and the hub calls for half a minute: nothing is through.
        hub = await made.hub(everything=True, patience=255)

        files = (await client.get(hub.url(""))).json()["files"]
        while sum(each["state"] == "idle" for each in files) > 3:
            await asyncio.sleep(0.05)
            files = (await client.get(hub.url(""))).json()["files"]
        left = [each["name"] for each in files if each["state"] == "idle"]
        assert len(left) == 3 and len(files) == WAITING + 3
        answer = await client.post(hub.url(left[0]))
        assert (answer.status_code, answer.json()["error"]) == (503, "too many files wait; try again")
        # In another group: it hears what the hub tells it alone.
        address = f"127.0.0.1:{hub.said('ready')[0].integer('port')}"
        rim = await made.rim(group=f"239.83.84.7:{free_udp_port()}", hub=address)
        wish = await client.get(rim.url(left[0]))
        assert wish.status_code == 503 and "too many files wait at the hub" in wish.json()["error"]
        assert (await rim.heard("answered")).text("answer") == "busy"


@pytest.mark.slow
async def test_a_rim_waits_for_so_many_files_and_no_more(tmp_path: Path) -> None:
    async with (
        bench(tmp_path) as (made, client),
        httpx.AsyncClient(timeout=30, trust_env=False, limits=UNLIMITED) as crowd,
        asyncio.TaskGroup() as tasks,
    ):
        rim = await made.rim(hub="127.0.0.1:9", miss_wait=3)
        wishes = [tasks.create_task(crowd.get(rim.url(f"f{n}"))) for n in range(WISHES)]
        await rim.heard("asking", WISHES)
        one_more = await client.get(rim.url("another"))
        assert (one_more.status_code, one_more.json()["error"]) == (
            503,
            "too many files are waited for; try again",
        )
        assert (await client.get(rim.url(""))).status_code == 200
        assert {(await wish).status_code for wish in wishes} == {504}, "the hub does not answer"
        assert (await client.get(rim.url("another"))).status_code == 504, "there is room again"


def waiting_to_be_accepted(address: str) -> int:
    """Connections that the kernel holds for the server at IP:PORT: a listener's receive queue."""
    port = int(address.rpartition(":")[2])
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{port:04X}") and fields[3] == "0A":
            return int(fields[4].partition(":")[2], 16)
    raise AssertionError(f"nobody listens at {address}")


def ask_and_read_nothing(node: Node, path: str) -> socket.socket:
    host, _, port = node.http.rpartition(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((host, int(port)))
    connection.sendall(f"GET /{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return connection


@pytest.mark.slow
async def test_five_hundred_clients_that_read_nothing_are_let_go_for_the_next_ones(tmp_path: Path) -> None:
    data = content(4_000_000)
    async with bench(tmp_path) as (made, client):
        rim, hub = await made.rim(client_wait=3), await made.hub()
        (hub.folder / "big").write_bytes(data)
        await rim.heard("stored")
        stuck = [ask_and_read_nothing(rim, "big") for _ in range(CLIENTS)]
        await until(lambda: waiting_to_be_accepted(rim.http) == 0, "each has a place")
        async with asyncio.TaskGroup() as tasks:
            next_ones = [tasks.create_task(client.get(rim.url("big"))) for _ in range(5)]
            await until(lambda: waiting_to_be_accepted(rim.http) == 5, "they wait for a place")
        assert all(answer.result().content == data for answer in next_ones)
        assert rim.peak_kb() < 300_000, "half a megabyte for each"
        for connection in stuck:
            connection.close()


async def test_orders_change_the_bound_of_a_rim_even_for_the_file_that_arrives(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        hub = await made.hub(rate=1_000_000)
        rim = await made.rim(orders=True)
        rim.order('{"bytes": 50000}')
        holds = await rim.heard("holds")
        assert [holds.integer(field) for field in ("files", "bytes", "bound")] == [0, 0, 50_000]
        (hub.folder / "small").write_bytes(content(10_000))
        await rim.heard("stored")
        (hub.folder / "large").write_bytes(content(40_000))
        await rim.heard("began", 2)  # a third of a second before its end
        rim.order('{"bytes": 20000}')
        failed = await rim.heard("failed")
        assert (failed.text("file"), failed.text("why")) == ("large", "it is larger than the rim's new bound")
        assert (await rim.heard("holds", 2)).integer("bytes") == 10_000, "the small one fits"
        rim.order('{"bytes": 9999}')
        assert (await rim.heard("evicted")).text("file") == "small"
        listing = (await client.get(rim.url(""))).json()
        assert (listing["files"], listing["bytes"], listing["limit"]) == ([], 0, 9999)
        rim.order('{"bytes": null}')
        assert (await rim.heard("holds", 4)).integer("bound") == 1 << 30


@pytest.mark.slow
async def test_a_restarted_rim_whose_bound_was_raised_keeps_its_files_at_first(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, _):
        hub, rim = await made.hub(), await made.rim()
        (hub.folder / "a").write_bytes(content(20_000))
        await rim.heard("stored")
        await rim.agent.stop()
        rim = await made.rim(orders=True, max_bytes=10_000)
        rim.order('{"bytes": null}')
        assert (await rim.heard("holds")).integer("bytes") == 20_000, "the controller may not be heard yet"
        rim.order('{"bytes": 30000}')
        holds = await rim.heard("holds", 2)
        assert (holds.integer("bytes"), holds.integer("bound")) == (20_000, 30_000)
        await rim.agent.stop()
        rim = await made.rim(orders=True, max_bytes=10_000)
        assert (await rim.heard("evicted")).text("file") == "a", "no controller: its own bound"


async def test_wrong_orders_are_refused_and_change_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, _):
        hub, rim = await made.hub(orders=True), await made.rim(orders=True)
        for line, text in (
            ('{"bytes": 0}', "order.bytes must be a number from 1 to 9223372036854775807"),
            ('{"bytes": 1, "files": 1}', "order.files is unknown"),
            ("{}", "order.bytes must be given; null is the value of the command line"),
            ("bytes", "order must be JSON"),
        ):
            rim.order(line)
            await until(lambda text=text: [e.text("text") for e in rim.said("order_refused")][-1:] == [text])
        hub.order('{"rate_bps": 999}')
        said = (await hub.heard("order_refused")).text("text")
        assert said == "order.rate_bps must be a number from 1000 to 100000000000"
        hub.order('{"rate_bps": null}')
        assert (await hub.heard("holds")).integer("bound") == FAST
        rim.order("x" * 5000)
        await rim.heard("order_refused", 5)
        assert "at most 4096 bytes" in rim.said("order_refused")[-1].text("text")
        assert rim.agent.returncode is None and not rim.said("holds")
