"""All agents at one controller: reports, expiry, bounds, and what a restart leaves."""

import json
from typing import Any

import httpx
import pytest

from groupflow.agents.controller_link import REPORT_SECONDS, TIMEOUT
from groupflow.control.agents import MOST_AGENTS, AgentId, Agents, Report
from groupflow.control.controller import Controller
from groupflow.control.sessions.admission import Options
from groupflow.control.sessions.model import RefusalError
from groupflow.model.agent import AgentBounds
from groupflow.p4rt.program import Program
from groupflow.store.interface import StoreError, Transaction
from tests.support.api import command, served
from tests.support.world import JSON, P4INFO, world

RIM: dict[str, Any] = {
    "kind": "rim",
    "name": "h3",
    "started": 1,
    "at": "http://10.0.2.1:26503/",
    "holds": {"files": 2, "bytes": 300},
    "bounds": {"bytes": 1000},
}
HUB = RIM | {"kind": "hub", "name": "h1", "bounds": {"rate_bps": 10**6}}
DISPATCHER = RIM | {
    "kind": "dispatcher", "name": "tree@h2:26495",
    "holds": {"hosts": 3, "members": 7}, "bounds": {"hosts": 4096},
}  # fmt: skip
OWN = {"bytes": None, "rate_bps": None, "hosts": None}


async def listed(client: httpx.AsyncClient, *kinds: str) -> list[dict[str, Any]]:
    return [each for each in (await client.get("/agents")).json() if each["kind"] in kinds]


async def report(client: httpx.AsyncClient, form: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    answer = await client.post("/agents/reports", json=form)
    return answer.status_code, answer.json()


async def bound(client: httpx.AsyncClient, kind: str, name: str, **bounds: int | None) -> tuple[int, Any]:
    answer = await client.put("/agents/bounds", json={"kind": kind, "name": name, "bounds": bounds})
    return answer.status_code, answer.json()


@pytest.mark.slow
async def test_all_kinds_are_listed_with_what_they_hold_and_obey() -> None:
    async with served() as (w, client, _):
        await client.patch("/gather", json={"link_bps": 10**7, "buffer": 100_000})
        body = {"started": 1, "repeat": True}
        assert (await client.post("/gather/rounds", json=body)).status_code == 200
        for form in (RIM, HUB, DISPATCHER):
            assert await report(client, form) == (200, OWN)
        w.clock.now += 1
        found = (await client.get("/agents")).json()
        assert [(each["kind"], each["name"]) for each in found] == [
            ("cache", "c1"), ("split", "c1"), ("split", "c2"), ("gather", "server"),
            ("dispatcher", "tree@h2:26495"), ("hub", "h1"), ("rim", "h3"),
        ]  # fmt: skip
        rim = found[-1]
        assert (rim["state"], rim["heard"], rim["at"]) == ("up", 1.0, RIM["at"])
        assert (rim["holds"]["bytes"], rim["holds"]["files"], rim["holds"]["hosts"]) == (300, 2, None)
        assert (rim["bounds"], rim["ordered"]) == (OWN | {"bytes": 1000}, OWN)
        assert (found[3]["state"], found[3]["bounds"]["bytes"]) == ("up", 100_000)


async def test_a_process_may_obey_what_cannot_be_ordered() -> None:
    async with served() as (_, client, _url):
        for form, bounds in (
            (RIM, {"bytes": 0}),
            (HUB, {"rate_bps": 10**12}),
            (DISPATCHER, {"hosts": 10**6}),
        ):
            assert await report(client, form | {"bounds": bounds}) == (200, OWN)
            (shown,) = await listed(client, str(form["kind"]))
            assert shown["bounds"] == OWN | bounds


def test_a_process_stays_registered_though_an_answer_is_late() -> None:
    assert Options().member_timeout > TIMEOUT + REPORT_SECONDS


@pytest.mark.slow
async def test_a_bound_is_told_kept_and_taken_back() -> None:
    async with served() as (w, client, _):
        await report(client, RIM)
        assert await bound(client, "rim", "h3", bytes=500) == (200, OWN | {"bytes": 500})
        assert await report(client, RIM) == (200, OWN | {"bytes": 500})
        (rim,) = await listed(client, "rim")
        assert (rim["bounds"]["bytes"], rim["ordered"]["bytes"]) == (1000, 500), "it has not obeyed yet"
        await report(client, RIM | {"bounds": {"bytes": 500}, "problem": "no room"})
        (rim,) = await listed(client, "rim")
        assert (rim["bounds"]["bytes"], rim["problem"]) == (500, "no room")
        assert await bound(client, "rim", "h3", bytes=None) == (200, OWN)
        assert await report(client, RIM) == (200, OWN)
        assert not await w.store.items("agent-bounds/")


async def test_silent_processes_are_forgotten_and_their_bounds_are_not() -> None:
    async with served() as (w, client, _):
        agents = w.running.agents
        for form in (RIM, HUB):
            await report(client, form)
        await bound(client, "hub", "h1", rate_bps=10**5)
        w.clock.now += w.options.member_timeout - 0.1
        agents.sweep()
        await report(client, RIM)
        w.clock.now += 0.2
        agents.sweep()
        assert [(each["name"], each["state"]) for each in await listed(client, "rim", "hub")] == [
            ("h1", "away"),
            ("h3", "up"),
        ]
        told = [event["event"] for event in w.running.events.recent()]
        assert told.count("hub-up") == 1 and told.count("hub-lost") == 1 and "rim-lost" not in told
        assert await report(client, HUB) == (200, OWN | {"rate_bps": 10**5})


async def test_a_later_process_of_the_same_name_takes_over() -> None:
    async with served() as (_, client, _url):
        await report(client, RIM | {"started": 2})
        status, said = await report(client, RIM)
        assert status == 409 and said["error"].startswith("another rim h3 has taken over; stop one of")
        assert (await report(client, RIM | {"started": 3}))[0] == 200
        assert (await report(client, HUB | {"name": "h3"}))[0] == 200, "a hub is no rim"


BAD_REPORTS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "cache"}, "kind"),
    ({"name": ""}, "name"),
    ({"name": "a\nb"}, "name"),
    ({"name": "x" * 256}, "name"),
    ({"started": -1}, "started"),
    ({"at": "x" * 256}, "at"),
    ({"holds": {"bytes": -1}}, "holds.bytes"),
    ({"holds": {"bytes": 2**63}}, "holds.bytes"),
    ({"holds": {"files": [1]}}, "holds.files"),
    ({"holds": {"names": ["a"]}}, "holds.names"),
    ({"bounds": {"hosts": -1}}, "bounds.hosts"),
    ({"problem": "x" * 1001}, "problem"),
    ({"token": "x"}, "token"),
]


async def test_a_bad_report_is_refused_and_registers_nothing() -> None:
    async with served() as (w, client, _):
        for change, field in BAD_REPORTS:
            status, said = await report(client, RIM | change)
            assert (status, said["error"].startswith(f"{field}: ")) == (422, True), (change, said)
            assert "\n" not in said["error"] and not w.running.agents.reports, change


BAD_BOUNDS: list[tuple[str, str, dict[str, int], int, str]] = [
    ("rim", "h9", {"bytes": 5}, 404, "no rim 'h9'; list the agents"),
    ("cache", "h9", {"bytes": 5}, 404, "no cache 'h9'; list the agents"),
    ("rim", "h3", {"hosts": 5}, 400, "hosts: a rim has no such bound; set its bytes"),
    ("hub", "h1", {"rate_bps": 999}, 422, "bounds.rate_bps: input should be greater than"),
    ("rim", "h3", {"bytes": 0}, 422, "bounds.bytes: input should be greater than"),
    ("rim", "h3", {"files": 1}, 422, "bounds.files: extra inputs are not"),
    ("split", "c1", {"bytes": 5}, 400, "a split agent's bounds are its sessions'; set their cache"),
    ("gather", "server", {"bytes": 5}, 400, "the bound of a server that gathers is its buffer; run"),
]


@pytest.mark.slow
async def test_a_bound_that_cannot_be_obeyed_is_refused() -> None:
    async with served() as (w, client, _):
        for form in (RIM, HUB):
            await report(client, form)
        for kind, name, bounds, status, error in BAD_BOUNDS:
            code, said = await bound(client, kind, name, **bounds)
            assert (code, said["error"].startswith(error)) == (status, True), (kind, bounds, said)
            assert not w.running.agents.ordered and not await w.store.items("agent-bounds/"), (kind, bounds)


async def test_the_bound_of_a_cache_agent_holds_for_streams_under_way_and_later() -> None:
    async with served() as (w, client, _):
        caching = w.running.caching
        assert await bound(client, "cache", "c1", bytes=70_000) == (200, OWN | {"bytes": 70_000})
        (cache,) = await listed(client, "cache")
        assert (cache["bounds"]["bytes"], cache["ordered"]["bytes"]) == (70_000, 70_000)
        agent = w.host("c1")
        told = [said["max_bytes"] for said in agent.received if said.kind == "delegated"]
        assert (set(told[:-1]), told[-1]) == ({0}, 70_000)
        await agent.register()
        assert caching.max_bytes("s1") == 70_000, "the agent was started again"
        await bound(client, "cache", "c1", bytes=None)
        assert caching.max_bytes("s1") == 0


async def test_a_restarted_controller_has_all_bounds() -> None:
    async with world() as w:
        agents = w.running.agents
        names = ("h3", "with/slash", "ü")
        for name in names:
            agents.take(Report.model_validate(RIM | {"name": name}))
            await agents.bound(AgentId("rim", name), AgentBounds(bytes=77))
        again = await Controller.open(w.topology, Program.load(P4INFO, JSON), w.store, Options())
        assert again.agents.ordered == {AgentId("rim", name): AgentBounds(bytes=77) for name in names}
        assert not again.agents.reports
        assert again.agents.take(Report.model_validate(RIM)) == AgentBounds(bytes=77)
        await w.store.commit(Transaction({"agent-bounds/rim/h3": '{"bytes": -1}'}))
        with pytest.raises(StoreError, match="agent-bounds/rim/h3: bytes: input should be greater"):
            await again.agents.restore()


@pytest.mark.slow
async def test_the_number_of_agents_has_a_bound() -> None:
    async with world() as w:
        agents: Agents = w.running.agents
        for number in range(MOST_AGENTS):
            agents.take(Report.model_validate(RIM | {"name": str(number)}))
        with pytest.raises(RefusalError, match="4096 agents are registered, the most; stop some"):
            agents.take(Report.model_validate(RIM))
        agents.take(Report.model_validate(RIM | {"name": "0"}))


@pytest.mark.slow
async def test_the_command_lists_and_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    async with served() as (_, client, url):
        for form in (RIM, HUB, DISPATCHER):
            await report(client, form)
        assert await command(url, "agent", "set", "rim", "h3", "--bytes", "64KiB") == 0
        assert capsys.readouterr().out.split() == ["agent", "rim", "h3", "bound", "65536", "bytes"]
        assert await command(url, "agent", "set", "hub", "h1", "--rate", "2mbit") == 0
        assert await command(url, "agent", "set", "hub", "h1", "--rate", "none") == 0
        assert "its own" in capsys.readouterr().out
        assert await command(url, "agent", "set", "rim", "h3") == 2
        assert "nothing to set; give --bytes, --rate or --hosts" in capsys.readouterr().err
        assert await command(url, "agent", "set", "rim", "h9", "--bytes", "1") == 4
        assert capsys.readouterr().err == "groupflow: no rim 'h9'; list the agents\n"
        assert await command(url, "agent", "list") == 0
        lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
        assert "4096 hosts" in lines["dispatcher"] and "1mbit" in lines["hub"] and "300" in lines["rim"]
        assert await command(url, "agent", "list", "--json") == 0
        assert json.loads(capsys.readouterr().out)[-1]["ordered"]["bytes"] == 65536
        assert await command(url, "controller", "show") == 0
        page = capsys.readouterr().out
        assert "agents: 6" in page and "tree@h2:26495" in page
        assert await command(url, "controller", "show", "--json") == 0
        assert len(json.loads(capsys.readouterr().out)["agents"]) == 6
