"""TCP sessions on real packets: an ordinary client, agents that split its connection, ordinary listeners."""

import asyncio
import sys
from typing import Any, cast

import pytest

from groupflow.cli.command import REFUSED
from groupflow.endpoint.errors import PutOutError
from groupflow.lab import split
from tests.network.harness import MIB, Lab, MakeLab, eventually
from tests.network.tcp_group import FIG5, PORT, agents_up, content, group, served, served_alone


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
        return counters["refusals"][0]["packets"]

    async with group(splitting) as subject:
        before = refusals()
        await subject.assert_refused("ma1", address="10.200.77.77")
        assert refusals() == before + 1


async def test_a_session_without_agents_is_refused_until_one_comes(make_lab: MakeLab) -> None:
    with make_lab(FIG5) as lab:
        async with group(lab) as subject:
            await subject.join("mb1")
            await subject.assert_refused("ma1")
            split.start(lab.network, lab.folder / "logs", hosts=["sa2"])
            await agents_up(lab, 1)
            await subject.send("ma1", MIB)
            await subject.assert_all_have(MIB, ["mb1"])


async def test_a_port_that_is_not_the_sessions_is_refused_by_its_agent(splitting: Lab) -> None:
    async with served(splitting, "mb1") as subject:
        await subject.assert_refused("ma1", port=PORT + 1)
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ["mb1"])


async def test_other_packets_to_the_prefix_are_dropped(make_lab: MakeLab) -> None:
    with make_lab(FIG5) as lab:
        done = lab.network.hosts["ma1"].run(["ping", "-c", "1", "-W", "1", "10.200.0.1"])
        assert done.returncode != 0
        counters = cast(dict[str, Any], lab.controller.get("/switches/s1/counters?counter=drops"))
        assert {
            count["index"]: count["packets"] for count in counters["drops"] if count["index"] == "refused"
        } == {"refused": 1}


async def test_members_that_are_refused_hear_why(splitting: Lab) -> None:
    """With another token than the session's, or at a port that another member has."""
    async with served(splitting, "mb1") as subject:
        token = subject.session.token
        for name, given, text in (
            ("mb1", "00" * 16, "token"),
            ("another", token, "mb1 is a member with port 9000 of mb1 already"),
        ):
            command = [sys.executable, "-m", "groupflow.cli.main", "member", str(subject.session.id)]
            command += ["--token", given, "--listen", "9000", "--name", name]
            done = await asyncio.to_thread(subject.lab.network.hosts["mb1"].run, command)
            assert done.returncode == REFUSED and text in done.stderr, done.stderr
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ["mb1"])


async def test_a_member_whose_program_does_not_listen_is_put_out(splitting: Lab) -> None:
    async with served(splitting, "mb1") as subject:
        absent = await subject.join("mc1", listen=False)
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ["mb1"])
        with pytest.raises(PutOutError):
            await asyncio.wait_for(absent.finish(), 10)
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
        with pytest.raises(PutOutError):
            await asyncio.wait_for(subject.members["mc1"].finish(), 10)


@pytest.mark.parametrize(("one", "other"), [("s1", "s2"), ("ma1", "s1"), ("mc1", "s2")])
async def test_a_link_goes_down_and_up(splitting: Lab, one: str, other: str) -> None:
    size = 6 * MIB
    async with served(splitting, "mb1", "mc1") as subject:
        client = await subject.send("ma1", size, pause=0.02)
        await subject.under_way()
        subject.lab.network.change_link(one, other, "down")
        await asyncio.sleep(1.0)  # the length of the outage, not a wait for something
        assert not client.lines and len(subject.programs["mc1"].lines) == 1, "nobody was told of an end"
        subject.lab.network.change_link(one, other, "up")
        await subject.assert_all_have(size, ("mb1", "mc1"))
        assert await subject.receipts(2) == {"mb1": size, "mc1": size}


async def test_an_agent_is_killed_and_restarted(make_lab: MakeLab) -> None:
    async with served_alone(make_lab, "mb1", "mc1") as subject:
        client = await subject.send("ma1", 8 * MIB, pause=0.02)
        await subject.under_way()
        agent = subject.agents["sa2"]
        agent.kill()
        assert (await client.says(0))[0] == "error", "the sender is not left in the dark"
        agent.restart()
        agent.wait_until_ready()
        await agents_up(subject.lab, 2)
        whole = ["end", str(MIB), content(MIB)]
        before = {host: len(program.lines) for host, program in subject.programs.items()}
        await subject.send("ma1", MIB)
        for host in ("mb1", "mc1"):
            program = subject.programs[host]
            await eventually(lambda p=program: whole in p.lines, 30, f"{host} after {before[host]} lines")


async def test_the_controller_is_gone_and_streams_go_on(make_lab: MakeLab) -> None:
    """To their end; the next controller learns what happened meanwhile."""
    size = 4 * MIB
    async with served_alone(make_lab, "mb1", "mc1") as subject:
        await subject.send("ma1", size, pause=0.03)
        await subject.under_way()
        subject.lab.controller.daemon.kill()
        await subject.assert_all_have(size, ("mb1", "mc1"))
        subject.lab.controller.restart()
        assert await subject.receipts(2) == {"mb1": size, "mc1": size}


async def test_one_agent_of_two_is_chosen_and_replaced_when_it_is_gone(make_lab: MakeLab) -> None:
    async with served_alone(make_lab, "mb1", "mc1", budget=1) as subject:

        def serving() -> list[str]:
            """Hosts of the session's agents that know it."""
            return [agent["host"] for agent in subject.told()["agents"] if agent["counters"]]

        (chosen,) = serving()
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ("mb1", "mc1"))
        subject.agents[chosen].kill()
        await eventually(lambda: serving() == sorted({"sa1", "sa2"} - {chosen}), 15.0, "replaced")
        await subject.send("ma1", 2 * MIB)
        await subject.assert_all_have(2 * MIB, ("mb1", "mc1"), line=2)


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
