"""Random, truncated and contradictory frames at every port: nothing crashes, nothing is forwarded."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

from groupflow.files import variants
from tests.network import fuzz_frames
from tests.network.fuzz_frames import FRAMES, SEED
from tests.network.harness import MIB, Lab


def counters(lab: Lab, switch: str) -> tuple[int, dict[int, int]]:
    """Packets that came in (a full queue may have taken some), and packets that went out by port."""
    stats = lab.network.gfswitch(switch).stats()
    ports = cast(list[Any], stats["ports"])
    arrived = sum(port["in"]["packets"] + sum(port["in"]["drops"].values()) for port in ports)
    return arrived, {port["port"]: port["out"]["packets"] for port in ports}


PORTS = [
    (switch.name, port)
    for switch in variants.with_members(variants.named("fig5"), 1).switches.values()
    for port in switch.ports
]


def fuzz(lab: Lab, switch: str, port: int) -> None:
    end = lab.topology.switches[switch].ports[port]
    before, sent_before = counters(lab, switch)
    launcher = lab.network.hosts[end.node].launcher() if end.node in lab.network.hosts else ()
    script = [sys.executable, "-I", str(Path(fuzz_frames.__file__)), end.interface, str(SEED + port)]
    subprocess.run([*launcher, *script], check=True, timeout=30)
    deadline = time.monotonic() + 5
    while counters(lab, switch)[0] < before + FRAMES and time.monotonic() < deadline:
        time.sleep(0.01)
    arrived, sent = counters(lab, switch)
    assert arrived >= before + FRAMES, (switch, port)
    lab.network.check()
    assert sent == sent_before, (switch, port)


async def test_nothing_leaves_that_should_not_and_the_switches_work_as_before(pair: Lab) -> None:
    for switch, port in PORTS:
        fuzz(pair, switch, port)
    async with pair.caches(), pair.transfer(pair.session(), pair.file(MIB)) as transfer:
        (await transfer.outcome()).assert_everyone_has_it()
