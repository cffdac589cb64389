"""A stream whose bytes show their place: the numbers of its words, of eight bytes each."""

import asyncio
from array import array
from pathlib import Path

WORD = 8
_BATCH = 512
"""words written at once"""


def words(first: int, count: int) -> bytes:
    """So many words of the stream, from a number on."""
    numbers = array("Q", range(first, first + count))
    numbers.byteswap()
    return numbers.tobytes()


def begins_at(data: bytes) -> int | None:
    """The offset of data that begin somewhere in the stream; None: they are not of it, or too short."""
    for cut in range(WORD):
        first, second = (int.from_bytes(data[at : at + WORD]) for at in (cut, cut + WORD))
        if second == first + 1 and len(data) >= cut + 2 * WORD:
            return first * WORD - cut
    return None


def fault(path: Path, *, offset: int | None, end: int | None) -> str | None:
    """The fault in a host's output that must begin at `offset`, or anywhere, and end at `end`, or
    anywhere."""
    data = path.read_bytes() if path.exists() else b""
    if not data and end is None:
        return None
    begin = begins_at(data)
    if begin is None:
        return f"{len(data)} bytes, which are not of the stream" if len(data) > 2 * WORD or end else None
    first = -(-begin // WORD)
    whole = data[first * WORD - begin :]
    if words(first, len(whole) // WORD) != whole[: len(whole) // WORD * WORD]:
        return f"a byte is lost, doubled or changed behind byte {begin}"
    if offset is not None and begin != offset:
        return f"begins at byte {begin} and not {offset}"
    if end is not None and begin + len(data) != end:
        return f"ends at byte {begin + len(data)} and not {end}"
    return None


async def write(to: asyncio.StreamWriter, *, seconds: float, rate: int) -> int:
    """Writes the stream at `rate` bytes a second and ends it. Returns its number of bytes."""
    loop = asyncio.get_running_loop()
    begun, written = loop.time(), 0
    while (passed := loop.time() - begun) < seconds:
        while written + _BATCH * WORD <= passed * rate:
            to.write(words(written // WORD, _BATCH))
            await to.drain()
            written += _BATCH * WORD
        await asyncio.sleep(_BATCH * WORD / rate)
    to.close()
    return written
