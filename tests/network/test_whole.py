"""One running network with a session, its caches, and a tuned server, whose controller is killed."""

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest

from groupflow.files import variants
from tests.network.harness import MIB, Lab, MakeLab, sha256
from tests.support.api import command
from tests.support.programs import running, until

BUFFER = 4_000_000


async def printed(capsys: pytest.CaptureFixture[str], lab: Lab, *words: str) -> str:
    capsys.readouterr()
    assert await command(lab.controller.url, *words) == 0
    return capsys.readouterr().out


def desired(page: dict[str, Any]) -> dict[str, Any]:
    """All of a page that someone asked for, and who is there: without measurements."""
    kept = {
        "sessions": ("id", "mode", "policy", "senders", "receivers"),
        "members": ("session", "id", "name", "role", "target_bps", "priority"),
        "agents": ("kind", "name", "state", "ordered"),
        "clients": ("name", "target_bps", "priority", "sending"),
    }
    found: dict[str, Any] = {
        part: sorted(str({key: each[key] for key in keys}) for each in page[part])
        for part, keys in kept.items()
    }
    wanted = ("policy", "buffer", "link_bps", "server", "clients")
    return found | {"tuning": {key: page["tuning"][key] for key in wanted}}


async def test_all_is_on_one_page_and_there_again_after_the_controller_was_killed(
    make_lab: MakeLab, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sender waits for a receiver that joins after it all."""
    with make_lab(variants.named("star")) as lab:
        async with asyncio.timeout(200), AsyncExitStack() as stack:
            session = lab.session("n2n", "isolate", window=256)
            (cache,) = await stack.enter_async_context(lab.caches())
            receivers = await stack.enter_async_context(lab.receiving(session, ("h2", "h3", "h5")))
            file = lab.file(4 * MIB)
            sender = await stack.enter_async_context(lab.sender(session, "h1", file, len(receivers) + 1))
            await sender.wait_for("joined")
            members = json.loads(await printed(capsys, lab, "member", "list", str(session.id), "--json"))
            (slow,) = (str(each["id"]) for each in members if each["name"] == "h5")
            wanted = ("--target", "8mbit", "--priority", "3")
            await printed(capsys, lab, "member", "set", str(session.id), slow, *wanted)
            await printed(capsys, lab, "agent", "set", "cache", cache, "--bytes", str(8 * MIB))

            limits = ("--link", "1gbit", "--buffer", str(BUFFER), "--policy", "buffer")
            await printed(capsys, lab, "gather", "set", *limits)
            added = await printed(capsys, lab, "client", "create", "cam", "--target", "10mbit", "--json")
            serve = ("--listen", "127.0.0.1:0", "--discard", "--plain", "--json")
            server = await stack.enter_async_context(
                running("gather", "serve", "--api", lab.controller.url, *serve)
            )
            await until("server ready", lambda: "ready" in server.events)
            to = f"127.0.0.1:{server.events['ready']['port']}"
            line = ("gather", "send", "--to", to, "--client", "cam", "--plain", "--duration", "600s")
            token = json.loads(added)["token"]
            await stack.enter_async_context(running(*line, "--file", "/dev/zero", GROUPFLOW_TOKEN=token))

            async def page() -> dict[str, Any]:
                return json.loads(await printed(capsys, lab, "controller", "show", "--json"))

            async def whole() -> dict[str, Any]:
                """The page, once the server, its client, the cache and all members are there."""
                while True:
                    found = await page()
                    there = [each["state"] for each in found["agents"] if each["kind"] == "cache"]
                    if there == ["up"] and found["tuning"]["sending"] == 1 and len(found["members"]) == 4:
                        return found
                    await asyncio.sleep(0.1)

            before = await whole()
            said = await printed(capsys, lab, "controller", "show")
            for expected in (f"{session.id} ", "n2n", "isolate", "8000kbit", cache, f"{8 * MIB} bytes"):
                assert expected in said, said
            assert "policy buffer" in said and "1 of 1 clients send" in said and "server up" in said

            lab.controller.daemon.kill()
            lab.controller.restart()
            after = await whole()
            assert desired(after) == desired(before)
            late = await stack.enter_async_context(lab.receiver(session, "h4"))
            for agent in (sender, *receivers.values(), late):
                await agent.finish()
            got = {name: sha256(lab.output(session, name)) for name in (*receivers, "h4")}
            assert got == dict.fromkeys(got, sha256(file))
