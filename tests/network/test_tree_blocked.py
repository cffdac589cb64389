"""Edges over QUIC where UDP does not come through."""

import asyncio
import json
import os
import sys
from pathlib import Path

TO = "127.0.0.1:26495"
INSIDE = f"""
export GROUPFLOW_TOKEN=c0ffee
ip link set lo up
ip rule add pref 1 ipproto udp blackhole
ip rule add pref 2 lookup local
ip rule del pref 0
"$@" tree serve --listen {TO} --json >serve.log 2>&1 &
until pin=$(grep -o -m1 -E '[0-9a-f]{{64}}' serve.log); do sleep 0.1; done
common="--to {TO} --tls-pin $pin --listen 127.0.0.1:0"
"$@" tree send $common --file sent --json >send.log 2>&1 &
"$@" tree recv $common --edges quic --output came --json
"""
"""a shell in a network where UDP has no route; its processes end with the one that has pid 1"""
APART = ("unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")


async def test_where_udp_is_blocked_a_host_says_so_and_names_the_cure(tmp_path: Path) -> None:
    (tmp_path / "sent").write_bytes(os.urandom(300_000))
    python = (sys.executable, "-m", "groupflow.cli.main")
    process = await asyncio.create_subprocess_exec(
        *(*APART, "sh", "-ec", INSIDE, "sh", *python),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            out, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 1, said.decode()
    events = [json.loads(line) for line in out.splitlines()]
    error = next(event for event in events if event["event"] == "error")
    assert (error["code"], error["cure"]) == ("udp_blocked", "choose --edges stream")
