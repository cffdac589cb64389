"""Members, agents, switches and controllers that vanish without a message, and come back."""

import asyncio
import random
from pathlib import Path

import pytest

from groupflow._native import build_reset
from groupflow.control.sessions.admission import Options
from groupflow.lab.frames import request_frame
from groupflow.store.sqlite import SqliteStore
from tests.support.waiting import quiet, until
from tests.support.world import FakeHost, World, world
from tests.unit.control.sessions.test_sessions import GROUP_ALONE, GROUP_WITH_AGENT, ports, stream

pytestmark = pytest.mark.slow


async def group(w: World, **settings: object) -> tuple[FakeHost, FakeHost, FakeHost]:
    """h1 sends to h2 (same switch) and h3 (next switch) in session 7."""
    await w.session(7, **settings)
    hosts = w.host("h1"), w.host("h2"), w.host("h3")
    await hosts[0].join(7, "sender")
    await hosts[1].join(7)
    await hosts[2].join(7)
    return hosts


async def test_a_silent_receiver_is_lost_and_no_longer_counts() -> None:
    async with world() as w:
        sender, silent, other = await group(w)
        await w.advance(2.5, alive=(sender, other))
        assert len(w.running.manager.get(7).members) == 3
        await w.advance(1.5, alive=(sender, other))
        assert sender.notices()[-1] == ("lost", 2, 1)
        assert next(r.text for r in sender.received if r.word == "lost") == "h2"
        assert bin(stream(w, "s1")["active"]).count("1") == 1
        assert silent.member == 2 and await w.store.get("members/7/2") is None


async def test_a_silent_sender_takes_its_stream_along() -> None:
    async with world() as w:
        _, one, other = await group(w)
        await w.advance(4, alive=(one, other))
        assert one.notices()[-1][:2] == other.notices()[-1][:2] == ("lost", 1)
        assert all(switch.table("streams") == {} for switch in w.switches.values())


async def test_keepalives_are_answered() -> None:
    async with world() as w:
        sender, receiver, _ = await group(w)
        answer = await receiver.call("keepalive", next=17, repairs=3)
        assert (answer.kind, answer["receivers"], answer["sources"]) == ("alive", 2, 1)
        heard = w.running.manager.presence.last((7, receiver.member))
        assert heard is not None and (heard.next, heard.repairs) == (17, 3)
        stranger = w.host("h2", 9999)
        stranger.member, stranger.session = receiver.member, 7
        assert (await stranger.call("keepalive")).kind == "unknown"
        assert sender.member == 1


@pytest.mark.parametrize(
    ("mode", "policy", "kind"),
    [
        ("e2e", "strict", GROUP_WITH_AGENT),
        ("n2n", "strict", GROUP_ALONE),
        ("n2n", "isolate", GROUP_ALONE),
        ("e2e", "isolate", GROUP_ALONE),
    ],
)
async def test_an_agent_gets_what_its_mode_asks_for(mode: str, policy: str, kind: int) -> None:
    async with world() as w:
        agent = w.host("c1", 5500)
        assert (await agent.register())["member"] == 0xF001
        await group(w, mode=mode, policy=policy)
        node = stream(w, "s1")
        assert node["agent_port"] == 4 and ports(w, "s1", node["repair"]) == (4,)
        assert ports(w, "s1", node["data"]) == (2, 3, 4)
        assert node["ack"] & 0x6000 == kind
        assert ports(w, "s1", node["ack"]) == ((1, 4) if kind == GROUP_WITH_AGENT else (4,))
        told = [reply for reply in agent.received if reply.kind == "delegated"]
        assert (told[-1]["session"], told[-1]["source"], told[-1]["active"]) == (7, 1, 1)
        assert (told[-1]["branches"], told[-1]["rate"]) == (2, 10_000_000)
        assert (told[-1]["mode"], told[-1]["policy"]) == (int(mode == "n2n"), int(policy == "isolate"))


async def test_a_change_of_mode_and_policy_reaches_switches_and_agents() -> None:
    async with world() as w:
        agent = w.host("c1")
        await agent.register()
        await group(w)
        await w.running.manager.change(7, mode="n2n", policy="isolate")
        await w.settle()
        told = [reply for reply in agent.received if reply.kind == "delegated"][-1]
        assert (told["mode"], told["policy"]) == (1, 1)
        assert ports(w, "s1", stream(w, "s1")["ack"]) == (4,)


async def test_an_agent_queries_and_is_told_when_a_stream_is_over() -> None:
    async with world() as w:
        agent = w.host("c1")
        await agent.register()
        await group(w)
        answer = await agent.call("query", session=7, source=1)
        assert (answer.kind, answer["active"], answer["window"]) == ("delegated", 1, 4096)
        assert (await agent.call("query", session=8, source=1)).kind == "unknown"
        await w.running.manager.delete(7)
        await w.settle()
        assert agent.received[-1].kind == "delegated" and agent.received[-1]["active"] == 0


async def test_a_lost_agent_is_withdrawn_and_given_back_its_streams() -> None:
    async with world() as w:
        agent = w.host("c1", 5500)
        await agent.register()
        hosts = await group(w)
        await w.advance(4, alive=hosts)
        node = stream(w, "s1")
        assert (node["repair"], node["agent_port"]) == (0, 0)
        assert ports(w, "s1", node["data"]) == (2, 3) and node["ack"] == node["upstream"]
        assert all(host.notices()[-1][0] == "agent_lost" for host in hosts)
        again = w.host("c1", 5501)
        await again.register()
        await w.settle()
        assert stream(w, "s1")["agent_port"] == 4
        assert [r["active"] for r in again.received if r.kind == "delegated"] == [1]
        assert all(host.notices()[-1][0] == "agent_back" for host in hosts)
        assert (await again.call("keepalive", session=0)).kind == "alive"


async def test_only_the_placed_host_can_be_an_agent() -> None:
    async with world() as w:
        answer = await w.host("h1").register()
        assert (answer.kind, answer.word) == ("refused", "bad_request") and "h1" in answer.text


async def test_an_agent_token_is_asked_for_when_there_is_one() -> None:
    async with world(agent_token="secret") as w:
        assert (await w.host("c1").register()).word == "wrong_token"
        assert (await w.host("c1", 5001).register("secret")).kind == "joined"


async def test_no_delegation_where_the_agents_host_is_a_member() -> None:
    async with world() as w:
        await w.host("c1", 5500).register()
        await group(w)
        await w.host("c1", 6000).join(7)
        await w.settle()
        node = stream(w, "s1")
        assert node["agent_port"] == 0 and ports(w, "s1", node["data"]) == (2, 3, 4)


async def test_a_slow_receiver_is_isolated_and_put_back() -> None:
    async with world() as w:
        agent = w.host("c1")
        await agent.register()
        _, slow, _ = await group(w, policy="isolate")
        active = stream(w, "s1")["active"]
        report = {"session": 7, "source": 1, "about": slow.member}
        assert (await agent.call("report", kind="slow", **report)).kind == "alive"
        await w.settle()
        assert ports(w, "s1", stream(w, "s1")["data"]) == (3, 4)
        assert stream(w, "s1")["active"] == active, "it counts as before"
        await agent.call("report", kind="caught_up", **report)
        await w.settle()
        assert ports(w, "s1", stream(w, "s1")["data"]) == (2, 3, 4)


@pytest.mark.parametrize("how", ["strict", "agent lost", "other switch's agent"])
async def test_nobody_stays_isolated_without_a_cache(how: str) -> None:
    async with world() as w:
        agent = w.host("c1")
        await agent.register()
        hosts = await group(w, policy="strict" if how == "strict" else "isolate")
        reporter = agent
        if how == "other switch's agent":
            reporter = w.host("c2")
            await reporter.register()
        await reporter.call("report", kind="slow", session=7, source=1, about=hosts[1].member)
        if how == "agent lost":
            assert w.running.manager.get(7).record.isolated
            await w.advance(4, alive=hosts)
        await w.settle()
        assert 2 in ports(w, "s1", stream(w, "s1")["data"])
        assert not w.running.manager.get(7).record.isolated


async def test_a_full_cache_is_shown() -> None:
    async with world() as w:
        agent = w.host("c1")
        await agent.register()
        await agent.call("report", kind="cache_full", session=0)
        assert w.running.caching.agents["s1"].full
        await agent.call("report", kind="cache_room", session=0)
        assert not w.running.caching.agents["s1"].full


async def test_a_switch_that_restarts_gets_everything_again() -> None:
    async with world() as w:
        hosts = await group(w)
        await w.settle()
        s2 = w.switches["s2"]
        before = dict(s2.entries)
        s2.resets.clear()
        s2.stop()
        await until(lambda: w.state("s2") == "down")
        assert hosts[0].notices()[-1][0] == "switch_lost"
        s2.start()
        await until(lambda: w.state("s2") == "up")
        await w.settle()
        assert s2.entries == before
        assert s2.resets == [(7, 1, 0xFF)]
        assert hosts[0].notices()[-1][0] == "switch_back"


async def test_members_behind_a_lost_switch_are_waited_for_a_while() -> None:
    async with world(switch_grace=5.0) as w:
        sender, near, _ = await group(w)
        w.switches["s2"].stop()
        await until(lambda: w.state("s2") == "down")
        await w.advance(4, alive=(sender, near))
        assert len(w.running.manager.get(7).members) == 3
        await w.advance(2, alive=(sender, near))
        assert sender.notices()[-1] == ("lost", 3, 1)
        assert next(r.text for r in sender.received if r.word == "lost") == "h3"
        assert 3 not in ports(w, "s1", stream(w, "s1")["data"])


async def test_a_join_does_not_wait_for_a_switch_that_is_down() -> None:
    async with world() as w:
        await w.session()
        await w.host("h1").join(7, "sender")
        w.switches["s3"].stop()
        await until(lambda: w.state("s3") == "down")
        assert (await w.host("h2").join(7)).kind == "joined"


async def test_what_somebody_else_wrote_to_a_switch_is_undone() -> None:
    async with world() as w:
        await group(w)
        await w.settle()
        s1 = w.switches["s1"]
        before = dict(s1.entries)
        entries = dict(before)
        stray = next(key for key in entries if key.table == "branches")
        entries[stray._replace(match=(9, 9, 9, 9))] = entries[stray]
        del entries[next(key for key in entries if key.table == "ipv4_route")]
        s1.stop()
        s1.entries.update(entries)
        writes = len(s1.writes)
        s1.start()
        await until(lambda: w.state("s1") == "up" and s1.connections == 2)
        await w.settle()
        assert s1.entries == before
        assert sum(map(len, s1.writes[writes:])) == 2, "only what differs is written"


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_controller_that_restarts_carries_on(kind: str, tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db") if kind == "sqlite" else None
    async with world(store=store, restart_grace=5.0) as w:
        await w.host("c1", 5500).register()
        hosts = await group(w, policy="isolate")
        await w.settle()
        token = w.token(7)
        writes = {name: len(switch.writes) for name, switch in w.switches.items()}
        resets = {name: len(switch.resets) for name, switch in w.switches.items()}
        await w.stop()
        await w.start()
        await w.settle()
        assert {name: len(switch.writes) for name, switch in w.switches.items()} == writes
        assert {name: len(switch.resets) for name, switch in w.switches.items()} == resets
        assert w.token(7) == token
        assert (await hosts[0].call("keepalive")).kind == "alive"
        await w.advance(4, alive=hosts[:1])
        assert len(w.running.manager.get(7).members) == 3, "members are given time to notice"
        await w.advance(5, alive=hosts[:1])
        assert set(w.running.manager.get(7).members) == {1}
        assert (await w.host("h2", 6000).join(7))["member"] == 4
        await w.stop()
    if store is not None:
        await store.close()


async def test_the_election_id_grows_over_restarts() -> None:
    async with world() as w:
        first = int(await w.store.get("controller/election") or 0)
        await w.stop()
        await w.start()
        assert int(await w.store.get("controller/election") or 0) > first


async def test_nothing_a_host_sends_ends_the_service() -> None:
    async with world() as w:
        sender, _, _ = await group(w)
        random_bytes = random.Random(7)
        valid = request_frame(
            "join", eth_src=sender.host.mac, ip_src="10.0.1.1", udp_src=5000, session=7, name="x"
        )
        port = sender.host.port
        for number in range(400):
            if number % 2:
                frame = random_bytes.randbytes(random_bytes.randrange(200))
            else:
                damaged = bytearray(valid)
                for _ in range(3):
                    damaged[random_bytes.randrange(len(damaged))] = random_bytes.randrange(256)
                frame = bytes(damaged[: random_bytes.randrange(len(damaged) + 1)])
            w.switches["s1"].punt(random_bytes.choice([port, 3, 0, 510]), frame)
        w.switches["s1"].punt(port, b"\0" * 80, reason=2)
        w.switches["s1"].punt(port, build_reset(7, 1, 0xFF))
        w.switches["s1"].punt(3, valid)  # from the port of another switch
        spoofed = sender.ask("keepalive", ip_src="10.0.9.9")
        await w.settle()
        assert sender.answers(spoofed) == []
        assert (await sender.call("keepalive")).kind == "alive"
        assert w.running.control.refused_packets > 200
        assert len(w.running.manager.get(7).members) == 3


async def test_a_host_cannot_speak_for_another() -> None:
    async with world() as w:
        _, receiver, _ = await group(w)
        other = w.host("h3", 5000)
        other.member, other.session = receiver.member, 7
        assert (await other.call("leave")).kind == "unknown"
        assert receiver.member in w.running.manager.get(7).members


def test_options_are_what_hosts_rely_on() -> None:
    options = Options()
    assert (options.keepalive_ms, options.member_timeout) == (500, 3.0)


async def test_a_switch_that_hangs_holds_no_other_session() -> None:
    async with world(apply_timeout=60.0) as w:
        agents = w.host("c1", 5500), w.host("c2", 5501)
        for agent in agents:
            await agent.register()
        await w.session(9)
        sender, far = w.host("h1", 7001), w.host("h4", 7000)
        await sender.join(9, "sender")
        await far.join(9)
        w.switches["s3"].answers.clear()
        await w.session(55)
        near = w.host("h1"), w.host("h2"), w.host("h3")
        async with asyncio.timeout(30):  # the switch's answer takes 60 s
            assert [(await host.join(55, role)).kind for host, role in zip(
                near, ("sender", "receiver", "receiver"), strict=True
            )] == 3 * ["joined"]  # fmt: skip
            # The host behind the switch is lost, and so is an agent: both change streams at the switch.
            for _ in range(8):
                w.clock.now += 0.5
                for host in (*near, sender, agents[0]):
                    host.keepalive()
                await quiet()
            await w.running.watchdog.sweep()
            assert (await w.host("h2", 8000).join(55)).kind == "joined"
        w.switches["s3"].answers.set()


async def test_a_joining_host_is_not_silent() -> None:
    async with world() as w:
        sender, _, _ = await group(w)
        w.switches["s3"].answers.clear()
        joining = w.host("h4")
        request = joining.ask("join", session=7, role="receiver", name="h4", token=w.token(7))
        for _ in range(10):
            w.clock.now += 0.5
            sender.keepalive()
            await quiet()
        await w.running.watchdog.sweep()
        w.switches["s3"].answers.set()
        await until(lambda: bool(joining.answers(request)))
        assert joining.answers(request)[-1].kind == "joined"
