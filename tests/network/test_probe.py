"""`groupflow probe` over a link whose bandwidth-delay product is known."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from groupflow.files import variants
from groupflow.model.topology import Topology
from tests.network.harness import Lab, MakeLab, undisturbed

RATE, DELAY_NS = 20_000_000, 20_000_000
RTT_S = 2 * (DELAY_NS + 1_000_000) / 1e9
"""round trip over both links of the star"""
PRODUCT = RATE / 8 * RTT_S
"""bytes: bandwidth times delay"""
KIB = 1 << 10
COMMAND = (sys.executable, "-m", "groupflow.cli.main", "probe", "run")
Found: TypeAlias = dict[str, Any]
"""the command's JSON"""


def path() -> Topology:
    """A star whose h1 is behind a slow and long link."""
    return variants.with_link(
        variants.named("star"), "h1", "s1", lambda spec: replace(spec, rate=RATE, delay_ns=DELAY_NS)
    )


@contextmanager
def serving(lab: Lab, host: str) -> Generator[None]:
    """`iperf3 -s` in a host of the network."""
    command = [*lab.network.hosts[host].launcher(), "iperf3", "-s", "--forceflush"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as far:
        try:
            assert far.stdout is not None
            while "listening" not in far.stdout.readline():
                assert far.poll() is None
            yield
        finally:
            far.terminate()


async def probed(lab: Lab, *more: str) -> Found:
    """The command's result in h2 for the way to h1."""
    to = str(lab.topology.hosts["h1"].ip)
    command = [*COMMAND, to, "--json", *more]
    done = await asyncio.to_thread(lab.network.hosts["h2"].run, command, 90)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.alone
async def test_the_recommended_buffer_is_near_the_bandwidth_delay_product(make_lab: MakeLab) -> None:
    with make_lab(path()) as lab, serving(lab, "h1"):

        async def measure() -> Found:
            return await probed(
                lab, "--buffers", "16KiB,64KiB,256KiB,1MiB", "--connections", "1,2,4", "--time", "28s"
            )

        found = await undisturbed(lab, measure)
    assert found["connections"] == 1, "without losses one is enough"
    assert PRODUCT / 2 <= found["buffer"] <= 3 * PRODUCT
    assert 0.8 * RATE <= found["bps"] <= RATE
    assert RTT_S <= found["rtt_s"] <= 1.5 * RTT_S


@pytest.mark.alone
async def test_where_buffers_are_too_small_enough_connections_are_recommended(make_lab: MakeLab) -> None:
    needed = PRODUCT / (16 * KIB)
    with make_lab(path()) as lab, serving(lab, "h1"):

        async def measure() -> Found:
            return await probed(lab, "--buffers", "16KiB", "--connections", "1,4,8,16", "--time", "18s")

        found = await undisturbed(lab, measure)
    assert 4 < needed < 8 and found["connections"] == 8
    assert found["buffer"] == 16 * KIB and 0.8 * RATE <= found["bps"] <= RATE
    assert found["cells"][0]["bps"] == pytest.approx(RATE / needed, rel=0.25), "one is bound by its window"
