"""gfswitch's control socket: one JSON object a line, for what P4Runtime does not have."""

import json
import socket
from pathlib import Path
from typing import cast

from groupflow.errors import UnavailableError

_SECONDS = 5.0


class ControlError(UnavailableError):
    """A running gfswitch refused a request or did not answer. One line."""


def ask(path: Path, question: dict[str, object]) -> dict[str, object]:
    """Sends one request to a running switch. Raises ControlError."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_SECONDS)
            connection.connect(str(path))
            connection.sendall(json.dumps(question).encode() + b"\n")
            with connection.makefile("rb") as replies:
                reply = cast(object, json.loads(replies.readline()))
    except (OSError, ValueError) as error:
        raise ControlError(f"gfswitch does not answer: {error}") from None
    if not isinstance(reply, dict):
        raise ControlError(f"gfswitch answered {reply!r}")
    answer = cast(dict[str, object], reply)
    if "error" in answer:
        raise ControlError(str(answer["error"]))
    return answer
