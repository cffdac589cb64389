"""The faults that the soak finds in a host's output."""

import asyncio
from pathlib import Path

import pytest

from tests.soak import stream

WHOLE = stream.words(0, 1000)
END = len(WHOLE)
NONE = None


@pytest.mark.parametrize(
    ("data", "offset", "end", "fault"),
    [
        pytest.param(WHOLE, 0, END, None, id="all of it"),
        pytest.param(WHOLE[:4001], 0, NONE, None, id="killed within a word"),
        pytest.param(WHOLE[4003:], NONE, END, None, id="from now on, which was within a word"),
        pytest.param(b"", NONE, NONE, None, id="killed before it had anything"),
        pytest.param(b"", NONE, END, "0 bytes, which are not of the stream", id="nothing"),
        pytest.param(WHOLE[8:], 0, END, "begins at byte 8 and not 0", id="without the first word"),
        pytest.param(WHOLE[:-8], 0, END, "ends at byte 7992 and not 8000", id="without the last word"),
        pytest.param(
            WHOLE[:800] + WHOLE[808:], 0, END, "a byte is lost, doubled or changed behind byte 0", id="a hole"
        ),
        pytest.param(
            WHOLE[:801] + WHOLE[800:],
            0,
            END,
            "a byte is lost, doubled or changed behind byte 0",
            id="doubled",
        ),
        pytest.param(
            WHOLE[3:801] + b"x" + WHOLE[802:],
            NONE,
            NONE,
            "a byte is lost, doubled or changed behind byte 3",
            id="changed",
        ),
        pytest.param(bytes(100), NONE, NONE, "100 bytes, which are not of the stream", id="something else"),
    ],
)
def test_fault(tmp_path: Path, data: bytes, offset: int | None, end: int | None, fault: str | None) -> None:
    path = tmp_path / "output"
    path.write_bytes(data)
    assert stream.fault(path, offset=offset, end=end) == fault


def test_no_file_is_an_empty_one(tmp_path: Path) -> None:
    assert stream.fault(tmp_path / "none", offset=0, end=END) == "0 bytes, which are not of the stream"


async def test_a_written_stream_is_without_fault(tmp_path: Path) -> None:
    path, taken = tmp_path / "output", asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path.write_bytes(await reader.read())
        writer.close()
        taken.set()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        length = await stream.write(writer, seconds=0.2, rate=1_000_000)
        await taken.wait()
    assert length > 0
    assert stream.fault(path, offset=0, end=length) is None
