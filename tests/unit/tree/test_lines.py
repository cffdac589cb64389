"""The service reads and writes lines of the forms in tests/support/tree-lines.json. A test of gfagent's hosts
(dataplane/apps/tree/tests/machine/dialogue.rs) has the same file."""

import asyncio
import json
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from groupflow.store.interface import MemoryStore
from groupflow.tree.service import Dispatch
from tests.support.tree import OPTIONS, Host, grove, running, settled
from tests.support.waiting import until

LINES: dict[str, list[dict[str, Any]]] = json.loads(Path("tests/support/tree-lines.json").read_text())


def form(value: object) -> object:
    """The names of all fields and messages, and the types of all values."""
    match value:
        case dict():
            fields = cast("dict[str, object]", value)
            return {key: each if key == "say" else form(each) for key, each in fields.items()}
        case list():
            return [form(each) for each in cast("list[object]", value)[:1]]
        case _:
            return type(value).__name__


@pytest.mark.slow
async def test_the_service_writes_lines_of_these_forms() -> None:
    written: list[dict[str, Any]] = []
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        service.bound(3)
        hosts = await grove(service, 2)
        async with running(*hosts):
            await until(lambda: settled(service, 3))
            await until(lambda: all({"alive": True} in host.told for host in hosts))
            written.append(await Host(9).connect(service.port))
            hosts[1].say("leave")
            await until(lambda: any(line["members"]["lost"] for line in hosts[0].told if "members" in line))
            hosts[0].say("leave")
            await until(lambda: "refused" in hosts[1].told[-1])
        written += [line for host in hosts for line in host.told]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for plain in (False, True):
        async with Dispatch(replace(OPTIONS, plain=plain), MemoryStore()) as service:
            source = Host(1, source=True)
            written.append(await source.connect(service.port, None if plain else context))
            source.writer.transport.abort()
    found, known = [form(line) for line in written], [form(line) for line in LINES["service"]]
    assert all(each in known for each in found), [each for each in found if each not in known]
    assert all(each in found for each in known), [each for each in known if each not in found]


async def test_the_service_reads_lines_of_these_forms() -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        first, *others = LINES["host"]
        writer.write(json.dumps(first).encode() + b"\n")
        root = json.loads(await reader.readline())["welcome"]["root"]
        for line in others:
            writer.write(json.dumps(line | {"cluster": root}).encode() + b"\n")
        while "refused" not in (line := json.loads(await reader.readline())):
            pass
        assert line["refused"]["code"] == "ended", "the last one was understood"
        writer.close()
