"""Requests that a hub and a rim refuse, or let wait, when there are too many (docs/how-to/bone.md)."""

import asyncio
import socket
from pathlib import Path

import httpx
import pytest

from tests.support.bone import Node, bench, content, free_udp_port
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
