"""A tree over a satellite, with round trips longer than hosts of a near tree wait for each other."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

from groupflow.files import variants
from tests.network.harness import MakeLab
from tests.network.test_tree_parallel import COMMAND, dispatchers

FAR = variants.with_link(
    variants.named("star"),
    "h1",
    "s1",
    lambda spec: replace(spec, rate=20_000_000, delay_ns=400_000_000, queue=3000),
)


async def test_a_file_comes_over_800_ms(make_lab: MakeLab, tmp_path: Path) -> None:
    file, copy = tmp_path / "data.bin", tmp_path / "copy.bin"
    file.write_bytes(bytes(range(256)) * 4096)
    with make_lab(FAR) as lab, dispatchers(lab) as where:
        sending = [*COMMAND, "send", *where, "--file", str(file)]
        receiving = [*COMMAND, "recv", *where, "--output", str(copy), "--json"]
        sent, received = await asyncio.gather(
            asyncio.to_thread(lab.network.hosts["h2"].run, sending, 60),
            asyncio.to_thread(lab.network.hosts["h1"].run, receiving, 60),
        )
    assert (sent.returncode, received.returncode) == (0, 0), received.stderr
    assert copy.read_bytes() == file.read_bytes()
    events = [json.loads(line) for line in received.stdout.splitlines()]
    # It keeps the parent that it has first.
    assert [event["event"] for event in events].count("joined") == 1
