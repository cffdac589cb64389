"""The agents of a session with a budget, as a pure function."""

from itertools import pairwise

import pytest

from groupflow.control.split.placing import anybody, hosts, place
from groupflow.files.topology import parse
from groupflow.model.topology import Topology
from tests.unit.control.split.test_overlay import network

LINE = network(("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), agents="abcde")


@pytest.mark.parametrize(
    ("budget", "listeners", "chosen"),
    [
        (1, "", "c"),  # anybody sends to anybody: the middle
        (1, "d", "d"),  # no agent saves anything, but one there must be: where nobody's way is longer
        (1, "ee", "e"),
        (2, "aaee", "ae"),
        (9, "", "bcd"),  # at the ends one would save nothing
    ],
)
def test_the_agents_that_cost_least_are_chosen(budget: int, listeners: str, chosen: str) -> None:
    assert place(LINE, "abcde", budget, [f"h{switch}" for switch in listeners]) == tuple(chosen)


def test_only_agents_that_run_are_chosen() -> None:
    assert place(LINE, "ab", 1, ["he"]) == ("b",)
    assert place(LINE, "", 3, ["he"]) == ()


def test_agents_that_stay_are_added_to() -> None:
    listeners = ["ha", "ha", "he", "he"]
    assert place(LINE, "abcde", 1, listeners, keep=["c"]) == ("c",), "no room for more"
    assert place(LINE, "abde", 2, listeners, keep=["e"]) == ("a", "e")
    assert place(LINE, "ab", 3, ["he", "he"], keep=["e"]) == ("e",), "more would save nothing"


def test_a_network_in_pieces_gets_agents_all_the_same() -> None:
    pieces = network(("a", "b"), ("c", "d"), agents="bd")
    assert place(pieces, "bd", 2, ["ha", "hc"]) == ("b", "d")
    assert place(pieces, "bd", 2, ["ha", "hc"], keep=["d"]) == ("d",)


def test_agents_hosts_are_no_members_and_a_switch_counts_once() -> None:
    topology: Topology = parse(
        "name: t\nswitches: {s1: {device_id: 1, grpc: 9561, agent: c1}, s2: {device_id: 2, grpc: 9562}}\n"
        "hosts: {h1: {ip: 10.0.1.1/24}, h2: {ip: 10.0.1.2/24}, h3: {ip: 10.0.2.1/24},"
        " c1: {ip: 10.0.101.1/24}}\n"
        "links: [{ends: [s1, s2]}, {ends: [h1, s1]}, {ends: [h2, s1]}, {ends: [h3, s2]}, {ends: [c1, s1]}]"
    )
    assert hosts(topology) == ["h1", "h2", "h3"]
    assert anybody(topology) == ["h1", "h3"]


def test_some_switches_stand_for_many() -> None:
    letters = "abcdefghijklmnopqrst"
    senders = anybody(network(*pairwise(letters), agents="a"))
    assert senders == ["ha", "hc", "hf", "hh", "hk", "hm", "hp", "hr"]
