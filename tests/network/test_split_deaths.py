"""Agents and the controller of TCP sessions come late or die, in a network of the test's own."""

from groupflow.lab import split
from tests.network.harness import MIB, MakeLab, eventually
from tests.network.tcp_group import FIG5, agents_up, content, group, served_alone


async def test_a_session_without_agents_is_refused_until_one_comes(make_lab: MakeLab) -> None:
    with make_lab(FIG5) as lab:
        async with group(lab) as subject:
            await subject.join("mb1")
            await subject.assert_refused("ma1")
            split.start(lab.network, lab.folder / "logs", hosts=["sa2"])
            await agents_up(lab, 1)
            await subject.send("ma1", MIB)
            await subject.assert_all_have(MIB, ["mb1"])


async def test_an_agent_is_killed_and_restarted(make_lab: MakeLab) -> None:
    async with served_alone(make_lab, "mb1", "mc1") as subject:
        client = await subject.send("ma1", 8 * MIB, pause=0.02)
        await subject.under_way()
        agent = subject.agents["sa2"]
        agent.kill()
        assert (await client.says(0))[0] == "error", "the sender is not left in the dark"
        agent.restart()
        split.wait_ready(agent)
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
            """Hosts of the agents that know the session."""
            return [agent["host"] for agent in subject.told()["agents"] if agent["counters"]]

        (chosen,) = serving()
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ("mb1", "mc1"))
        subject.agents[chosen].kill()
        await eventually(lambda: serving() == sorted({"sa1", "sa2"} - {chosen}), 15.0, "replaced")
        await subject.send("ma1", 2 * MIB)
        await subject.assert_all_have(2 * MIB, ("mb1", "mc1"), line=2)
