"""TCP sessions on real packets: an ordinary client, agents that split its connection, ordinary listeners."""

import asyncio
import sys
from typing import Any, cast

import pytest

from groupflow.agents.errors import AgentError
from groupflow.errors import Kind
from tests.network.harness import MIB, Lab
from tests.network.tcp_group import PORT, content, group, served
from tests.support.tokens import token_file
from tests.support.waiting import stays


@pytest.mark.parametrize("mode", ["e2e", "n2n"])
async def test_one_connection_reaches_every_member(splitting: Lab, mode: str) -> None:
    size = 3 * MIB + 17
    async with served(splitting, mode=mode, replies="leader") as subject:
        await subject.join("mb1", reply="all-of-it")
        for host in ("mc1", "md1"):
            await subject.join(host)
        client = await subject.send("ma1", size)
        await subject.assert_all_have(size, ("mb1", "mc1", "md1"))
        assert await client.says(0) == ["reply", "all-of-it"]
        assert await subject.receipts(3) == {"mb1": size, "mc1": size, "md1": size}


async def test_any_host_sends_and_members_that_left_get_nothing(splitting: Lab) -> None:
    async with served(splitting, "ma1", "mb1", "md1") as subject:
        await subject.send("mc1", MIB)
        await subject.assert_all_have(MIB, ("ma1", "mb1", "md1"))
        await subject.members.pop("mb1").stop()
        await subject.send("mc1", 2 * MIB)
        await subject.assert_all_have(2 * MIB, ("ma1", "md1"), line=2)
        assert len(subject.programs["mb1"].lines) == 2


async def test_an_address_without_a_session_is_refused_at_once(splitting: Lab) -> None:
    def refusals() -> int:
        counters = cast(dict[str, Any], splitting.controller.get("/switches/s1/counters"))
        return sum(count["packets"] for count in counters["refusals"])

    async with group(splitting) as subject:
        before = refusals()
        await subject.assert_refused("ma1", address="10.200.77.77")
        assert refusals() == before + 1


async def test_a_port_that_is_not_the_sessions_is_refused_by_its_agent(splitting: Lab) -> None:
    async with served(splitting, "mb1") as subject:
        await subject.assert_refused("ma1", port=PORT + 1)
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ["mb1"])


async def test_other_packets_to_the_prefix_are_dropped(splitting: Lab) -> None:
    def refused() -> int:
        counters = cast(dict[str, Any], splitting.controller.get("/switches/s1/counters?counter=drops"))
        return sum(count["packets"] for count in counters["drops"] if count["index"] == "refused")

    before = refused()
    done = splitting.network.hosts["ma1"].run(["ping", "-c", "1", "-W", "1", "10.200.255.1"])
    assert done.returncode != 0
    assert refused() == before + 1


async def test_members_that_are_refused_hear_why(splitting: Lab) -> None:
    """With another token than the session's, or at a port that another member has."""
    async with served(splitting, "mb1") as subject:
        token = subject.session.token
        for name, given, text in (
            ("mb1", "00" * 16, "token"),
            ("another", token, "mb1 is a member with port 9000 of mb1 already"),
        ):
            command = [sys.executable, "-m", "groupflow.cli.main", "session", "join", str(subject.session.id)]
            command += ["--token-file", token_file(given), "--listen", "9000", "--name", name]
            done = await asyncio.to_thread(subject.lab.network.hosts["mb1"].run, command)
            assert done.returncode == Kind.FORBIDDEN.exit_code and text in done.stderr, done.stderr
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ["mb1"])


async def test_a_member_whose_program_does_not_listen_is_put_out(splitting: Lab) -> None:
    async with served(splitting, "mb1") as subject:
        absent = await subject.join("mc1", listen=False)
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ["mb1"])
        with pytest.raises(AgentError) as put_out:
            await asyncio.wait_for(absent.finish(), 10)
        assert put_out.value.code == "put_out"
        path = f"/sessions/{subject.session.id}/members"
        members = cast(list[dict[str, Any]], subject.lab.controller.get(path))
        assert [member["name"] for member in members] == ["mb1"]


async def test_a_member_is_killed_and_the_others_get_all_and_it_leaves(splitting: Lab) -> None:
    size = 4 * MIB
    async with served(splitting, "mb1", "mc1", "md1") as subject:
        await subject.send("ma1", size, pause=0.02)
        await subject.under_way()
        await subject.programs["mc1"].stop()
        await subject.assert_all_have(size, ("mb1", "md1"))
        assert list(subject.told()["streams"][-1]["failed"])
        # It may only have ended this stream; the next one finds nobody there.
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ("mb1", "md1"), line=2)
        with pytest.raises(AgentError) as put_out:
            await asyncio.wait_for(subject.members["mc1"].finish(), 10)
        assert put_out.value.code == "put_out"


@pytest.mark.parametrize(("one", "other"), [("s1", "s2"), ("ma1", "s1"), ("mc1", "s2")])
async def test_a_link_goes_down_and_up(splitting: Lab, one: str, other: str) -> None:
    size = 6 * MIB
    async with served(splitting, "mb1", "mc1") as subject:
        client = await subject.send("ma1", size, pause=0.02)
        await subject.under_way()
        subject.lab.network.change_link(one, other, "down")
        programs = subject.programs["mc1"]
        await stays(lambda: not client.lines and len(programs.lines) == 1, "told of an end", seconds=1.0)
        subject.lab.network.change_link(one, other, "up")
        await subject.assert_all_have(size, ("mb1", "mc1"))
        assert await subject.receipts(2) == {"mb1": size, "mc1": size}


async def test_late_members_begin_at_the_start_or_where_they_join(splitting: Lab) -> None:
    size = 6 * MIB
    async with served(splitting, "mb1", history_bytes=32 * MIB) as subject:
        await subject.send("ma1", size, pause=0.03)
        await subject.under_way()
        await subject.join("md1", start="start")
        await subject.join("mc1")
        await subject.assert_all_have(size, ("mb1", "md1"))
        word, count, digest = await subject.programs["mc1"].says(1)
        assert word == "end" and 0 < int(count) < size
        assert digest == content(size, size - int(count)), "the rest of the stream, without a gap"
