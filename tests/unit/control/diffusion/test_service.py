"""Flows are installed, measured, shown and removed, over fake switches: the service, REST and the command."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from groupflow.control.diffusion.plan import FASTEST, FIRST
from groupflow.errors import Error, InvalidError
from groupflow.model.flow import FlowRequest
from groupflow.p4rt.entries import Generator
from groupflow.store.interface import MemoryStore
from tests.support.api import command, served
from tests.support.world import World, world

H1_TO_H4 = FlowRequest(kind="flow", src="h1", dst="h4", protocol="udp", dst_port=5001)


def tables(w: World, switch: str) -> dict[str, int]:
    """Number of a switch's entries for the control."""
    names = ("controlled_flows", "feedback_sources", "ticks", "generators")
    return {name: len(found) for name in names if (found := w.switches[switch].table(name))}


async def test_a_flow_is_put_on_every_switch_of_its_path() -> None:
    async with world() as w:
        flow = await w.running.diffusion.install(H1_TO_H4)
        assert [(p.switch, p.branches[0].node, p.branches[0].controlled) for p in flow.parts] == [
            ("s1", "s2", True),
            ("s2", "s3", True),
            ("s3", "h4", False),
        ]
        middle = {"controlled_flows": 1, "feedback_sources": 1, "ticks": 1, "generators": 1}
        assert tables(w, "s1") == tables(w, "s2") == middle
        assert tables(w, "s3") == {"controlled_flows": 1, "ticks": 1, "generators": 1}
        (ticks,) = w.switches["s3"].table("ticks").values()
        rate = 100_000_000 * 64 // (8 * 1514)
        port, to = w.topology.port_to("s3", "h4"), w.topology.port_to("s3", "s2")
        assert ticks == (port * 8 + 1, 1, 0x40, 0x40, 0x40, rate, 1, to, FIRST)
        await w.running.diffusion.remove(flow.number)
        await w.settle()
        assert tables(w, "s1") == tables(w, "s2") == tables(w, "s3") == {}
        assert flow.warning is None


async def test_delays_are_measured() -> None:
    """Half of what a probe took, 20 ms, across the wrap of its clock; ticks come once a delay."""
    async with world() as w:
        flow = await w.running.diffusion.install(H1_TO_H4)
        assert w.running.diffusion.measured == {"s1-s2": 10_000_000, "s2-s3": 10_000_000}
        assert flow.parts[0].branches[0].delay_ns == 10_000_000
        generator = next(value for value in flow.entries["s2"].values() if isinstance(value, Generator))
        assert generator.period_ns == 10_000_000 and generator.frame[12:18] == b"\x88\xb6\0\1\0\0"
        (source,) = w.switches["s1"].table("feedback_sources").values()
        assert source[2:] == (0, 0x40, 0x40, 0x03, 0x01, 0x40)  # alpha = 1; D / d = 0.1 / 10 ms = 8 + 2


async def test_without_measuring_the_topology_counts() -> None:
    async with world() as w:
        for switch in w.switches.values():
            switch.probe_us = 500
        flow = await w.running.diffusion.install(replace(H1_TO_H4, measure=False))
        assert w.running.diffusion.measured == {}
        assert flow.parts[0].branches[0].delay_ns == 10_000_000


async def test_a_session_is_followed_down_its_tree_and_as_members_come() -> None:
    async with world() as w:
        await w.session(policy="isolate")
        await w.host("h1").join(7, "sender")
        await w.host("h2").join(7)
        flow = await w.running.diffusion.install(FlowRequest(kind="session", session=7))
        assert flow.record.request.source == 1
        assert [part.switch for part in flow.parts] == ["s1"]
        await w.host("h3").join(7)
        await w.settle()
        flow = w.running.diffusion.get(flow.number)
        assert [(part.switch, [b.node for b in part.branches]) for part in flow.parts] == [
            ("s1", ["h2", "s2"]),
            ("s2", ["h3"]),
        ]
        ticks = w.switches["s1"].table("ticks")
        assert [(match, params[-2:]) for match, params in sorted(ticks.items())] == [
            ((1, 0), (0, FIRST)),
            ((1, 1), (0, FASTEST)),
        ]
        queues = {part.switch: part.queue for part in w.running.diffusion.flows[1].parts}
        streams = {name: list(w.switches[name].table("streams").values()) for name in queues}
        assert {name: entry[-1] for name, (entry,) in streams.items()} == queues
        await w.running.diffusion.remove(1)
        await w.settle()
        assert [entry[-1] for entry in w.switches["s2"].table("streams").values()] == [0]


async def test_a_link_is_controlled_as_a_whole() -> None:
    """Per input port: the switch behind the link has a queue for it at each other port."""
    async with world() as w:
        flow = await w.running.diffusion.install(FlowRequest(kind="link", src="s1", dst="s2"))
        (before, behind) = flow.parts
        assert [branch.node for branch in before.branches] == ["s2"]
        assert {branch.node for branch in behind.branches} == {"h3", "s3", "c2"}
        assert not any(branch.controlled for branch in behind.branches)
        out, into = w.topology.port_to("s1", "s2"), w.topology.port_to("s2", "s1")
        ((match, _),) = w.switches["s1"].table("controlled_flows").items()
        assert match[:4] == (0, 0, out, 0x1FF)
        ((match, _),) = w.switches["s2"].table("controlled_flows").items()
        assert match[:4] == (into, 0x1FF, 0, 0)


async def test_six_flows_share_a_port_and_a_seventh_is_told_what_to_do() -> None:
    async with world() as w:
        install = w.running.diffusion.install
        flows = [await install(replace(H1_TO_H4, dst_port=port, measure=False)) for port in range(1, 7)]
        assert [flow.parts[0].queue for flow in flows] == [1, 2, 3, 4, 5, 6]
        with pytest.raises(Error, match=r"^all 6 queues of s1 towards s2 are taken; remove a flow, or"):
            await install(replace(H1_TO_H4, dst_port=7, measure=False))
        assert len(w.running.diffusion.flows) == 6
        back = await install(FlowRequest(kind="flow", src="h4", dst="h1", measure=False))
        assert back.parts[0].queue == 1  # other ports


async def test_a_new_controller_carries_on() -> None:
    store = MemoryStore()
    async with world(store=store) as w:
        await w.running.diffusion.install(replace(H1_TO_H4, d="1/5"))
        held = {name: dict(switch.entries) for name, switch in w.switches.items()}
        await w.stop()
        await w.start()
        await w.settle()
        assert {name: dict(switch.entries) for name, switch in w.switches.items()} == held
        assert w.running.diffusion.get(1).record.delays == {"s1-s2": 10_000_000, "s2-s3": 10_000_000}


@pytest.mark.parametrize(
    ("request_", "error", "text"),
    [
        (replace(H1_TO_H4, src="h9"), Error, "no host 'h9'; there are h1, "),
        (replace(H1_TO_H4, protocol=None), Error, "a port needs a protocol; give tcp or udp"),
        (replace(H1_TO_H4, d="x"), InvalidError, "D 'x' is no number; write one like 0.1 or 1/10"),
        (replace(H1_TO_H4, d="-1"), InvalidError, "D -1 is negative"),
        (replace(H1_TO_H4, alpha="3"), InvalidError, "alpha 3 is out of range"),
        (
            FlowRequest(kind="link", src="s1", dst="s3"),
            Error,
            "no link from s1 to s3; its neighbour switches are",
        ),
        (FlowRequest(kind="link", src="s1", dst="x"), Error, "no switch 'x'; there are s1, s2, s3"),
    ],
)
async def test_what_cannot_be_is_refused_in_one_line(
    request_: FlowRequest, error: type[Exception], text: str
) -> None:
    async with world() as w:
        with pytest.raises(error) as refused:
            await w.running.diffusion.install(replace(request_, measure=False))
        assert str(refused.value).startswith(text) and "\n" not in str(refused.value)
        assert w.running.diffusion.flows == {}


def hop_registers(w: World, switch: str, cell: int, **values: int) -> None:
    for name, value in values.items():
        w.switches[switch].registers[w.running.program.registers[name], cell] = value


@pytest.mark.slow
async def test_the_command_installs_shows_and_removes(capsys: pytest.CaptureFixture[str]) -> None:
    async with served() as (w, client, url):

        async def run(*words: str) -> Any:
            assert await command(url, "flow", *words) == 0
            return capsys.readouterr()

        shown = await run("create", "--flow", "h1", "h4", "--protocol", "tcp", "--d", "1.6")
        assert "h1 to h4 tcp" in shown.out and "measured" in shown.out
        assert shown.err.startswith("groupflow: warning: D 1.6 is beyond the stability limit of 1: ")
        assert "s1>s2 s2>s3 s3>h4" in (await run("list")).out
        assert json.loads((await run("show", "1", "--json")).out)["hops"][0]["d_i"] == 160.0
        assert "10ms" in (await run("delays")).out
        out = w.topology.port_to("s1", "s2") * 8 + 1
        hop_registers(w, "s1", out, queue_depth=7, queue_rate=6400, queue_share=2**32 - 1)
        hop_registers(w, "s1", out, heard_headroom=2**31 - 1 - 12_800, heard_depth=9)
        hop, unread = (await client.get("/diffusion/1/state")).json()[:2]
        assert (hop["n"], hop["r"], hop["next_n"], hop["j"], hop["share"]) == (7, 200.0, 9, 100.0, None)
        assert unread["problem"] == "the switch does not give its registers"
        await run("create", "--session", "7", "--no-measure")
        await run("delete", "1")
        assert [flow["name"] for flow in json.loads((await run("list", "--json")).out)] == ["session 7 of 1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["show", "9"], 4, "groupflow: no controlled flow 9; list the controlled flows"),
        (["delete", "9"], 4, "groupflow: no controlled flow 9; list the controlled flows"),
        (["create", "--flow", "h1", "x"], 4, "groupflow: no host 'x'; there are"),
        (["create", "--session", "9"], 4, "groupflow: no session 9; create it, or list the sessions"),
        (["create", "--session", "7", "--source", "3"], 4, "groupflow: session 7 has senders 1; give one"),
        (["create", "--link", "s1", "s2", "--d", "zero"], 4, "groupflow: D 'zero' is no number; write one"),
        (["create", "--link", "s1", "s2", "--dst-port", "1"], 2, "groupflow: --dst-port belongs to --flow"),
        (["create", "--flow", "h1", "h2", "--source", "1"], 2, "groupflow: --source belongs to --session"),
        (["create"], 2, "groupflow: --flow or --session or --link is missing; give one"),
    ],
)
async def test_the_command_fails_in_one_line(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with served() as (_w, _client, url):
        assert await command(url, "flow", *words) == code
        captured = capsys.readouterr()
        assert captured.out == "" and captured.err.startswith(message) and captured.err.count("\n") == 1


async def test_the_api_tells_a_rate_agent_what_to_do() -> None:
    async with served() as (_w, client, _url):
        made = await client.post("/diffusion", json={"kind": "link", "src": "s1", "dst": "s2"})
        assert made.status_code == 201
        told = (await client.get("/diffusion/switches/s2")).json()
        assert len(told["ticks"]) == len(told["cells"]) == 3
        assert told["ticks"][0]["frame"].startswith("0180c200000e")
        again = await client.post("/diffusion", json={"kind": "link", "src": "s1", "dst": "s2"})
        assert again.status_code == 409 and again.json()["error"] == (
            "link s1-s2 is under control already; remove it first"
        )


async def test_two_installations_at_once_get_two_numbers() -> None:
    async with world() as w:
        install = w.running.diffusion.install
        flows = await asyncio.gather(*(install(replace(H1_TO_H4, dst_port=port)) for port in (1, 2)))
        assert sorted(flow.number for flow in flows) == [1, 2]
