"""iperf3's JSON and errors as a cell or one line, and its process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupflow.probe import BusyError, ProbeError, ProbeOptions, RefusedError, iperf3
from groupflow.probe.model import BoundedError
from tests.support.waiting import until

GOLDEN = (Path(__file__).parent / "golden/iperf3-3.12.json").read_bytes()
WHERE = ("10.0.2.1", 5201)
OPTIONS = ProbeOptions(connections=(2,), seconds=7, timeout=0.2, adapted=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


def program(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only iperf3 on PATH is this shell script."""
    path = folder / "iperf3"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def runs(pid: Path) -> bool:
    return Path("/proc", pid.read_text().strip()).exists()


async def refusal() -> str:
    with pytest.raises(ProbeError) as error:
        await iperf3.run(*WHERE, None, 2, OPTIONS)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_json_of_iperf3_3_12() -> None:
    cell, rtt_s = iperf3.read(GOLDEN, *WHERE, 65536, 2)
    assert (cell.buffer, cell.connections) == (65536, 2)
    assert cell.bps == json.loads(GOLDEN)["end"]["sum_received"]["bits_per_second"], (
        "what came, not what left"
    )
    assert cell.busy == pytest.approx(0.3675, abs=1e-4)
    assert rtt_s == 26e-6


@pytest.mark.parametrize(
    ("said", "kind", "expected"),
    [
        ("the server is busy running a test. try again later", BusyError, "measures with another client"),
        ("error - socket buffer size not set correctly", BoundedError, "sysctl -w net.core.rmem_max=65536"),
        ("test authorization failed", RefusedError, "wants a user and a password"),
        ("unable to connect to server: Connection refused", ProbeError, "refused; start `iperf3 -s` there"),
        ("unable to connect to server: No route to host", ProbeError, "no route to host; check the address"),
        ("unable to connect to server: Connection timed out", ProbeError, "firewalls let TCP port 5201"),
        ("control socket has closed unexpectedly", ProbeError, "unexpectedly; is that `iperf3 -s`?"),
        ("a\nb" + "c" * 1000, ProbeError, "iperf3: a b"),
    ],
)
def test_each_error_is_one_line_of_its_class(said: str, kind: type[ProbeError], expected: str) -> None:
    report = json.dumps({"start": {}, "intervals": [], "end": {}, "error": said}).encode()
    with pytest.raises(ProbeError) as error:
        iperf3.read(report, *WHERE, 65536, 2)
    assert type(error.value) is kind and expected in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.slow
@given(JSON)
def test_no_json_causes_another_error(document: object) -> None:
    output = json.dumps(document).encode()
    with pytest.raises(ProbeError, match="iperf3"):
        iperf3.read(output, *WHERE, None, 1)


@given(st.binary(max_size=100))
def test_no_bytes_cause_another_error(output: bytes) -> None:
    with pytest.raises(ProbeError, match="iperf3 printed no JSON of a measurement"):
        iperf3.read(output, *WHERE, None, 1)


def fields(place: dict[Any, Any] | list[Any]) -> Iterator[tuple[Any, Any]]:
    """Each object or list within, with each of its keys."""
    for key in range(len(place)) if isinstance(place, list) else list(place):
        yield place, key
        if isinstance(place[key], dict | list):
            yield from fields(place[key])


@given(st.data())
def test_no_field_of_a_report_causes_another_error(data: st.DataObject) -> None:
    """A field anywhere in it is replaced or gone."""
    report = json.loads(GOLDEN)
    place, key = data.draw(st.sampled_from(list(fields(report))))
    if data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(JSON)
    try:
        cell, rtt_s = iperf3.read(json.dumps(report).encode(), *WHERE, None, 1)
    except ProbeError as error:
        assert "\n" not in str(error)
    else:
        assert 0 <= cell.bps < float("inf") and 0 <= cell.busy < float("inf") and 0 <= rtt_s < float("inf")


def test_nested_deeply() -> None:
    with pytest.raises(ProbeError, match="no JSON"):
        iperf3.read(b"[" * 100_000, *WHERE, None, 1)


async def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report").write_bytes(GOLDEN)
    program(tmp_path, f'echo "$@" >>{tmp_path}/words; cat {tmp_path}/report', monkeypatch)
    cell, _ = await iperf3.run("10.0.2.1", 5999, 65536, 2, OPTIONS)
    assert (cell.buffer, cell.connections) == (65536, 2)
    await iperf3.run("10.0.2.1", 5999, None, 16, OPTIONS)
    first, second = (tmp_path / "words").read_text().splitlines()
    assert first == (
        "--json --client 10.0.2.1 --port 5999 --parallel 2 --omit 2 --time 5 --interval 0.1"
        " --connect-timeout 200 --window 65536"
    )
    assert "--parallel 16" in second and "--window" not in second


async def test_iperf3_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await refusal() == "iperf3 is not on PATH; run: sudo apt install iperf3"
    (tmp_path / "iperf3").touch()
    assert "iperf3 does not start: permission denied" in await refusal()


async def test_an_error_without_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "echo 'iperf3: parameter error - bogus value for --omit' >&2; exit 1", monkeypatch)
    assert "iperf3: parameter error - bogus value for --omit;" in await refusal()
    program(tmp_path, "exit 1", monkeypatch)
    assert "iperf3: no output" in await refusal()


async def test_who_is_silent_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, f"echo $$ >{tmp_path}/pid; exec sleep 60", monkeypatch)
    monkeypatch.setattr(ProbeOptions, "cell_s", 0.2)
    assert "no answer for 0.2 s; is that `iperf3 -s`" in await refusal()
    assert not runs(tmp_path / "pid")


async def test_a_measurement_that_is_cancelled_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(
        tmp_path, f"echo $$ >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 60", monkeypatch
    )
    running = asyncio.create_task(iperf3.run(*WHERE, None, 2, OPTIONS))
    await until((tmp_path / "pid").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not runs(tmp_path / "pid")
