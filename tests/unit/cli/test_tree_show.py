"""`groupflow tree show`: a tree as its dispatchers have it."""

import asyncio
import json
import sys
from dataclasses import replace

import pytest

from groupflow.cli.tree import lines
from groupflow.store.interface import MemoryStore
from groupflow.tree.service import Dispatch
from tests.support.tokens import token_file
from tests.support.tree import OPTIONS, TOKEN, grove, running
from tests.support.waiting import until


async def show(*words: str) -> tuple[int, str, str]:
    command = (sys.executable, "-m", "groupflow.cli.main", "tree", "show", *words)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    out, said = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, out.decode(), said.decode()


@pytest.mark.slow
async def test_hosts_are_shown_below_their_parents() -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        where = ("--to", f"127.0.0.1:{service.port}", "--token-file", token_file(TOKEN), "--plain")
        assert await show(*where) == (0, "no source has joined, so there is no tree\n", "")
        source, *hosts = await grove(service, 5)
        async with running(source, *hosts):
            await until(lambda: service.forest.attached == 5)
            child = next(host for host in hosts if host.parent == source.name)
            source.say("backlog", {"child": child.name})
            code, out, said = await show(*where, "--json")
            assert (code, said) == (0, "")
            tree = json.loads(out)
            _, text, _ = await show(*where)
    shown = {host["host"]: host for host in tree["hosts"]}
    assert tree["source"] == source.name and len(shown) == 6
    assert {name for name, host in shown.items() if host["is_slow"]} == {child.name}
    first, *rest = text.splitlines()
    assert first == "5 hosts below the source, 1 cluster"
    # A host is indented one step more than the host above it.
    above: list[str] = []
    for line in rest:
        name, depth = line.split()[0], (len(line) - len(line.lstrip())) // 2
        above[depth:] = [name]
        assert shown[name]["parent"] == (above[depth - 1] if depth else None)
    assert len(rest) == 6 and "source" in rest[0]
    assert [line.split()[0] for line in rest if line.endswith(", slow")] == [child.name]


@pytest.mark.slow
async def test_over_tls_by_its_fingerprint() -> None:
    async with Dispatch(replace(OPTIONS, plain=False), MemoryStore()) as service:
        assert service.forest.identity
        where = ("--to", f"127.0.0.1:{service.port}", "--tls-pin", service.forest.identity.pin)
        assert (await show(*where, "--token-file", token_file(TOKEN)))[0] == 0
        for words, text in (
            ((*where, "--token-file", token_file("bad")), "groupflow: the token is wrong"),
            (
                (*where[:3], "0" * 64, "--token-file", token_file(TOKEN)),
                "has another certificate; check --tls-pin",
            ),
            ((*where[:2], "--plain", "--token-file", token_file(TOKEN)), "ended the connection"),
        ):
            code, out, said = await show(*words)
            assert code in (1, 4) and not out and text in said and said.count("\n") == 1, said


def test_hosts_whose_parent_is_not_known_are_shown_too() -> None:
    host = {
        "address": "127.0.0.1:1", "cluster": "c", "latency_ms": 1.5, "children": 0, "capacity": 2,
        "attached": True, "is_head": False, "is_slow": False,
        "delay_ms": None, "is_beyond": False,
    }  # fmt: skip
    hosts = [host | {"host": "a", "parent": None}, host | {"host": "b", "parent": "x", "attached": False}]
    assert lines({"source": "a", "root": "c", "bound_ms": None, "hosts": hosts}) == [
        "0 hosts below the source, 1 cluster",
        "a  127.0.0.1:1  cluster c, source, serves 0 of 2",
        "b  127.0.0.1:1  cluster c, without a parent, serves 0 of 2",
    ]
    far = [hosts[0], host | {"host": "b", "parent": "a", "delay_ms": 41.5, "is_beyond": True}]
    assert lines({"source": "a", "root": "c", "bound_ms": 40.0, "hosts": far}) == [
        "1 host below the source, 1 cluster, delays of at most 40 ms, 1 host beyond that",
        "a  127.0.0.1:1  cluster c, source, serves 0 of 2",
        "  b  127.0.0.1:1  cluster c, 1.50 ms, 41.50 ms from the source, beyond the bound, serves 0 of 2",
    ]
