"""A tuning round for a thousand clients: from the line with measurements to the line with settings."""

import json
import time
from random import Random
from statistics import median

from experiments.bench.figure import Figure
from groupflow.endpoint.events import parse_event
from groupflow.endpoint.gather.clients import ClientList, Registered
from groupflow.endpoint.gather.tuner import Tuner
from groupflow.tuning.model import Client, Limits
from groupflow.tuning.policies import POLICIES

_CLIENTS = 1000
_CONNECTIONS = 4
_ROUNDS = 40
_MEGABIT = 10**6
_MOST_MS = 20.0
"""longest time that a round should take"""


def figures() -> list[Figure]:
    """Times of each policy; half of the clients are below their targets, so that searches are under way."""
    return [_figure(policy) for policy in POLICIES]


def _figure(policy: str) -> Figure:
    random = Random(1)
    names = [f"client-{number}" for number in range(_CLIENTS)]
    clients = (
        Client(name, random.randint(1, 10) * _MEGABIT, number % 3) for number, name in enumerate(names)
    )
    limits = Limits(64 << 20, connections=_CONNECTIONS)
    tuner = Tuner(
        ClientList(tuple(Registered(client, "") for client in clients), limits, 10**10), POLICIES[policy]
    )
    spans: list[float] = []
    for number in range(_ROUNDS):
        line = _round(number, names, random)
        started = time.process_time()
        json.dumps(tuner.take(parse_event(line)))
        spans.append((time.process_time() - started) * 1000)
    worst = f"at most {max(spans):.1f}, {_MOST_MS:g} wanted"
    note = f"processor time; {_CLIENTS} clients with {_CONNECTIONS} connections; {worst}"
    return Figure(f"tuning round, {policy}", round(median(spans), 2), "ms", note)


def _round(number: int, names: list[str], random: Random) -> str:
    clients = [
        {
            "client": name, "stream": f"{place:016x}", "throughput_bps": random.randint(1, 10 * _MEGABIT),
            "delivered_bps": 1, "bytes": number * 10**6, "rtt_ms": random.uniform(10, 300),
            "server_rtt_ms": 50.0, "rto_ms": random.uniform(200, 600), "loss_ratio": random.uniform(0, 0.02),
            "window": random.randint(5_000, 100_000), "advertised": 10_000, "connections": _CONNECTIONS,
            "wanted": _CONNECTIONS, "held": 0, "room": 1 << 20,
        }
        for place, name in enumerate(names)
    ]  # fmt: skip
    return json.dumps(
        {"event": "round", "time": 1.0, "round": number + 1, "seconds": 0.5, "clients": clients}
    )
