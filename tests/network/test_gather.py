"""A server gathers from two clients over a switch: every byte arrives, windows are as the policy has it."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from groupflow.files import variants
from tests.network.harness import Lab, MakeLab, sha256
from tests.support.tokens import token_file

BUFFER = 60_000
SIZES = {"cam1": 6_000_000, "cam2": 3_000_000}
"""some ten rounds: in some of them the advertised window is a segment or two smaller than the one set"""
CLIENTS = f"""
link: 20mbit
buffer: {BUFFER} bytes
clients:
  - {{name: cam1, target: 4mbit, priority: 1, token: c0ffee}}
  - {{name: cam2, target: 2mbit, token: decade}}
"""
TOKENS = {"cam1": "c0ffee", "cam2": "decade"}


@asynccontextmanager
async def running(lab: Lab, host: str, *words: str) -> AsyncGenerator[Process]:
    """`groupflow gather ...` in a host, ended with the block."""
    command = (sys.executable, "-m", "groupflow.cli.main", "gather", *words, "--json")
    process = await asyncio.create_subprocess_exec(
        *lab.network.hosts[host].launcher(), *command, stdout=PIPE, stderr=PIPE, limit=1 << 20
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def events(server: Process) -> AsyncGenerator[dict[str, Any]]:
    assert server.stdout is not None
    async for line in server.stdout:
        yield cast(dict[str, Any], json.loads(line))


async def send(lab: Lab, host: str, client: str, token: str, file: Path, pin: str) -> tuple[int | None, str]:
    """Exit code and last messages of a client."""
    to = f"{lab.topology.hosts['h1'].ip}:26490"
    words = (
        "send",
        "--to",
        to,
        "--client",
        client,
        "--token-file",
        token_file(token),
        "--file",
        str(file),
        "--tls-pin",
        pin,
    )
    async with running(lab, host, *words) as sender:
        _, said = await sender.communicate()
    return sender.returncode, said.decode()


def is_obeyed(client: dict[str, Any]) -> bool:
    """Whether TCP advertises a window that a policy set, not the kernel, within a tenth."""
    window = client["window"]
    return window is not None and window > 10_000 and abs(client["advertised"] - window) <= 0.1 * window


@pytest.mark.alone
async def test_two_clients_share_the_buffer_by_their_targets(make_lab: MakeLab, tmp_path: Path) -> None:
    (tmp_path / "clients.yaml").write_text(CLIENTS)
    out = tmp_path / "gathered"
    words = ("serve", "--clients", str(tmp_path / "clients.yaml"), "--out", str(out), "--rest", "127.0.0.1:0")
    topology = variants.with_rate(variants.named("star"), 20_000_000)
    async with asyncio.timeout(90):
        with make_lab(topology) as lab:
            files = {client: lab.file(size) for client, size in SIZES.items()}
            async with running(lab, "h1", *words) as server:
                ready = await anext(events(server))
                pin = cast(str, ready["tls_pin"])
                code, said = await send(lab, "h3", "cam2", "badbad", files["cam2"], pin)
                assert code == 4 and "token" in said
                async with asyncio.TaskGroup() as group:
                    sending = [
                        group.create_task(send(lab, host, client, TOKENS[client], files[client], pin))
                        for host, client in (("h2", "cam1"), ("h3", "cam2"))
                    ]
                    ended: set[str] = set()
                    shares: set[tuple[int, int]] = set()
                    obeyed: set[str] = set()
                    async for event in events(server):
                        if event["event"] == "round":
                            windows = {c["client"]: c["window"] for c in event["clients"]}
                            if windows.keys() == SIZES.keys() and None not in windows.values():
                                shares.add((windows["cam1"], windows["cam2"]))
                            obeyed |= {c["client"] for c in event["clients"] if is_obeyed(c)}
                        elif event["event"] == "stream_ended":
                            assert event["outcome"] == "complete"
                            ended.add(event["client"])
                            if ended == SIZES.keys():
                                break
                assert [task.result()[0] for task in sending] == [0, 0]
            got = {path.name.partition(".")[0]: sha256(path) for path in out.iterdir()}
    assert got == {client: sha256(file) for client, file in files.items()}
    assert all(sum(pair) <= BUFFER for pair in shares), shares
    assert obeyed == SIZES.keys(), "what TCP advertises is what was set"
    # The surplus is shared in the ratio of the targets, 2 to 1, once round trips are known.
    assert any(first > 1.5 * second > 10_000 for first, second in shares), shares
