"""The control sockets of gfswitch: statistics and traces, one JSON object a line."""

import asyncio
import json
from collections.abc import Collection
from pathlib import Path

from pydantic import ValidationError

from groupflow.control.live.frames import Form, Stats

ANSWER_SECONDS = 0.5
LONGEST = 8 << 20
"""bytes of an answer: a switch with 512 ports has 2 MB of statistics"""


def carriers(interfaces: Collection[str | None], root: Path = Path("/")) -> dict[str | None, bool]:
    """Whether the kernel's link of each interface of a switch is up, at this end and at the other.

    A deleted interface is down. A switch in another namespace has none here: all its links count as up.
    """
    folder = root / "sys/class/net"
    is_here = any(interface and (folder / interface).exists() for interface in interfaces)
    return {
        interface: not (is_here and interface) or _carries(folder / interface) for interface in interfaces
    }


def _carries(interface: Path) -> bool:
    try:
        return (interface / "carrier").read_text().strip() != "0"
    except OSError:  # of an interface that is down or was deleted
        return False


class SwitchSockets:
    """The sockets `NAME.sock` in a folder. A connection is kept for the next question, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    async def stats(self, switch: str) -> Stats | None:
        """The statistics now; None: the switch does not answer."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if switch not in self._open:
                    self._open[switch] = await self._connect(switch)
                reader, writer = self._open[switch]
                writer.write(b'{"op":"stats"}\n')
                stats = Stats.model_validate_json(await reader.readline())
                carrying = carriers({port.interface for port in stats.ports})
                for port in stats.ports:
                    port.up = port.up and carrying[port.interface]
                return stats
        except (OSError, ValidationError, ValueError):  # ValueError: the line is too long
            if switch in self._open:
                self._open.pop(switch)[1].close()
            return None

    async def trace(self, switch: str, wanted: Form, seconds: float) -> Form | None:
        """The way of the next packet (docs/reference/trace.md); None: none came in time.

        Raises OSError when the switch does not answer, ValueError with its refusal.
        """
        reader, writer = await self._connect(switch)
        try:
            writer.write(json.dumps({"op": "trace", **wanted}).encode() + b"\n")
            async with asyncio.timeout(seconds):
                answer: Form = json.loads(await reader.readline())
        except TimeoutError:
            return None
        finally:
            writer.close()
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def close(self) -> None:
        for _, writer in self._open.values():
            writer.close()
        self._open.clear()

    async def _connect(self, switch: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(self._folder / f"{switch}.sock", limit=LONGEST)
