"""Clients that are tuned in virtual time: the server's measurements, and the effect of its settings."""

from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from groupflow import sim
from groupflow.control.gather.model import Client, Limits, Policy, Reading, Setting
from groupflow.files.topology import parse
from groupflow.sim.gather import Gathering, Round, Sender, run

SECOND = 10**9
MSS = 1000
TOPOLOGY = {
    "name": "gather",
    "switches": {"r1": {"device_id": 1, "grpc": 9601}, "r2": {"device_id": 2, "grpc": 9602}},
    "hosts": {name: {"ip": f"10.0.{n + 1}.1/24"} for n, name in enumerate(("a", "b", "server"))},
    "links": [
        {"ends": ["a", "r1"], "rate": "100mbit", "delay": "5ms", "queue": 100},
        {"ends": ["b", "r1"], "rate": "100mbit", "delay": "15ms", "queue": 100, "loss": 0.01},
        {"ends": ["r1", "r2"], "rate": "10mbit", "delay": "20ms", "queue": 100},
        {"ends": ["r2", "server"], "rate": "100mbit", "delay": "0ms", "queue": 100},
    ],
}


@dataclass
class Told:
    """A policy that follows a table of times and settings, and records its readings."""

    table: list[tuple[int, dict[str, Setting]]]
    rounds: list[dict[str, Reading]] = field(default_factory=list[dict[str, Reading]])

    def tune(
        self, state: object, clients: Any, readings: Any, limits: Limits
    ) -> tuple[int, dict[str, Setting]]:
        number = len(self.rounds)
        self.rounds.append(dict(readings))
        latest = next(settings for first, settings in reversed(self.table) if first <= number)
        return number, {client.name: latest[client.name] for client in clients}


def gather(
    policy: Policy[Any], seconds: int = 30, senders: tuple[Sender, ...] | None = None, **more: Any
) -> list[Round]:
    everyone = (Sender(Client("a", 10**6), "a"), Sender(Client("b", 10**6), "b"))
    scenario = sim.Scenario(
        "gather",
        parse(yaml.safe_dump(TOPOLOGY), "gather"),
        (),
        seconds * SECOND,
        sample_ns=SECOND,
        kinds={"r1": "fifo", "r2": "fifo"},
    )
    traffic = sim.TcpTraffic("cubic", packet=MSS + 52)
    gathering = Gathering(
        everyone if senders is None else senders, "server", traffic, Limits(100_000, 8, MSS), policy, **more
    )
    return run(scenario, gathering)[0]


def mean(rounds: list[Round], client: str, begin: float, end: float) -> float:
    found = [r.reading.throughput for r in rounds if r.client == client and begin < r.end_s <= end]
    return sum(found) / len(found) / 1e6


def test_windows_and_connections_make_the_rate() -> None:
    policy = Told(
        [
            (0, {"a": Setting(10_000, 1), "b": Setting(10_000, 1)}),
            (20, {"a": Setting(20_900, 4), "b": Setting(5_000, 1)}),
            (40, {"a": Setting(5_000, 2), "b": Setting(5_000, 1)}),
            (60, {"a": Setting(5_000, 2), "b": Setting(None, 8)}),
        ]
    )
    rounds = gather(policy, 40)
    trip = 2 * 0.025 + 1066 * 8 / 10e6 + 2 * 1066 * 8 / 100e6
    for begin, window in ((5, 10_000), (15, 20_000), (25, 5_000)):
        expected = window * 8e-6 / trip
        assert mean(rounds, "a", begin, begin + 5) == pytest.approx(expected, rel=0.06), window
    assert mean(rounds, "b", 30, 40) > 3 * mean(rounds, "b", 10, 30), "the kernel's buffers and 8 connections"
    last = policy.rounds[-1]["a"]
    assert (last.window, last.connections, last.loss) == (5_000, 2, 0.0)
    assert policy.rounds[19]["a"].rtt == pytest.approx(trip, rel=0.02)
    lossy = [each["b"] for each in policy.rounds[2:]]
    assert 0.004 < sum(each.loss for each in lossy) / len(lossy) < 0.03, "1 % of packets"
    assert policy.rounds[-1]["b"].timeout is not None


def test_nothing_is_known_of_who_has_not_sent() -> None:
    policy = Told([(0, {"a": Setting(10_000, 1), "b": Setting(10_000, 1)})])
    gather(policy, 1)
    assert policy.rounds[0]["a"] == Reading(0.0, None, None, 0)


def test_clients_come_and_go_and_come_again_to_the_policy() -> None:
    policy = Told([(0, {"a": Setting(10_000, 2), "b": Setting(10_000, 2)})])
    senders = (Sender(Client("a", 10**6), "a", stop_s=5.0), Sender(Client("b", 10**6), "b", start_s=3.0))
    rounds = gather(policy, 10, senders)
    there = {name: [r.end_s for r in rounds if r.client == name] for name in "ab"}
    assert (min(there["a"]), max(there["a"])) == (0.5, 4.5)
    assert (min(there["b"]), max(there["b"])) == (3.0, 10.0)
    assert mean(rounds, "b", 5, 10) > 0.8


def test_a_round_trip_becomes_longer() -> None:
    policy = Told([(0, {"a": Setting(10_000, 1), "b": Setting(10_000, 1)})])
    gather(policy, 20, stretches=[(10.0, "a", "r1", 145_000_000)])
    first, last = policy.rounds[15]["a"], policy.rounds[-1]["a"]
    assert first.rtt == pytest.approx(0.052, abs=0.003)
    assert last.rtt == pytest.approx(0.332, abs=0.003)


def test_a_run_repeats() -> None:
    table = [(0, {"a": Setting(20_000, 3), "b": Setting(20_000, 3)})]
    first, second = Told(list(table)), Told(list(table))
    assert gather(first, 10) == gather(second, 10)
