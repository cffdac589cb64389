"""Diffusion-type flow control on running switches: link delays are measured, and packets wait all along."""

import asyncio
import sys
from dataclasses import replace
from typing import Any, cast

from groupflow.topology import Topology
from tests.network.conftest import MakeLab
from tests.network.harness import Lab, eventually
from topologies import variants

PORT = 5001
BURST = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
start = time.monotonic()
for number in range(int(sys.argv[2])):
    time.sleep(max(0.0, start + number / int(sys.argv[3]) - time.monotonic()))
    out.sendto(bytes(1472), (sys.argv[1], 5001))
"""


def bottleneck() -> Topology:
    """Line without loss, with a tenth of the rate from s2 to s3."""
    line = variants.with_loss(variants.named("line"), 0)
    slow = [
        replace(link, spec=replace(link.spec, rate=10_000_000)) if link.name == "s2-s3" else link
        for link in line.links
    ]
    return replace(line, links=tuple(slow))


def state(lab: Lab) -> list[dict[str, Any]]:
    return cast(list[dict[str, Any]], lab.controller.get("/diffusion/1/state"))


async def test_packets_wait_all_along_instead_of_at_the_bottleneck(make_lab: MakeLab) -> None:
    with make_lab(bottleneck()) as lab:
        request = {"kind": "flow", "src": "h1", "dst": "h2", "protocol": "udp", "dst_port": PORT, "d": "0.1"}
        made = cast(dict[str, Any], lab.controller.post("/diffusion", request))
        hops = made["hops"]
        assert [(hop["switch"], hop["to"], hop["delay_from"]) for hop in hops] == [
            ("s1", "s2", "measured"),
            ("s2", "s3", "measured"),
            ("s3", "h2", "topology"),
        ]
        delays = [float(hop["delay"].removesuffix("us").removesuffix("ms")) for hop in hops[:2]]
        scale = [1000.0 if "us" in hop["delay"] else 1.0 for hop in hops[:2]]
        assert all(5.0 <= delay / unit < 6.5 for delay, unit in zip(delays, scale, strict=True)), hops
        await eventually(lambda: state(lab)[0]["r"] is not None, 5, "feedback is heard")

        command = [sys.executable, "-c", BURST, str(lab.topology.hosts["h2"].ip), "3000", "1650"]
        sending = asyncio.create_task(asyncio.to_thread(lab.network.hosts["h1"].run, command))
        await eventually(lambda: min(hop["n"] for hop in state(lab)[:2]) > 60, 10, "both wait")
        first, second, last = state(lab)
        assert abs(first["n"] - second["n"]) < 60
        assert first["j"] < 2000 and last["n"] < 20
        await sending

        lab.controller.delete("/diffusion/1")
        assert lab.controller.get("/diffusion") == []
