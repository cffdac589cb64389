"""A hub's folder, orders and rims: files arrive, and a failure of one file leaves the others alone."""

import asyncio
import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.bone import HERE, bench, content, free_udp_port
from tests.support.waiting import until

SIZE, SMALL = 200_000, 70_000


@pytest.mark.slow
@pytest.mark.parametrize("repair", ["go-back-n", "selective"])
@pytest.mark.parametrize("method", ["scheduled", "unscheduled"])
async def test_what_is_dropped_into_the_folder_is_at_every_rim(
    tmp_path: Path, method: str, repair: str
) -> None:
    async with bench(tmp_path) as (made, _):
        rims = [await made.rim(f"rim{n}") for n in range(3)]
        # Silence is success: a busy machine must not look like it.
        wait = 1000 if method == "unscheduled" else 300
        hub = await made.hub(method=method, repair=repair, result_ms=wait)
        (hub.folder / "a.bin").write_bytes(content(SMALL))
        (hub.folder / "empty").write_bytes(b"")
        for rim in rims:
            await rim.heard("stored", 2)
            assert (rim.folder / "a.bin").read_bytes() == content(SMALL)
            assert (rim.folder / "empty").read_bytes() == b""
        sent = await hub.heard("sent", 2)
        assert sent.text("outcome") == "done" and sent.integer("lost") == 0


@pytest.mark.slow
async def test_who_comes_late_has_it_too_and_who_leaves_is_not_waited_for(tmp_path: Path) -> None:
    size = 500_000
    async with bench(tmp_path) as (made, _):
        first, leaver = await made.rim("first"), await made.rim("leaver")
        hub = await made.hub(rate=3_000_000, patience=2)
        (hub.folder / "a.bin").write_bytes(content(size))
        await first.heard("began")
        await leaver.heard("began")
        leaver.agent.signal(signal.SIGTERM)
        late = await made.rim("late")
        assert not first.said("stored"), "it came late"
        for rim in (first, late):
            await rim.heard("stored")
            assert (rim.folder / "a.bin").read_bytes() == content(size)
        sent = await hub.heard("sent")
        assert (sent.text("outcome"), sent.integer("complete")) == ("done", 2)
        assert not (leaver.folder / "a.bin").exists()
        assert len(hub.said("sent")) == 1, "in one transfer"


async def test_unicast_goes_to_each_rim_and_leaves_out_who_has_the_file(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        ports = [free_udp_port(), free_udp_port()]
        rims = [await made.rim(f"rim{n}", group=f"239.83.84.7:{port}") for n, port in enumerate(ports)]
        hub = await made.hub(method="unicast", rims=tuple(f"{HERE}:{port}" for port in ports))
        (hub.folder / "a.bin").write_bytes(content(SIZE))
        assert (await hub.heard("sent")).integer("complete") == 2
        for rim in rims:
            assert (rim.folder / "a.bin").read_bytes() == content(SIZE)
        await client.post(hub.url("a.bin"))
        again = await hub.heard("sent", 2)
        assert again.integer("sent_bytes") <= 2 * 64 * 1000, "a round each"
        for rim in rims:
            await rim.heard("had")


@pytest.mark.slow
async def test_who_wanted_a_file_that_goes_away_before_its_turn_is_told(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, client):
        ports = [free_udp_port(), free_udp_port()]
        hub_port = free_udp_port()
        rims = [
            await made.rim(f"rim{n}", group=f"239.83.84.7:{port}", hub=f"{HERE}:{hub_port}", miss_wait=30)
            for n, port in enumerate(ports)
        ]
        to = tuple(f"{HERE}:{port}" for port in ports)
        hub = await made.hub(method="unicast", rims=to, port=hub_port, rate=4_000_000)
        (hub.folder / "first").write_bytes(content(1_000_000))
        await rims[0].heard("began")
        (hub.folder / "wanted").write_bytes(content(1000))
        # The second rim hears nothing of it: it is given up when it is the first one's turn.
        answer = asyncio.create_task(client.get(rims[1].url("wanted")))
        await rims[1].heard("answered")
        (hub.folder / "wanted").unlink()
        assert (await answer).status_code == 404
        told = [event.text("answer") for event in rims[1].said("answered") if event.text("file") == "wanted"]
        assert told == ["queued", "unknown"]


async def test_only_what_is_new_or_ordered_is_sent(tmp_path: Path) -> None:
    (tmp_path / "outbox").mkdir()
    (tmp_path / "outbox" / "old").write_bytes(content(1000))
    async with bench(tmp_path) as (made, client):
        rim, hub = await made.rim(), await made.hub()
        (hub.folder / "new").write_bytes(content(1000, 2))
        (hub.folder / "link").symlink_to("/etc/passwd")
        assert (await hub.heard("sent")).text("file") == "new"
        assert (await hub.heard("skipped")).text("file") == "link"
        listed = {each["name"]: each for each in (await client.get(hub.url(""))).json()["files"]}
        assert {name: each["state"] for name, each in listed.items()} == {"new": "sent", "old": "idle"}
        assert listed["new"]["sha256"] == hashlib.sha256(content(1000, 2)).hexdigest()
        assert (await client.post(hub.url("old"))).status_code == 202
        assert (await hub.heard("sent", 2)).text("file") == "old"
        assert (rim.folder / "old").read_bytes() == content(1000)
        for path, status in (("none", 404), ("link", 404), ("..%2Fold", 400), ("a%2Fb", 400)):
            assert (await client.post(hub.url(path))).status_code == status, path
        assert (await client.post(hub.url("old"), headers={"Origin": "http://x"})).status_code == 403
        assert (await client.put(hub.url("old"))).status_code == 405


@pytest.mark.slow
async def test_a_file_that_changes_while_it_is_sent_is_given_up_and_sent_anew(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, _):
        rim, hub = await made.rim(), await made.hub(rate=8_000_000)
        path = hub.folder / "a.bin"
        path.write_bytes(content(1_000_000))
        await until(lambda: any(e.integer("bytes") > 100_000 for e in rim.said("progress")), "it arrives")
        path.write_bytes(content(300_000, 2))
        (hub.folder / "other").write_bytes(content(1000))
        first = await hub.heard("sent")
        assert (first.text("outcome"), first.text("why")) == (
            "unreadable",
            "reading failed: it changed while it was sent",
        )
        assert "gave the file up" in (await rim.heard("failed")).text("why")
        await rim.heard("stored", 2)
        assert path.read_bytes() == (rim.folder / "a.bin").read_bytes() == content(300_000, 2)
        assert (rim.folder / "other").read_bytes() == content(1000)
        assert sorted(p.name for p in (rim.folder / ".groupflow").iterdir()) == ["index.json", "lock"]


@pytest.mark.slow
async def test_the_store_is_bounded_and_what_does_not_fit_is_not_asked_for_again_and_again(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as (made, _):
        small, large = await made.rim("small", max_bytes=150_000), await made.rim("large")
        hub = await made.hub()
        for name, size in (("a", 60_000), ("b", 60_000), ("c", 60_000), ("d", 200_000)):
            (hub.folder / name).write_bytes(content(size))
            await large.heard("stored", "abcd".index(name) + 1)
        await hub.heard("sent", 4)
        assert (await small.heard("evicted")).text("file") == "a"
        assert "more than the 150000 of the rim's bound" in (await small.heard("failed")).text("why")
        assert {path.name for path in small.folder.iterdir()} == {".groupflow", "b", "c"}
        assert {event.integer("complete") for event in hub.said("sent")[:3]} == {2}
        assert hub.said("sent")[3].integer("complete") == 1


async def test_a_rim_hears_its_hub_alone(tmp_path: Path) -> None:
    async with bench(tmp_path) as (made, _):
        port = free_udp_port()
        choosy, open_rim = await made.rim("choosy", hub=f"{HERE}:{port}"), await made.rim("open")
        foreign = await made.hub()
        (foreign.folder / "a").write_bytes(content(1000))
        await open_rim.heard("stored")
        assert not choosy.said("began") and (await foreign.heard("sent")).integer("complete") == 1


@pytest.mark.slow
async def test_the_commands(tmp_path: Path) -> None:
    def groupflow(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "groupflow.cli.main", "bone", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    (tmp_path / "outbox").mkdir()
    (tmp_path / "outbox" / "old").write_bytes(content(1000))
    async with bench(tmp_path) as (made, _):
        rim, hub = await made.rim(), await made.hub()
        done = await asyncio.to_thread(groupflow, "send", "old", "--to", hub.http, "--wait", "--json")
        assert (done.returncode, json.loads(done.stdout)["state"]) == (0, "sent")
        missing = await asyncio.to_thread(groupflow, "send", "none", "--to", hub.http)
        assert (missing.returncode, missing.stderr) == (4, "groupflow: none: no such file\n")
        listed = await asyncio.to_thread(groupflow, "list", "--to", rim.http)
        digest = hashlib.sha256(content(1000)).hexdigest()
        assert listed.stdout.split() == ["NAME", "SIZE", "STATE", "SHA256", "ERROR", "old", "1000", "stored",
                                         digest, "-"]  # fmt: skip
        taken = await asyncio.to_thread(groupflow, "rim", "--dir", str(rim.folder), "--http", f"{HERE}:0")
        cause = f"{rim.folder} is another rim's; stop that rim, or choose another --dir"
        assert (taken.returncode, taken.stderr) == (1, f"groupflow: {cause}\n")
    nobody = groupflow("list", "--to", hub.http)
    assert nobody.returncode == 1 and nobody.stderr.startswith(f"groupflow: no answer from {hub.http}: ")
    usage = groupflow("hub", "--dir", str(tmp_path / "x"), "--method", "unicast", "--http", f"{HERE}:0")
    assert usage.returncode == 2
    assert usage.stderr == "groupflow: --method unicast needs rims; name each with --rim IP:PORT\n"
