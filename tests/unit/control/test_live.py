"""Frames for the page: rates of counters, bounded viewers, switches that do not answer, the HTTP routes."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from groupflow.agents.api_token import headers
from groupflow.control.live.frames import Meter, Stats
from groupflow.control.live.sampler import HISTORY, MOST_VIEWERS, WAITING, Live
from groupflow.control.live.sockets import SwitchSockets, carriers
from tests.support.api import served
from tests.support.world import world

pytestmark = pytest.mark.slow


def statistics(sent: int, *, uptime_ns: int = 0, late_ns: int = 0, began_ns: int = 0) -> Stats:
    port = {
        "port": 3,
        "up": True,
        "in": {"bytes": 0, "drops": {"loss": 2}, "queue": None},
        "out": {"bytes": sent, "drops": {"queue_full": 1}, "queues": [{"packets": 4}, {"packets": 5}]},
    }
    window = {"start_ns": began_ns, "p99_ns": late_ns, "kernel_drops": 0}
    lateness = {"limit_ns": 10**7, "windows": [window]}
    form = {"ports": [port], "drops": {"ingress": 0}, "lateness": lateness, "uptime_ns": uptime_ns}
    return Stats.model_validate(form)


def test_counters_become_rates() -> None:
    meter = Meter()
    assert meter.switch("s1", statistics(1000), 10**9)["ports"][3]["out"] == 0
    found = meter.switch("s1", statistics(126_000), 2 * 10**9)
    assert found["ports"][3]["out"] == 1_000_000
    assert found["ports"][3]["queue"] == 9
    assert found["drops"] == {"loss": 2, "queue_full": 1}
    restarted = meter.switch("s1", statistics(0), 3 * 10**9)
    assert restarted["ports"][3]["out"] == 0


@pytest.mark.parametrize(
    ("late_ns", "now_ns", "lagging"),
    [(2 * 10**7, 10**9, True), (10**6, 10**9, False), (2 * 10**7, 10**10, False)],
)
def test_a_switch_is_slow_by_its_latest_window(late_ns: int, now_ns: int, lagging: bool) -> None:
    assert Meter().switch("s1", statistics(0, late_ns=late_ns), now_ns)["lagging"] is lagging


async def test_only_who_watches_costs_and_all_get_the_same() -> None:
    async with world() as w:
        live = Live(w.running)
        tasks = {task.get_name() for task in asyncio.all_tasks()}
        assert "live" not in tasks
        async with aclosing(live.frames()) as one, aclosing(live.frames()) as other:
            first = await anext(one)
            assert await anext(other) == first
            assert "live" in {task.get_name() for task in asyncio.all_tasks()}
        await asyncio.sleep(0)
        assert "live" not in {task.get_name() for task in asyncio.all_tasks()}
        frame = json.loads(first)
        assert frame["switches"]["s1"]["state"] == "up"
        assert {event["event"] for event in frame["events"]} >= {"switch-up"}


async def test_a_viewer_that_does_not_read_misses_the_oldest() -> None:
    async with world() as w:
        live = Live(w.running)
        async with aclosing(live.frames()) as watching:
            await anext(watching)
            (viewer,) = live._viewers  # pyright: ignore[reportPrivateUsage]
            for number in range(WAITING + 5):
                viewer.tell(str(number))
            assert await anext(watching) == "5"


async def test_a_new_viewer_gets_the_last_minute_and_no_more() -> None:
    async with world() as w:
        live = Live(w.running)
        async with aclosing(live.frames()) as first:
            await anext(first)
            live._history.extend(map(str, range(2 * HISTORY)))  # pyright: ignore[reportPrivateUsage]
            async with aclosing(live.frames()) as late:
                got = [await anext(late) for _ in range(HISTORY)]
        assert got == [str(number) for number in range(HISTORY, 2 * HISTORY)]


async def test_too_many_viewers_are_refused_in_one_line() -> None:
    async with (
        served() as (_, _, url),
        httpx.AsyncClient(base_url=url, limits=httpx.Limits(), timeout=20, headers=headers(url)) as client,
        asyncio.TaskGroup() as tasks,
    ):
        seen = asyncio.Semaphore(0)

        async def watch() -> None:
            async with client.stream("GET", "/v1/live") as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        seen.release()

        watching = [tasks.create_task(watch()) for _ in range(MOST_VIEWERS)]
        for _ in watching:
            await seen.acquire()
        refused = await client.get("/v1/live")
        for each in watching:
            each.cancel()
        assert (refused.status_code, refused.json()["error"].split(",")[0]) == (
            503,
            "64 viewers watch already",
        )


async def test_of_viewers_that_come_at_once_no_more_watch_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupflow.control.live.sampler.MOST_VIEWERS", 1)
    async with world() as w:
        live = Live(w.running)
        assert not live.crowded, "when the first and the second ask"
        async with aclosing(live.frames()) as first, aclosing(live.frames()) as second:
            await anext(first)
            assert [text async for text in second] == []


async def test_page_and_topology_come_from_the_controller() -> None:
    async with served() as (_, _, url), httpx.AsyncClient(base_url=url, headers=headers(url)) as client:
        page = await client.get("/")
        assert page.headers["content-security-policy"].startswith("default-src 'self'")
        for address in ("/page/main.js", "/page/style.css"):
            answer = await client.get(address)
            assert answer.is_success, address
            assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")
            assert "https://" not in answer.text
        form = (await client.get("/v1/topology")).json()
        assert form["switches"] == ["s1", "s2", "s3"]
        assert {"name": "c1", "ip": "10.0.101.1", "switch": "s1", "agent": True} in form["hosts"]
        assert form["links"][1]["rate"] == 10_000_000


@pytest.mark.parametrize("answer", [b"", b"nonsense\n", b'{"ports":[{"port":"x"}]}\n', b"[" * 100 + b"\n"])
async def test_a_switch_that_answers_nonsense_has_no_statistics(tmp_path: Path, answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        writer.close()

    sockets = SwitchSockets(tmp_path)
    assert await sockets.stats("s1") is None, "there is no socket"
    async with await asyncio.start_unix_server(serve, tmp_path / "s1.sock"):
        assert await sockets.stats("s1") is None
        assert await sockets.stats("s1") is None
    sockets.close()


async def test_a_switch_that_does_not_answer_holds_nobody_up(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    sockets = SwitchSockets(tmp_path)
    async with await asyncio.start_unix_server(serve, tmp_path / "s1.sock"):
        async with asyncio.timeout(5):
            assert await sockets.stats("s1") is None
        sockets.close()


def test_a_frame_has_links_as_they_are(tmp_path: Path) -> None:
    link = {"rate_bps": None, "delay_ns": 5, "loss_ppb": 7, "queue_packets": 9}
    port = {"port": 2, "interface": "s1-eth2", "up": False}
    side = {"bytes": 0, "drops": {}, "link": link}
    stats = Stats.model_validate({"ports": [port | {"in": side, "out": side}]})
    shown = Meter().switch("s1", stats, 0)["ports"][2]
    assert shown["out_link"] == shown["in_link"] == [None, 5, 7, 9]
    assert shown["up"] is False
    for name, text in (("s1-eth1", "1\n"), ("s1-eth2", "0\n")):
        (tmp_path / "sys/class/net" / name).mkdir(parents=True)
        (tmp_path / "sys/class/net" / name / "carrier").write_text(text)
    (tmp_path / "sys/class/net/s1-eth3/carrier").mkdir(parents=True)  # reading it fails
    found = carriers(["s1-eth1", "s1-eth2", "s1-eth3", "deleted", None], tmp_path)
    assert list(found.values()) == [True, False, False, False, True]
    assert carriers(["elsewhere", None], tmp_path) == {"elsewhere": True, None: True}
