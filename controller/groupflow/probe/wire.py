"""The protocol of a probe: lines of JSON, and a proof of the token.

    client                                server
    {"groupflow_probe": 1, "nonce": C}
                                          {"groupflow_probe": 1, "nonce": S}
    {"proof": HMAC(token, client C S)}
                                          {"proof": HMAC(token, server C S), "ticket": T}
    {"limits": [bytes, ...]}
                                          {"granted": [bytes, ...]}
    {"buffer": B, "connections": N, "warm_up": W, "seconds": X}
                                          {"ready": true}
    as many connections as said, each: {"data": T}, then bytes
                                          {"bytes": N, "seconds": X, "busy": Y}
    ... the next cell, or the end of the connection

The token itself is never sent, and both sides prove that they have it. Nothing is encrypted.
"""

import asyncio
import hmac
import json
import secrets
from typing import Any, Literal

from groupflow.probe.model import ProbeError

VERSION = 1
LONGEST_LINE = 4096


def nonce() -> str:
    return secrets.token_hex(16)


def new_token() -> str:
    """A new token in hexadecimal, like the controller's."""
    return secrets.token_hex(16)


def proof(token: str, side: Literal["client", "server"], client: str, server: str) -> str:
    """HMAC-SHA256, hexadecimal: only a bearer of the token can make it, and for these nonces only."""
    text = f"groupflow-probe:{side}:{client}:{server}"
    return hmac.digest(token.strip().lower().encode(), text.encode(), "sha256").hex()


def proves(given: object, token: str, side: Literal["client", "server"], client: str, server: str) -> bool:
    """Whether a proof is right. Takes the same time for any wrong proof."""
    wanted = proof(token, side, client, server).encode()
    return isinstance(given, str) and given.isascii() and hmac.compare_digest(given.encode(), wanted)


class LineError(ProbeError):
    """The other side sent a line that is not one of this protocol."""


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


async def read(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next line; None: the other side has ended. Raises LineError, OSError."""
    try:
        line = await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise LineError("half a line") from None
        return None
    except asyncio.LimitOverrunError:
        raise LineError("a line that is too long") from None
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise LineError("a line that is not JSON") from None
    if not isinstance(message, dict):
        raise LineError("a line that is not an object")
    return message  # pyright: ignore[reportUnknownVariableType]


def word(message: dict[str, Any], key: str) -> str:
    """A required field: a nonce or a ticket. Raises LineError."""
    value = message.get(key)
    if not isinstance(value, str) or not value.isascii():
        raise LineError(f"{key}: none, or not in ASCII")
    return value


def number(message: dict[str, Any], key: str, least: float, most: float) -> float:
    """A required number within bounds. Raises LineError."""
    value = message.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise LineError(f"{key}: not a number from {least:g} to {most:g}")
    return value
