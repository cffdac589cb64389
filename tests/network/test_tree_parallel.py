"""Several connections to a parent, over a path that loses packets."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groupflow.files import variants
from groupflow.model.topology import Topology
from tests.network.harness import Lab, MakeLab, undisturbed
from tests.support.tokens import token_file

RATE, DELAY_NS, LOSS = 20_000_000, 20_000_000, 10_000_000
FILE_BYTES = 4 << 20
COMMAND = (sys.executable, "-m", "groupflow.cli.main", "tree")
TOKEN = "c0ffee"


def path(loss: int) -> Topology:
    """A star whose h1 is behind a slow and long link, which loses `loss` of 10^9 packets."""
    return variants.with_link(
        variants.named("star"),
        "h1",
        "s1",
        lambda spec: replace(spec, rate=RATE, delay_ns=DELAY_NS, loss=loss),
    )


@contextmanager
def dispatchers(lab: Lab) -> Generator[tuple[str, ...]]:
    """Dispatchers in h2, whose TCP takes losses for congestion. Yields access to them."""
    done = lab.network.hosts["h2"].run(["sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno"], 10)
    assert done.returncode == 0, done.stderr
    address = str(lab.topology.hosts["h2"].ip)
    command = [*COMMAND, "serve", "--token-file", token_file(TOKEN), "--listen", f"{address}:0", "--json"]
    launcher = lab.network.hosts["h2"].launcher()
    with subprocess.Popen([*launcher, *command], stdout=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            ready = json.loads(service.stdout.readline())
            yield (
                "--to",
                f"{address}:{ready['port']}",
                "--tls-pin",
                ready["tls_pin"],
                "--token-file",
                token_file(TOKEN),
            )
        finally:
            service.terminate()


async def carried(lab: Lab, file: Path, parallel: str) -> dict[str, dict[str, Any]]:
    """The last event of each name at h1, which gets the file from h2."""
    with dispatchers(lab) as where:
        sending = [*COMMAND, "send", *where, "--file", str(file)]
        receiving = [*COMMAND, "recv", *where, "--output", "/dev/null", "--json", "--parallel", parallel]
        sent, received = await asyncio.gather(
            asyncio.to_thread(lab.network.hosts["h2"].run, sending, 90),
            asyncio.to_thread(lab.network.hosts["h1"].run, receiving, 90),
        )
    assert (sent.returncode, received.returncode) == (0, 0), received.stderr
    events = [json.loads(line) for line in received.stdout.splitlines()]
    return {event["event"]: event for event in events}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(FILE_BYTES))
    return path


async def test_where_packets_are_lost_eight_connections_are_faster_than_one(
    make_lab: MakeLab, file: Path
) -> None:
    with make_lab(path(LOSS)) as lab:
        several = await undisturbed(lab, lambda: carried(lab, file, "8"))
        single = await undisturbed(lab, lambda: carried(lab, file, "1"))
    assert several["complete"]["goodput_bps"] > 1.5 * single["complete"]["goodput_bps"]
