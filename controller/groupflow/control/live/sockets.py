"""The control sockets of gfswitch: statistics and traces, one JSON object a line."""

import asyncio
import json
from pathlib import Path

from pydantic import ValidationError

from groupflow.control.live.frames import Form, Stats

ANSWER_SECONDS = 0.5
LONGEST = 8 << 20
"""bytes of an answer: a switch with 512 ports has 2 MB of statistics"""


def carries(interface: str | None, root: Path = Path("/")) -> bool:
    """Whether the kernel's link is up, at this end and at the other, as far as that is known here."""
    state = root / "sys/class/net" / (interface or "") / "carrier"
    try:
        return state.read_text().strip() != "0"
    except FileNotFoundError:  # of a switch in another namespace
        return True
    except OSError:  # of an interface that is down
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
                for port in stats.ports:
                    port.up = port.up and carries(port.interface)
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
