"""From a round to the message to the server."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from groupflow.agents.events import Event, EventError, parse_event
from groupflow.control.gather.clients import Registered, parse, token_hash
from groupflow.control.gather.model import Client, Limits, Reading, Readings, Settings
from groupflow.control.gather.policies import POLICIES
from groupflow.control.gather.tuner import Tuner, measurements
from tests.support.gather import GOOD

CAM: dict[str, Any] = {
    "client": "cam1", "stream": "00c5", "throughput_bps": 1003520, "delivered_bps": 1003520,
    "bytes": 8519680, "rtt_ms": 101.2, "server_rtt_ms": 100.9, "rto_ms": 304.0, "loss_ratio": 0.25,
    "window": 16384, "advertised": 16384, "connections": 2, "wanted": 2, "held": 0, "room": 4194304,
}  # fmt: skip


def event(*clients: dict[str, Any], number: int = 1) -> Event:
    fields = {"event": "round", "time": 1.5, "round": number, "seconds": 0.5, "clients": list(clients)}
    return parse_event(json.dumps(fields))


def test_a_round_is_read_as_gfagent_writes_it() -> None:
    (found,) = measurements(event(CAM))
    assert found.reading == Reading(1003520, 101.2 / 1000, 16384, 2, 0.25, 304 / 1000)
    (found,) = measurements(event(CAM | {"rtt_ms": None, "rto_ms": None, "window": None}))
    assert found.reading == Reading(1003520, 100.9 / 1000, None, 2, 0.25, None)
    (found,) = measurements(event(CAM | {"rtt_ms": None, "server_rtt_ms": None, "loss_ratio": None}))
    assert found.reading.rtt is None and found.reading.loss == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"throughput_bps": "much"}, "round.clients[0].throughput_bps: 'much' is no number"),
        ({"loss_ratio": "few"}, "round.clients[0].loss_ratio: 'few' is no number"),
        ({"window": -1}, "round.clients[0].window: -1 is no number of 0 or more"),
        ({"client": 7}, "round.clients[0].client: 7 is no name"),
        ({"window": math.nan}, "round.clients[0].window: nan is no number of 0 or more"),
    ],
)
def test_what_is_no_round_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(EventError) as caught:
        measurements(event(CAM | change))
    assert str(caught.value).startswith(said)


def tuner(policy: str = "buffer") -> Tuner:
    return Tuner(parse(GOOD, "c"), POLICIES[policy])


AWAY = {"window": 1152, "connections": 1}
BOTH = (CAM, CAM | {"client": "cam2"})


LISTED = [
    {"client": "cam1", "token_sha256": token_hash("c0ffee")},
    {"client": "cam2", "token_sha256": token_hash("decade")},
]
BOUNDS = {"max_connections": 16, "buffer": 100_000}
READY = Event("ready", 1.5, {})


def begun(policy: str = "buffer") -> Tuner:
    """A tuner whose server has been told who may send."""
    tuned = tuner(policy)
    tuned.take(READY)
    return tuned


def test_who_is_away_has_the_least() -> None:
    """So that windows are never more than the buffer, when it comes, too."""
    tuned = tuner()
    away = [{"client": name} | AWAY for name in ("cam1", "cam2")]
    assert tuned.take(READY) == {"id": 0, **BOUNDS, "clients": LISTED, "tune": away}
    change = {"client": "cam1", "window": 100_000 - 1152, "connections": 1}
    assert tuned.take(event(CAM)) == {"id": 1, "tune": [change]}


def test_what_changes_is_told_once() -> None:
    tuned = begun()
    line: Any = tuned.take(event(*BOTH))
    assert line["id"] == 1
    told = line["tune"]
    assert [each["client"] for each in told] == ["cam1", "cam2"]
    assert all(each["connections"] == 1 for each in told)
    assert sum(each["window"] for each in told) <= 100_000
    assert told[0]["window"] == pytest.approx(2 * told[1]["window"], abs=3)
    assert tuned.take(event(*BOTH, number=2)) is None, "the same again"
    one = {"client": "cam1", "window": 100_000 - 1152, "connections": 1}
    change = [one, {"client": "cam2"} | AWAY]
    assert tuned.take(event(CAM, number=3)) == {"id": 3, "tune": change}, "cam2 left"
    assert tuned.take(event(CAM, number=4)) is None
    again = {"id": 5, **BOUNDS, "clients": LISTED, "tune": change}
    assert tuned.take(event(CAM, number=5), repeat=True) == again
    who = {"id": 6, "clients": LISTED}
    assert tuned.take(event(CAM, number=6), repeat=True, refused="no") == who, "it was refused"
    assert tuned.problem == "no"
    assert tuned.take(event(CAM, number=7)) == {"id": 7, "tune": change} and tuned.problem is None


def test_the_kernel_gets_its_buffers_back() -> None:
    tuned = begun("none")
    change = {"client": "cam1", "window": None, "connections": 1}
    assert tuned.take(event(CAM)) == {"id": 1, "tune": [change]}


def test_who_is_not_on_the_list_is_left_alone() -> None:
    tuned = begun()
    assert tuned.take(event(CAM | {"client": "stranger"})) is None


def test_another_target_counts_from_the_next_round_on() -> None:
    tuned = tuner()
    tuned.take(event(*BOTH))
    tuned.put(Registered(Client("cam2", 4_000_000), token_hash("decade")))
    line: Any = tuned.take(event(*BOTH, number=2))
    assert line.keys() == {"id", "tune"}, "who may send is the same"
    windows = {each["client"]: each["window"] for each in line["tune"]}
    assert windows["cam2"] == pytest.approx(4 * windows["cam1"], abs=5)


def test_clients_come_and_go_and_the_sum_stays_within_the_buffer() -> None:
    tuned = begun()
    tuned.take(event(*BOTH))
    tuned.put(Registered(Client("cam3", 1_000_000), token_hash("c3")))
    tuned.remove("cam2")
    line: Any = tuned.take(event(*BOTH, number=2))
    assert [each["client"] for each in line["clients"]] == ["cam1", "cam3"]
    assert sum(setting.window or 0 for setting in tuned.settings.values()) == 100_000
    assert {"client": "cam3"} | AWAY in line["tune"]
    tuned.put(Registered(Client("cam1", 1_000_000), token_hash("c4")))
    line = tuned.take(event(CAM, number=3))
    assert line["clients"][0] == {"client": "cam1", "token_sha256": token_hash("c4")}, "another token"


def test_another_policy_and_other_limits_count_from_the_next_round_on() -> None:
    tuned = begun("none")
    assert tuned.take(event(*BOTH)) is not None
    tuned.set_policy(POLICIES["buffer"])
    line: Any = tuned.take(event(*BOTH, number=2))
    assert all(each["window"] > 1152 for each in line["tune"])
    tuned.set_limits(Limits(50_000, 2))
    line = tuned.take(event(*BOTH, number=3))
    assert (line["buffer"], line["max_connections"]) == (50_000, 2)
    assert 49_990 < sum(each["window"] for each in line["tune"]) <= 50_000


class Broken:
    """A policy that knows only cam1."""

    def tune(
        self, state: None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[None, Settings]:
        settings: Settings = POLICIES["buffer"].tune(None, clients, readings, limits)[1]
        return None, {name: setting for name, setting in settings.items() if name == "cam1"}


def test_a_policy_that_fails_leaves_settings_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    tuned = begun()
    tuned.take(event(*BOTH))
    before = dict(tuned.settings)
    tuned.set_policy(Broken())
    assert tuned.take(event(*BOTH, number=2)) is None and tuned.take(event(*BOTH, number=3)) is None
    assert tuned.settings == before
    assert tuned.problem == "the policy failed, settings stay as they are (KeyError: 'cam2')"
    assert [record.message for record in caplog.records] == [f"round=2 {tuned.problem}"], "told once"
    tuned.take(event(CAM, number=4))
    assert tuned.problem is None


def test_a_policy_that_fails_leaves_settings_as_they_are_when_all_is_told_again() -> None:
    tuned = begun()
    tuned.take(event(*BOTH))
    before = dict(tuned.settings)
    tuned.set_policy(Broken())
    line: Any = tuned.take(event(*BOTH, number=2), repeat=True)
    assert {each["client"]: each["window"] for each in line["tune"]} == {
        name: setting.window for name, setting in before.items()
    }
    anew = tuner()
    anew.set_policy(Broken())
    line = anew.take(event(*BOTH, number=3), repeat=True)
    assert line["tune"] == [], "nothing is known of clients that send"


def test_a_client_is_removed_also_while_its_server_refuses_settings() -> None:
    tuned = begun()
    tuned.take(event(*BOTH))
    tuned.remove("cam2")
    line: Any = tuned.take(event(*BOTH, number=2), repeat=True, refused="no")
    assert line == {"id": 2, "clients": [{"client": "cam1", "token_sha256": token_hash("c0ffee")}]}
    line = tuned.take(event(CAM, number=3))
    assert [each["client"] for each in line["tune"]] == ["cam1"], "its settings are told again"


class Numbers:
    """A policy that calculates with numpy."""

    def tune(
        self, state: None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[None, Any]:
        return None, {client.name: (np.int64(20_000), np.int64(2)) for client in clients}


def test_numbers_of_numpy_are_numbers() -> None:
    tuned = begun()
    tuned.set_policy(Numbers())
    line = tuned.take(event(CAM))
    assert json.loads(json.dumps(line))["tune"] == [{"client": "cam1", "window": 20_000, "connections": 2}]
