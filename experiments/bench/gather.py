"""The cost of gathering: 1,000 clients with 4,000 connections on one server.

`groupflow bench gather` runs it alone. All on loopback, server and clients on the same processors.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from experiments.bench.tools import Figure, example, memory_bytes
from groupflow.agents.events import Event
from groupflow.agents.gather.options import ServeOptions
from groupflow.agents.gather.service import GatherService, Message
from groupflow.control.gather.clients import ClientList, Registered, token_hash
from groupflow.control.gather.model import Client, Limits, Readings, Setting, Settings
from groupflow.control.gather.tuner import Tuner
from groupflow.processes import program
from groupflow.study import RunFailedError

_CLIENTS, _CONNECTIONS = 1000, 4
_KBIT = 32
_SECONDS = 30
_TOKEN = "c0ffee"
_BUFFER, _MEMORY = 64 << 20, 128 << 20
"""bounds of all windows, and of all reassembly, bytes"""
_MOST_MS = 20.0
"""longest time that a round should take"""


@dataclass(frozen=True)
class _Restless:
    """A policy with new windows for all clients in each round, so that a tuning is as large as possible."""

    random: Random = field(default_factory=lambda: Random(1))

    def tune(
        self, state: None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[None, Settings]:
        share = limits.buffer // max(1, len(clients))
        windows = (self.random.randint(share // 2, share) for _ in clients)
        return None, {
            client.name: Setting(window, _CONNECTIONS)
            for client, window in zip(clients, windows, strict=True)
        }


class _Timed(Tuner):
    """A tuner that also reports the processor time of a tuning, s."""

    spent = 0.0

    def take(self, event: Event, *, repeat: bool = False, refused: str | None = None) -> Message | None:
        started = time.thread_time()
        message = super().take(event, repeat=repeat, refused=refused)
        self.spent = time.thread_time() - started
        return message


def figures() -> list[Figure]:
    """Rounds and memory with a thousand clients."""
    return asyncio.run(_crowd())


async def _crowd() -> list[Figure]:
    clients = tuple(Registered(Client(f"c{n}", 1000 * _KBIT), token_hash(_TOKEN)) for n in range(_CLIENTS))
    listed = ClientList(clients, Limits(_BUFFER, connections=_CONNECTIONS), 10**10)
    load_tool = example("groupflow-gather", "gather_load")
    spent: list[float] = []
    tuner = _Timed(listed, _Restless())
    connected = 0
    with tempfile.TemporaryDirectory() as folder:
        tls = (Path(folder, "hub.crt"), Path(folder, "hub.key"))

        def take(event: Event) -> None:
            nonlocal connected
            if event.name == "round":
                rows = event.fields["clients"]
                assert isinstance(rows, list)
                connected = sum(row["connections"] for row in rows)  # type: ignore[union-attr]
            elif event.name == "tuned" and connected >= _CLIENTS * _CONNECTIONS:
                # Processor time of the policy, and of the server.
                spent.append(1000 * (tuner.spent + event.number("processor_seconds")))

        options = ServeOptions(listen="127.0.0.1:0", memory=_MEMORY, max_clients=_CLIENTS, tls=tls)
        async with GatherService(tuner, options, on_event=take) as service:
            ready = await service.ready()
            arguments = (f"127.0.0.1:{ready.integer('port')}", str(_CLIENTS), str(_KBIT), str(_SECONDS))
            # In real use clients are elsewhere: here they get the time that the server leaves.
            command = [str(load_tool), *arguments, ready.text("tls_pin")]
            async with program(("nice", "-n", "10"), command, errors=None) as load:
                said, _ = await load.communicate()
            memory = memory_bytes(service.agent.pid, "VmHWM")
    if not spent or said.split()[:1] != [b"%d" % _CLIENTS]:
        raise RunFailedError(
            f"gather_load: {said.decode().strip()}, {len(spent)} rounds with all connections"
        )
    note = f"{_CLIENTS} clients, {_CONNECTIONS} TLS connections each, all windows change; {_MOST_MS:g} wanted"
    return [
        Figure("gather: tuning", round(statistics.median(spent), 2), "ms", f"processor time, {note}"),
        Figure(
            "gather: memory", round(memory / 2**20, 1), "MiB",
            f"most resident; --memory {_MEMORY >> 20} MiB, windows {_BUFFER >> 20} MiB (the kernel's)",
        ),
    ]  # fmt: skip
