"""TCP sessions under a whole controller, with fake switches and fake agents."""

import asyncio
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from groupflow.control.sessions.model import RefusalError, Tcp
from groupflow.control.split.service import AGENT_GRACE
from groupflow.errors import InvalidError
from groupflow.model.session import NewTcp
from groupflow.p4rt.device import ApplyError
from groupflow.store.interface import MemoryStore
from tests.support.split import REFUSED, TCP, lab
from tests.support.waiting import until
from tests.support.world import world

pytestmark = pytest.mark.slow


async def test_a_session_is_steered_to_agents_and_told_to_them(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        assert all(subject.routes(switch) == REFUSED for switch in ("s1", "s2", "s3"))
        session = await subject.world.session(tcp=TCP)
        assert session.record.tcp is not None and session.record.tcp.address == "10.200.0.1"
        assert [subject.next_hop(switch) for switch in ("s1", "s2", "s3")] == ["c1", "c2", "s2"]
        for agent in subject.agents.values():
            assert (agent.sessions[7]["address"], agent.sessions[7]["ports"]) == ("10.200.0.1", [5000])
        await subject.world.running.manager.delete(7)
        await subject.world.settle()
        await until(lambda: not any(agent.sessions for agent in subject.agents.values()), "removed")
        assert all(subject.routes(switch) == REFUSED for switch in ("s1", "s2", "s3"))


async def test_members_come_and_go_as_branches(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP)
        near = await subject.listener("h2", 9002)
        assert subject.branches("c1") == ["h2"] and subject.branches("c2") == ["c1"], (
            "told before it is answered"
        )
        far = await subject.listener("h4", 9004, start="start")
        assert subject.branches("c1") == ["c2", "h2"] and subject.branches("c2") == ["c1", "h4"]
        branch = subject.agents["c2"].sessions[7]["branches"][1]
        assert (branch["address"], branch["member"], branch["from"]) == ("10.0.3.1:9004", 2, "start")
        assert subject.agents["c2"].sessions[7]["neighbours"] == ["10.0.101.1"]
        assert (await near.call("leave")).kind == "left"
        await until(lambda: subject.branches("c2") == ["h4"], "left")
        await subject.world.advance(4)
        await until(lambda: subject.branches("c1") == [], "silent members are lost")
        assert (await far.call("keepalive")).kind == "unknown"


async def test_only_the_lowest_free_address_is_given_and_it_stays(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        manager = subject.world.running.manager
        for number in (7, 8, 9):
            await subject.world.session(number, tcp=TCP)
        await manager.delete(8)
        await subject.world.session(10, tcp=TCP)
        await subject.world.stop()
        await subject.world.start()
        sessions = subject.world.running.manager.sessions
        addresses = {number: s.record.tcp.address for number, s in sessions.items() if s.record.tcp}
        assert addresses == {7: "10.200.0.1", 9: "10.200.0.3", 10: "10.200.0.2"}


async def test_a_session_without_agents_stays_refused(tmp_path: Path) -> None:
    async with lab(tmp_path, present="") as subject:
        await subject.world.session(tcp=TCP)
        await subject.listener("h2")
        assert all(subject.routes(switch) == REFUSED for switch in ("s1", "s2", "s3"))
        await subject.agents["c2"].start()
        await subject.up("s2")
        await subject.world.settle()
        assert [subject.next_hop(switch) for switch in ("s1", "s2", "s3")] == ["s2", "c2", "s2"]
        assert subject.branches("c2") == ["h2"]


async def test_a_restarted_agent_is_told_all_again_and_nothing_moves_before(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP)
        await subject.listener("h4")
        before = {name: dict(switch.entries) for name, switch in subject.world.switches.items()}
        await subject.agents["c2"].stop()
        await subject.down("s2")
        await subject.pass_time(0)
        assert subject.branches("c1") == ["c2"], "it may be started again"
        await subject.agents["c2"].start()
        await subject.up("s2")
        assert subject.branches("c2") == ["h4"]
        assert {name: switch.entries for name, switch in subject.world.switches.items()} == before


async def test_another_agent_takes_over_when_one_stays_away(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP)
        member = await subject.listener("h4")
        await subject.agents["c2"].stop()
        await subject.down("s2")
        await subject.pass_time(AGENT_GRACE - 0.5)
        assert (subject.next_hop("s3"), subject.branches("c1")) == ("s2", ["c2"])
        member.keepalive()
        await subject.pass_time(1)
        await until(lambda: subject.branches("c1") == ["h4"], "taken over")
        assert [subject.next_hop(switch) for switch in ("s1", "s2", "s3")] == ["c1", "s1", "s2"]


async def test_a_new_controller_goes_on_with_the_agents_of_the_old(tmp_path: Path) -> None:
    """Streams run meanwhile: no route may go, no agent may be told to end its streams."""
    store = MemoryStore()
    async with lab(tmp_path, store=store) as subject:
        await subject.world.session(tcp=TCP)
        await subject.listener("h4")
        before = {name: dict(switch.entries) for name, switch in subject.world.switches.items()}
        subject.agents["c1"].silent = True  # slow to answer the new controller
        await subject.world.stop()
        writes = [len(switch.writes) for switch in subject.world.switches.values()]
        asked = {name: len(agent.requests) for name, agent in subject.agents.items()}
        await subject.world.start()
        await subject.up("s2")
        await subject.world.settle()
        assert {name: switch.entries for name, switch in subject.world.switches.items()} == before
        assert [len(switch.writes) for switch in subject.world.switches.values()] == writes
        assert {name: len(agent.requests) for name, agent in subject.agents.items()} == asked


async def test_what_a_deleted_session_left_at_an_agent_is_removed(tmp_path: Path) -> None:
    async with lab(tmp_path, present="c1") as subject:
        subject.agents["c2"].sessions[99] = {"id": 99}
        await subject.agents["c2"].start()
        await subject.up("s2")
        assert subject.agents["c2"].sessions == {}


async def test_an_agent_that_refuses_a_new_session_is_heard(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        subject.agents["c2"].refuse[7] = "session.congestion cannot be used: no such file"
        with pytest.raises(RefusalError, match=r"agent c2: session\.congestion cannot be used"):
            await subject.world.session(tcp=NewTcp(ports=(5000,), congestion="bbr9"))
        assert 7 not in subject.world.running.manager.sessions
        await until(lambda: subject.agents["c1"].sessions == {}, "undone")
        await subject.world.settle()
        assert subject.routes("s1") == REFUSED


async def test_a_session_that_a_switch_has_no_room_for_is_undone(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        subject.world.switches["s3"].refuse = {"ipv4_route"}
        with pytest.raises(ApplyError, match="s3 refused ipv4_route"):
            await subject.world.session(tcp=TCP)
        assert 7 not in subject.world.running.manager.sessions
        await subject.world.settle()
        assert all(subject.routes(switch) == REFUSED for switch in ("s1", "s2", "s3"))
        await until(lambda: not any(agent.sessions for agent in subject.agents.values()), "undone")


@pytest.mark.parametrize(
    ("tcp", "fields", "text"),
    [
        (None, {"port": 9000}, "carries no TCP"),
        (TCP, {"port": 0}, "port 0 is no port"),
        (TCP, {"port": 9000, "token": "00"}, "token"),
    ],
    ids=["no TCP session", "no port", "wrong token"],
)
async def test_listeners_that_are_refused(
    tmp_path: Path, tcp: NewTcp | None, fields: dict[str, Any], text: str
) -> None:
    async with lab(tmp_path, present="") as subject:
        await subject.world.session(tcp=tcp)
        answer = await subject.world.host("h2").join(7, "listener", **fields)
        assert answer.kind == "refused" and text in answer.text


async def test_two_members_cannot_have_one_port_but_a_new_process_takes_its_place(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP)
        await subject.listener("h2", 9000)
        other = subject.world.host("h2", 5001)
        token = subject.world.token(7)
        answer = await other.call(
            "join", session=7, role="listener", name="another", port=9000, token=token, member=0
        )
        assert answer.kind == "refused" and "h2 is a member with port 9000" in answer.text
        again = await subject.listener("h2", 9000, udp_port=5002)
        assert again.member == 1 and subject.branches("c1") == ["h2"]
        assert len(subject.world.running.manager.get(7).listeners) == 1


async def test_receipts_are_kept_and_told_once(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP)
        await subject.listener("h4")
        c1, c2 = subject.agents["c1"], subject.agents["c2"]
        c1.tell("stream_opened", 7, stream="ab", peer="10.0.1.1:40000", **{"from": "sender"})
        c2.tell("stream_opened", 7, stream="ab", peer="10.0.101.1:40000", **{"from": "agent"})
        for agent in (c2, c1):  # each agent on the way tells
            agent.tell("receipt", 7, stream="ab", member=1, bytes=1000)
        c1.tell("stream_closed", 7, stream="ab", outcome="complete", **{"from": "sender"})
        await until(lambda: bool(subject.events("stream-closed")), "told")
        story = subject.world.running.splitting.stories[7].streams["ab"]
        assert (story.peer, story.agent, story.outcome) == ("10.0.1.1:40000", "s1", "complete")
        receipt = story.receipts[1]
        assert (receipt.name, receipt.bytes) == ("h4", 1000)
        assert len(subject.events("receipt")) == 1 and subject.events("receipt")[0]["name"] == "h4"


async def test_receipts_of_while_the_controller_was_gone_are_fetched(tmp_path: Path) -> None:
    async with lab(tmp_path, store=MemoryStore()) as subject:
        await subject.world.session(tcp=TCP)
        await subject.listener("h4")
        await subject.world.stop()
        subject.agents["c1"].streams[7] = [
            {
                "stream": "cd", "peer": "10.0.1.1:1", "from": "sender", "outcome": "complete",
                "receipts": [{"member": 1, "bytes": 77}],
            }
        ]  # fmt: skip
        await subject.world.start()
        await until(lambda: bool(subject.events("receipt")), "fetched")
        story = subject.world.running.splitting.stories[7].streams["cd"]
        assert (story.outcome, story.receipts[1].bytes) == ("complete", 77)


async def test_a_member_that_fails_leaves_and_hears_why(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP)
        member = await subject.listener("h4")
        stays = await subject.listener("h2")
        for agent in ("c2", "c1"):
            subject.agents[agent].tell("member_failed", 7, stream="ab", member=1, text="connection refused")
        await until(lambda: subject.branches("c2") == ["c1"] and subject.branches("c1") == ["h2"], "gone")
        await subject.world.settle()
        assert member.notices() == [("lost", 1, 0)] and member.received[-1].text == "connection refused"
        assert stays.notices() == []
        assert len(subject.events("member-failed")) == 1
        assert "connection refused" in str(subject.events("member-lost")[0]["text"])


async def test_a_member_that_resets_a_stream_stays(tmp_path: Path) -> None:
    """The controller hears of it; when the member then cannot be reached, it leaves."""
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP)
        member = await subject.listener("h4")
        for agent in ("c2", "c1"):
            subject.agents[agent].tell("member_reset", 7, stream="ab", member=1, text="reset by peer")
        await until(lambda: bool(subject.events("member-reset")), "told")
        story = subject.world.running.splitting.stories[7].streams["ab"]
        assert story.failed == {1: "reset by peer"}
        await subject.world.settle()
        assert subject.branches("c2") == ["h4"] and member.notices() == []
        assert len(subject.events("member-reset")) == 1
        subject.agents["c2"].tell("member_failed", 7, stream="cd", member=1, text="connection refused")
        await until(lambda: subject.branches("c2") == [], "gone")
        assert subject.events("member-failed")[0]["stream"] == "cd"


@pytest.mark.parametrize(
    "line", [b"no json\n", b"[1]\n", b'{"id": 99999}\n', b'{"event": 1, "session": "x"}\n']
)
async def test_an_agent_that_talks_nonsense_is_connected_to_again(tmp_path: Path, line: bytes) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP)
        subject.agents["c1"].say(line)
        await subject.listener("h2")
        await subject.up("s1")
        await until(lambda: subject.branches("c1") == ["h2"], "goes on")


async def test_agents_can_be_left_out(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=NewTcp(ports=(5000,), agents=("s2",)))
        await until(lambda: subject.branches("c1") == ["no session"], "left out")
        assert [subject.next_hop(switch) for switch in ("s1", "s2", "s3")] == ["s2", "c2", "s2"]


async def test_a_session_with_a_budget_waits_for_agents_and_keeps_those_it_has(tmp_path: Path) -> None:
    async with lab(tmp_path, present="") as subject:
        manager = subject.world.running.manager
        await subject.world.session(tcp=NewTcp(ports=(5000,), budget=1))
        await subject.listener("h2", 9002)
        for agent, has in (("c2", ["h2"]), ("c1", ["no session"])):
            await subject.agents[agent].start()
            await subject.up(f"s{agent[1]}")
            await until(lambda a=agent, h=has: subject.branches(a) == h, agent)
        await subject.world.settle()
        assert manager.get(7).record.tcp == Tcp(address="10.200.0.1", ports=(5000,), agents=("s2",), budget=1)
        assert [subject.next_hop(switch) for switch in ("s1", "s2", "s3")] == ["s2", "c2", "s2"]


async def test_an_agent_that_stays_away_is_replaced_within_the_budget(tmp_path: Path) -> None:
    async with lab(tmp_path, store=MemoryStore()) as subject:
        await subject.world.session(tcp=NewTcp(ports=(5000,), agents=("s2",), budget=1))
        member = await subject.listener("h4")
        await until(lambda: subject.branches("c1") == ["no session"], "not chosen")
        await subject.agents["c2"].stop()
        await subject.down("s2")
        await subject.pass_time(AGENT_GRACE - 0.5)
        assert subject.branches("c1") == ["no session"], "it may be started again"
        member.keepalive()
        await subject.pass_time(1)
        await until(lambda: subject.branches("c1") == ["h4"], "replaced")
        await subject.agents["c2"].start()
        await subject.up("s2")
        await subject.world.stop()
        await subject.world.start()
        await subject.up("s1", "s2")
        await until(lambda: subject.branches("c1") == ["h4"], "stays, for a new controller, too")
        assert subject.branches("c2") == ["no session"]


async def test_settings_change_while_the_session_runs(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        manager = subject.world.running.manager
        session = await subject.world.session(tcp=TCP)
        assert session.record.tcp is not None
        changed = replace(session.record.tcp, cache=1 << 20, congestion="reno")
        await manager.change(7, tcp=changed)
        for agent in subject.agents.values():
            assert (agent.sessions[7]["cache_bytes"], agent.sessions[7]["congestion"]) == (1 << 20, "reno")
        subject.agents["c2"].refuse[7] = "session.congestion cannot be used"
        with pytest.raises(RefusalError, match=r"agent c2: session\.congestion cannot be used"):
            await manager.change(7, tcp=replace(changed, congestion="bbr9"))
        assert manager.get(7).record.tcp == changed
        await until(lambda: subject.agents["c1"].sessions[7]["congestion"] == "reno", "as before")
        with pytest.raises(RefusalError, match="a history of 1073741824 bytes"):
            await manager.change(7, tcp=replace(changed, history=1 << 30))


async def test_an_expired_session_is_refused(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP, lifetime=10)
        host = await subject.listener("h2")
        await subject.world.advance(12, alive=(host,))
        await until(lambda: subject.branches("c1") == ["no session"], "over")
        assert subject.routes("s1") == REFUSED


async def test_a_session_that_expires_without_members_is_refused(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP, lifetime=10)
        assert subject.branches("c1") == []
        await subject.world.advance(12)
        await until(lambda: subject.branches("c1") == ["no session"], "over")
        assert subject.routes("s1") == REFUSED


async def test_sessions_stored_before_there_was_tcp_are_read(tmp_path: Path) -> None:
    store = MemoryStore()
    async with lab(tmp_path, store=store) as subject:
        await subject.world.session()
        (key,) = await store.items("sessions/")
        text = (await store.items("sessions/"))[key]
        from groupflow.store.interface import Transaction

        await store.commit(Transaction({key: text.replace(',"tcp":null', "")}))
        assert "tcp" not in (await store.items("sessions/"))[key]
        await subject.world.stop()
        await subject.world.start()
        assert subject.world.running.manager.get(7).record.tcp is None


async def test_a_prefix_that_has_a_host_in_it_is_refused() -> None:
    with pytest.raises(InvalidError, match="has the address of h1"):
        async with world(tcp_prefix=IPv4Network("10.0.0.0/16")):
            pass


async def test_a_stalled_agent_does_not_stall_the_others(tmp_path: Path) -> None:
    async with lab(tmp_path) as subject:
        await subject.world.session(tcp=TCP)
        subject.agents["c1"].silent = True
        joining = asyncio.create_task(subject.listener("h4"))
        await until(lambda: subject.branches("c2") == ["h4"], "told")
        await subject.agents["c1"].stop()
        await joining
