"""The control socket of one split agent: JSON lines, an answer for each request, events in between."""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias, cast

from groupflow.errors import InvalidError, UnavailableError, reason

Form: TypeAlias = Mapping[str, object]
"""A JSON object."""

_LINE_LIMIT = 16 << 20
"""bytes; the statistics of all streams of an agent come in one line"""
_ANSWER_SECONDS = 5.0


class ControlSocket:
    """One connection. Made by `open`; `serve` ends when the agent closes it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_event: Callable[[Form], None]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._on_event = on_event
        self._waiting: dict[int, asyncio.Future[Form]] = {}
        self._last = 0

    @staticmethod
    async def open(where: Path, on_event: Callable[[Form], None]) -> "ControlSocket":
        """Connects to an agent. Raises UnavailableError."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                reader, writer = await asyncio.open_unix_connection(where, limit=_LINE_LIMIT)
        except TimeoutError:
            raise UnavailableError(f"{where}: no answer") from None
        except OSError as error:
            raise UnavailableError(f"{where}: {reason(error)}") from None
        return ControlSocket(reader, writer, on_event)

    async def serve(self) -> None:
        """Takes the agent's answers and events. Raises UnavailableError when the connection ends."""
        try:
            while line := await self._reader.readline():
                self._take(line)
        except (OSError, ValueError) as error:  # ValueError: a line beyond the limit
            raise UnavailableError(f"the connection failed: {reason(error)}") from None
        finally:
            self._drop("the agent closed the connection")
        raise UnavailableError("the agent closed the connection")

    async def request(self, op: str, **fields: object) -> Form:
        """The answer to one request. Raises InvalidError, UnavailableError."""
        self._last += 1
        future: asyncio.Future[Form] = asyncio.get_running_loop().create_future()
        self._waiting[self._last] = future
        number = self._last
        try:
            self._writer.write(json.dumps({"id": number, "op": op, **fields}).encode() + b"\n")
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self._writer.drain()
                answer = await future
        except TimeoutError:
            raise UnavailableError(f"no answer to {op} within {_ANSWER_SECONDS:g} s") from None
        except OSError as error:
            raise UnavailableError(f"the connection failed: {reason(error)}") from None
        finally:
            self._waiting.pop(number, None)
        if answer.get("ok") is not True:
            raise InvalidError(_reason(answer))
        return answer

    async def close(self) -> None:
        self._drop("the connection was closed")
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    def _take(self, line: bytes) -> None:
        try:
            value = cast(object, json.loads(line))
        except ValueError:
            raise UnavailableError(f"the agent's line is not JSON: {line[:80]!r}") from None
        if not isinstance(value, dict):
            raise UnavailableError(f"the agent's line is not an object: {line[:80]!r}")
        said = cast(dict[str, object], value)
        if "event" in said:
            self._on_event(said)
            return
        number = said.get("id")
        future = self._waiting.get(number) if isinstance(number, int) else None
        if future is not None and not future.done():
            future.set_result(said)

    def _drop(self, why: str) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(UnavailableError(why))


def _reason(answer: Form) -> str:
    error = answer.get("error")
    text = cast(Form, error).get("text") if isinstance(error, dict) else error
    return str(text or "refused without a reason").splitlines()[0][:300]


def forms(value: Form | None, key: str) -> list[Form]:
    """The objects of a list within an object."""
    found = value.get(key) if value else None
    items = cast(list[object], found) if isinstance(found, list) else []
    return [cast(Form, item) for item in items if isinstance(item, dict)]
