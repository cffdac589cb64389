"""Recordings: written, cut off, full, foreign, and played at any moment and speed."""

import asyncio
import gzip
import json
import re
from pathlib import Path

import httpx
import pytest

from groupflow.cli.main import main
from groupflow.control.api.page import make_player
from groupflow.control.live import recording
from groupflow.control.live.recording import Recorder, Recording, RecordingError


def record(path: Path, count: int = 5) -> Path:
    with Recorder(path, {"name": "net", "source": "controller"}) as file:
        for second in range(count):
            file.add(json.dumps({"time": 100 + second}))
    return path


def test_what_is_recorded_is_read(tmp_path: Path) -> None:
    found = Recording.load(record(tmp_path / "a.rec"))
    assert found.topology == {"name": "net", "source": "recording", "from": 100.0, "to": 104.0}
    assert found.times == [100, 101, 102, 103, 104]


def test_a_recording_whose_writer_was_killed_has_all_but_its_end(tmp_path: Path) -> None:
    path = tmp_path / "cut.rec"
    file = Recorder(path, {"name": "net"})
    for second in range(3):
        file.add(json.dumps({"time": second, "more": "x" * 100}))
    whole = path.read_bytes()  # not closed
    assert Recording.load(path).times == [0, 1, 2]
    path.write_bytes(whole[:-20])
    assert Recording.load(path).times in ([0], [0, 1])
    file.close()


async def test_a_full_recording_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recording, "MOST_BYTES", 200)

    async def frames():
        for second in range(100):
            yield json.dumps({"time": second})

    with Recorder(tmp_path / "full.rec", {"name": "net"}) as file:
        await file.follow(frames())
    assert "is full" in caplog.text
    times = Recording.load(tmp_path / "full.rec").times
    assert times == list(range(len(times)))
    assert 0 < len(times) < 20


async def test_a_recording_on_a_full_disk_names_path_and_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    text = r"--record \S+: no space left on device; name another file, or free some room there"
    with pytest.raises(RecordingError, match=text):
        Recorder(Path("/dev/full"), {"name": "net"})

    async def frames():
        yield json.dumps({"time": 1})

    file = Recorder(tmp_path / "a.rec", {"name": "net"})
    monkeypatch.setattr(file, "_file", gzip.open("/dev/full", "wb"))  # noqa: SIM115  (cannot be closed)
    await file.follow(frames())
    assert file.problem is not None and re.match(text, str(file.problem))
    assert "the recording ends here" in caplog.text


@pytest.mark.parametrize(
    "content",
    [b"", b"text", gzip.compress(b""), gzip.compress(b'{"format": 1}\n'), gzip.compress(b"[]\n")],
    # The compressed bytes hold the time, and a name with a time in it is another one in each worker of xdist.
    ids=["nothing", "text", "nothing compressed", "another form", "a list"],
)
def test_a_foreign_file_is_refused_in_one_line(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    assert main(["net", "play", str(path)]) == 4
    error = capsys.readouterr().err
    assert error.startswith(f"groupflow: {path}: ")
    assert error.count("\n") == 1


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match="file exists; name another file"):
        Recorder(tmp_path / "file" / "a.rec", {})


def test_a_recordings_folder_is_made(tmp_path: Path) -> None:
    Recorder(tmp_path / "new" / "a.rec", {}).close()
    assert (tmp_path / "new" / "a.rec").exists()


async def test_a_player_begins_where_it_is_asked_to(tmp_path: Path) -> None:
    app = make_player(Recording.load(record(tmp_path / "a.rec")))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://player") as client:
        assert (await client.get("/")).is_success
        assert (await client.get("/v1/topology")).json()["to"] == 104
        began = asyncio.get_running_loop().time()
        text = (await client.get("/v1/live", params={"at": 2.5, "speed": 10})).text
        passed = asyncio.get_running_loop().time() - began
        assert [line for line in text.splitlines() if line.startswith("data: {")] == [
            f'data: {{"time": {second}}}' for second in range(100, 105)
        ]
        assert "event: end" in text
        assert 0.14 < passed < 2, "1.5 s at tenfold speed"
        for wrong in ({"speed": 0}, {"at": -1}, {"at": "nan"}):
            assert (await client.get("/v1/live", params=wrong)).status_code == 422
