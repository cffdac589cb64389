"""All policies behind their interface, and the particular rules of the others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupflow.control.gather.climber import SETTLE_ROUNDS, Climber
from groupflow.control.gather.comparison import Comparison, estimate
from groupflow.control.gather.model import Client, Limits, Policy, Reading, Setting
from groupflow.control.gather.policies import POLICIES, Untuned
from groupflow.control.gather.sakajiri import Sakajiri

MEGABIT = 10**6
CLIENTS = [Client("a", MEGABIT, 1), Client("b", MEGABIT, 1), Client("c", MEGABIT // 2)]
readings = st.builds(
    Reading,
    throughput=st.floats(0, 1e8),
    rtt=st.none() | st.floats(0.0001, 5),
    window=st.none() | st.integers(1_152, 10**6),
    connections=st.integers(0, 20),
    loss=st.floats(0, 1),
    timeout=st.none() | st.floats(0.2, 60),
)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [pytest.param(policy, id=name) for name, policy in POLICIES.items()])
@given(
    rounds=st.lists(st.tuples(readings, readings, readings), min_size=1, max_size=8),
    total=st.integers(3 * 1_152, 10**6),
)
def test_every_policy_keeps_to_the_limits(
    policy: Policy[Any], rounds: list[tuple[Reading, Reading, Reading]], total: int
) -> None:
    limits, state = Limits(total, connections=8), None
    for number, seen in enumerate(rounds):
        clients = CLIENTS[: 1 + number % 3]  # they come and go
        measured = {client.name: reading for client, reading in zip(clients, seen, strict=False)}
        state, settings = policy.tune(state, clients, measured, limits)
        assert set(settings) == set(measured)
        assert sum(setting.window or 0 for setting in settings.values()) <= total
        for setting in settings.values():
            assert 1 <= setting.connections <= 8
            assert setting.window is None or setting.window >= limits.segment * setting.connections


@pytest.mark.parametrize("policy", [pytest.param(policy, id=name) for name, policy in POLICIES.items()])
def test_without_clients_there_is_nothing_to_set(policy: Policy[Any]) -> None:
    assert policy.tune(None, [], {}, Limits(100_000))[1] == {}


def test_the_formula_of_the_comparison() -> None:
    """Padhye et al. (1998), eq. 30, by hand: 100 ms, 1 %, 200 ms."""
    assert estimate(0.1, 0.01, 0.2) == pytest.approx(117.18, abs=0.01)
    assert estimate(0.1, 0.01, 0.2) > estimate(0.1, 0.04, 0.2) > estimate(0.1, 0.04, 0.4) > 0


def test_the_comparison_favours_who_has_the_better_way_not_the_higher_priority() -> None:
    seen = {
        "a": Reading(MEGABIT, 0.2, 10_000, 1, loss=0.01, timeout=0.4),
        "c": Reading(MEGABIT, 0.05, 10_000, 1, loss=0.0, timeout=0.2),
    }
    _, settings = Comparison().tune(None, [CLIENTS[0], CLIENTS[2]], seen, Limits(100_000))
    windows = [settings[name].window or 0 for name in "ac"]
    assert windows[1] > 10 * windows[0]


def test_a_rare_loss_is_remembered() -> None:
    clean, lossy = Reading(1, 0.1, 1, 1), Reading(1, 0.1, 1, 1, loss=0.5)
    state, _ = Comparison().tune(None, CLIENTS[:1], {"a": clean}, Limits(100_000))
    state, _ = Comparison().tune(state, CLIENTS[:1], {"a": lossy}, Limits(100_000))
    assert state["a"] == pytest.approx(0.5 / 64)


def test_without_tuning_the_kernel_decides() -> None:
    seen = {client.name: Reading(1, 0.1, None, 4) for client in CLIENTS}
    _, settings = Untuned(4).tune(None, CLIENTS, seen, Limits(1))
    assert settings["a"] == Setting(None, 4)


def test_buffers_alone_leave_one_connection() -> None:
    seen = {client.name: Reading(1, 0.1, 10_000, 4) for client in CLIENTS}
    _, settings = Sakajiri(connections=False).tune(None, CLIENTS, seen, Limits(100_000))
    assert {setting.connections for setting in settings.values()} == {1}


def test_the_climber_climbs_while_it_pays() -> None:
    """Up to 4 connections throughput grows with them."""
    state, connections = None, 1
    seen: list[int] = []
    for _ in range(14 * SETTLE_ROUNDS):
        reading = Reading(min(connections, 4) * MEGABIT, 0.1, None, connections)
        state, settings = Climber().tune(state, CLIENTS[:1], {"a": reading}, Limits(100_000))
        connections = settings["a"].connections
        seen.append(connections)
    assert max(seen) == 5, "it tried one more"
    assert seen.count(4) > seen.count(5)


def test_the_paper_keeps_a_procedure_only_for_clients_that_are_there() -> None:
    seen = {client.name: Reading(1, 0.1, 10_000, 1) for client in CLIENTS}
    state, _ = Sakajiri().tune(None, CLIENTS, seen, Limits(100_000))
    assert set(state) == {"a", "b", "c"}
    state, _ = Sakajiri().tune(state, CLIENTS[:1], seen, Limits(100_000))
    assert set(state) == {"a"}
