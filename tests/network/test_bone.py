"""A hub and its rims around a P4 switch, which copies the hub's multicast, over links that lose packets."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.bone.options import HubOptions, Method, RimOptions
from groupflow.agents.errors import AgentError
from groupflow.agents.events import Event
from groupflow.files import variants
from groupflow.lab.controller_process import SessionAccess
from groupflow.lab.measure import link_bytes
from tests.network.harness import Lab, MakeLab, eventually, sha256

SIZE = 300_000
LOSS = 10_000_000
"""loss in parts per 10^9: 1 % in each direction of each link"""
RIMS = ("h2", "h3", "h4", "h5")
PORT = 26500


class Node(AgentProcess):
    """A hub or a rim in a host, with all its events."""

    def __init__(self, lab: Lab, options: HubOptions | RimOptions, *within: str) -> None:
        self.said: list[Event] = []
        launcher = (*lab.network.hosts[options.name].launcher(), *within)
        super().__init__(options, launcher=launcher, on_event=self.said.append)

    async def heard(self, name: str, count: int = 1) -> Event:
        def enough() -> bool:
            return sum(event.name == name for event in self.said) >= count

        await eventually(enough, 60, f"{self.options.name}: {count} times {name}")
        return [event for event in self.said if event.name == name][count - 1]


def hub_options(lab: Lab, session: SessionAccess | None, method: Method = "scheduled") -> HubOptions:
    return HubOptions(
        name="h1",
        folder=lab.folder / "outbox",
        http="127.0.0.1:26502",
        session=session and session.id,
        token=session.token if session else "",
        method=method,
        repair="selective",
        rims=tuple(f"{lab.topology.hosts[rim].ip}:{PORT}" for rim in RIMS) if method == "unicast" else (),
        rate=4_000_000,
        join_ms=500,
        result_ms=500,
        grace_ms=100,
        poll_ms=50,
    )


def rim_options(lab: Lab, host: str, session: SessionAccess | None) -> RimOptions:
    return RimOptions(
        name=host,
        folder=lab.folder / host,
        http="0.0.0.0:26503",
        session=session and session.id,
        token=session.token if session else "",
    )


@asynccontextmanager
async def started(*nodes: Node) -> AsyncGenerator[None]:
    """Starts all nodes, one after the other, and waits until the members have joined."""
    try:
        for node in nodes:
            await node.__aenter__()
            await node.wait_for("joined" if node.options.token else "ready")
        yield
    finally:
        await AgentProcess.stop_all(nodes)


async def carried(lab: Lab, method: Method) -> int:
    """Bytes that the hub's link carried until every rim had the file."""
    session = None if method == "unicast" else lab.session()
    rims = [Node(lab, rim_options(lab, host, session)) for host in RIMS]
    hub = Node(lab, hub_options(lab, session, method))
    async with started(*rims, hub):
        before = link_bytes(lab.network)
        file = lab.file(SIZE)
        file.rename(lab.folder / "outbox" / "a.bin")
        sent = await hub.heard("sent")
        assert (sent.text("outcome"), sent.integer("lost")) == ("done", 0)
        for rim in rims:
            await rim.heard("stored")
        after = link_bytes(lab.network)
    digest = sha256(lab.folder / "outbox" / "a.bin")
    assert {host: sha256(lab.folder / host / "a.bin") for host in RIMS} == dict.fromkeys(RIMS, digest)
    return after["h1", "s1"] - before["h1", "s1"]


async def test_the_switch_copies_what_the_hub_sends_once(make_lab: MakeLab) -> None:
    with make_lab(variants.with_loss(variants.named("star"), LOSS)) as lab:
        multicast = await carried(lab, "scheduled")
    assert SIZE < multicast < 1.6 * SIZE, "once, and some per cent again"


async def test_unicast_sends_it_to_one_after_the_other(make_lab: MakeLab) -> None:
    with make_lab(variants.with_loss(variants.named("star"), LOSS)) as lab:
        assert await carried(lab, "unicast") > len(RIMS) * SIZE


async def test_a_full_disk_and_a_wrong_token_leave_the_others_unharmed(make_lab: MakeLab) -> None:
    with make_lab(variants.named("star")) as lab:
        session = lab.session()
        for host in RIMS:
            (lab.folder / host).mkdir()
        mount = ("unshare", "-m", "sh", "-ec", 'mount -t tmpfs -o size=100k tmpfs "$0"; exec "$@"')
        full = Node(lab, rim_options(lab, "h2", session), *mount, str(lab.folder / "h2"))
        rims = [Node(lab, rim_options(lab, host, session)) for host in RIMS[1:3]]
        hub = Node(lab, hub_options(lab, session))
        async with started(full, *rims, hub):
            with pytest.raises(AgentError) as refused:
                async with Node(lab, replace(rim_options(lab, "h5", session), token="badbad")) as stranger:
                    await stranger.wait_for("joined")
            assert refused.value.code == "refused"
            lab.file(SIZE).rename(lab.folder / "outbox" / "a.bin")
            failed = await full.heard("failed")
            assert failed.text("why") == (
                "the file cannot be stored: no space left on device; make room on the disk"
            )
            sent = await hub.heard("sent")
            assert (sent.integer("complete"), sent.integer("lost")) == (2, 0)
            lab.file(SIZE // 10, 2).rename(lab.folder / "outbox" / "small.bin")
            assert (await full.heard("stored")).text("file") == "small.bin", "it takes what fits"


async def test_clients_of_a_rim_have_the_hub_asked_once(make_lab: MakeLab, tmp_path: Path) -> None:
    with make_lab(variants.with_loss(variants.named("star"), LOSS)) as lab:
        session = lab.session()
        (lab.folder / "outbox").mkdir()
        lab.file(SIZE).rename(lab.folder / "outbox" / "a.bin")
        rims = [Node(lab, rim_options(lab, host, session)) for host in RIMS[:2]]
        hub_address = f"{lab.topology.hosts['h1'].ip}:26501"
        asking = Node(lab, replace(rim_options(lab, "h4", session), hub=hub_address))
        hub = Node(lab, hub_options(lab, session))
        async with started(*rims, asking, hub):
            url = f"http://{lab.topology.hosts['h4'].ip}:26503/a.bin"

            async def fetch(number: int) -> str:
                output = tmp_path / f"got-{number}"
                host = lab.network.hosts["h4"]
                done = await asyncio.to_thread(host.run, ["curl", "-sf", "-o", str(output), url], 60)
                assert done.returncode == 0, done.stderr
                return sha256(output)

            got = await asyncio.gather(*(fetch(number) for number in range(4)))
            assert set(got) == {sha256(lab.folder / "outbox" / "a.bin")}
            assert sum(event.name == "asking" for event in asking.said) == 1
            for rim in rims:
                await rim.heard("stored")
            assert await status(lab, "h4", url.replace("a.bin", "none")) == httpx.codes.NOT_FOUND


async def status(lab: Lab, host: str, url: str) -> int:
    """HTTP status of a GET from within a host."""
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", url]
    done = await asyncio.to_thread(lab.network.hosts[host].run, words, 60)
    return int(done.stdout)
