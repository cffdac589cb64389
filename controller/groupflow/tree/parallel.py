"""The number of connections of a host to its parent, by measuring (`--parallel auto`).

Data come down to a host, and its parent is not known before it joins. So before it joins, it serves a probe
(docs/how-to/probe.md), and the dispatchers measure once towards it: with kernel-adapted buffers, as edges
have them. If they cannot measure, the host has one connection, and reports why.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from groupflow.endpoint.events import Event
from groupflow.probe.errors import ProbeError
from groupflow.probe.server import ServeOptions, Server
from groupflow.tree.errors import TreeError
from groupflow.tree.questions import ask

ANSWER_S = 20.0
"""seconds for each answer: for a turn, and for one number of connections"""
MOST_S = 60.0
"""seconds for the whole measurement"""


async def measured(
    to: str,
    tls_pin: str | None,
    token: str,
    name: str,
    told: Callable[[Event], None],
    *,
    listen: str = "0.0.0.0",
) -> int:
    """Number of connections to the parent, measured; 1 if that fails. `told` is called with `measuring`
    for each number that was measured, and then with `parallel`."""

    def tell(event: str, **fields: Any) -> None:
        now = time.time()
        told(Event(event, now, {"event": event, "time": now, "role": "receiver", "name": name, **fields}))

    try:
        async with asyncio.timeout(MOST_S), Server(ServeOptions(listen, 0)) as server:
            more = {"port": server.port, "key": server.options.token}
            async with aclosing(ask(to, tls_pin, token, "measure", patience=ANSWER_S, **more)) as answers:
                async for answer in answers:
                    if "probe" in answer:
                        found: dict[str, Any] = answer["probe"]
                        tell("parallel", **found, reason=None)
                        return int(found["connections"])
                    tell("measuring", **answer["cell"])
        reason = "the dispatchers ended the connection"
    except (TreeError, ProbeError) as error:
        reason = str(error)
    except TimeoutError:
        reason = f"the measurement took longer than {MOST_S:g} s"
    except (KeyError, TypeError, ValueError):
        reason = "the dispatchers' answer makes no sense; check that they are of this version"
    tell("parallel", connections=1, reason=reason)
    return 1
