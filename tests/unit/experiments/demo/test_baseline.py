"""The TCP baseline: its number of bytes, and their transfer by the script."""

import asyncio
import hashlib
import json
import socket
import sys
from pathlib import Path

import pytest

from experiments.common import tcp
from experiments.common.scripts import SCRIPT
from experiments.demo import baseline
from experiments.demo.options import Options
from groupflow.files import variants

MIB = 1 << 20


def plan(options: Options, size: int, *, paced: bool = False) -> baseline.Plan:
    topology = variants.with_loss(options.topology(), options.losses[-1])
    receivers = [name for name in topology.hosts if name[0] == "m" and name != "ma1"]
    return baseline.plan(topology, "ma1", receivers, size, paced=paced)


def test_a_baseline_that_is_quick_gets_the_whole_file() -> None:
    small = plan(Options(members=1, loss=0), 64 * MIB)
    assert small.file_bytes == 64 * MIB
    assert small.note == ""
    assert small.seconds == pytest.approx(64 * MIB * 8 / (100e6 * 1448 / 1514 / 3))


def test_a_slow_one_gets_less_and_says_so() -> None:
    large = plan(Options(members=5, loss=0), 64 * MIB)
    assert large.file_bytes < 64 * MIB
    assert large.file_bytes % MIB == 0
    assert large.seconds <= baseline.MAX_SECONDS
    assert "instead of 64 MiB" in large.note


def test_loss_and_delay_slow_tcp_down() -> None:
    lossless = plan(Options(members=1, loss=0), 640 * MIB)
    lossy = plan(Options(members=1, loss=10_000_000), 640 * MIB)
    far = plan(Options(members=1, loss=10_000_000, delay_ns=100_000_000), 640 * MIB)
    assert lossless.file_bytes > lossy.file_bytes > far.file_bytes >= MIB


def test_the_loss_limit_is_mathis_formula() -> None:
    topology = variants.with_loss(Options().topology(), 10_000_000)
    # 40 ms there and back over two links of 10 ms, each of which loses 1 %.
    expected = 1448 * 8 / 0.04 * (1.5 / (1 - 0.99**2)) ** 0.5
    assert baseline.loss_limit(topology, "ma1", "mb1") == pytest.approx(expected)
    assert baseline.loss_limit(Options().topology(), "ma1", "mb1") == float("inf")


def test_connections_are_paced_where_links_are_not_emulated() -> None:
    assert plan(Options(members=2, switch="bmv2"), MIB, paced=True).pace == 10_000_000 // 6
    assert plan(Options(members=2), MIB).pace is None


@pytest.mark.parametrize("pace", [[], ["400000000"]])
async def test_the_script_copies_a_file_to_every_receiver(tmp_path: Path, pace: list[str]) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(range(256)) * 4096)
    expected = hashlib.sha256(bytes(range(256)) * 4096).hexdigest()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])

    async def start(*arguments: str) -> asyncio.subprocess.Process:
        script = str(SCRIPT)
        return await asyncio.create_subprocess_exec(
            sys.executable, script, *arguments, stdout=asyncio.subprocess.PIPE
        )

    server = await start("serve", port, str(file), "3", *pace)
    fetchers = [await start("fetch", "127.0.0.1", port) for _ in range(3)]
    results = [json.loads((await fetcher.communicate())[0]) for fetcher in fetchers]
    for result in results:
        assert result["bytes"] == 1 << 20
        assert result["sha256"] == expected
    output, _ = await server.communicate()
    ready, started = output.decode().splitlines()
    assert ready == "ready"
    assert all(json.loads(started)["started"] <= result["finished"] for result in results)


@pytest.mark.parametrize(
    ("arguments", "code"), [([], 2), (["fetch"], 2), (["serve", "1", "/nonexistent", "1", "2", "3"], 1)]
)
def test_the_script_refuses_what_it_cannot_do(
    arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> socket.socket:
        raise OSError("address in use")

    monkeypatch.setattr(socket, "create_server", refuse)
    assert tcp.main(arguments) == code
    assert len(capsys.readouterr().err.splitlines()) == 1
