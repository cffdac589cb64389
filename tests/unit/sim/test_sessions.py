"""Group sessions in virtual time: the protocol's machines, the P4 program and the controller together."""

from dataclasses import replace
from pathlib import Path

import pytest

from groupflow import sim
from groupflow.model.flow import FlowSettings
from tests.support.p4.network import JSON, P4INFO

TEXT = """
name: tree
defaults: {link: {rate: 100Mb/s, delay: 1ms}}
switches: {s1: {agent: c1}, s2: {agent: c2}}
hosts: {h1: , h2: , h3: , h4: , c1: , c2: }
links:
  - {ends: [h1, s1]}
  - {ends: [h2, s1]}
  - {ends: [s1, s2], loss: LOSS}
  - {ends: [h3, s2], loss: LOSS}
  - {ends: [h4, s2]}
  - {ends: [c1, s1], rate: unlimited, delay: 0, queue: 4000}
  - {ends: [c2, s2], rate: unlimited, delay: 0, queue: 4000}
duration: 4s
sample: 100ms
sessions:
  - {id: 7, from: h1, to: [h2, h3, h4], size: 5000000 bytes, start: 100ms}
"""


def tree(loss: str) -> sim.Scenario:
    return replace(sim.parse(TEXT.replace("LOSS", loss)), program=JSON, p4info=P4INFO)


@pytest.mark.parametrize("loss", ["0", "1%"])
def test_a_stream_arrives_at_every_receiver(loss: str) -> None:
    results = sim.run(tree(loss))
    for host in ("h2", "h3", "h4"):
        member = results.flows[f"session7-{host}"]
        assert (member.delivered_bytes, member.finished) == (5_000_000, True)
    assert results.flows["session7-h1"].finished
    late = results.dropped() - results.dropped(reason="loss")  # a message behind the stream's end
    assert late <= (loss != "0"), results.drops
    assert (results.dropped(reason="loss") > 0) == (loss != "0")
    assert results.signalled("absorbed") > 100, "acknowledgements below the minimum"


def test_a_stream_lasts_as_long_for_any_number_of_receivers() -> None:
    """At the rate of the links: a packet of 1448 bytes of data is one of 1500 and more on a link."""
    base = tree("0")
    (session,) = base.sessions
    hosts = ("h4", "h3", "h2")
    seconds: list[float] = []
    for count in (1, 2, 3):
        results = sim.run(replace(base, sessions=(replace(session, destinations=hosts[:count]),)))
        seconds.append(max(results.flows[f"session7-{host}"].duration_s or 0.0 for host in hosts[:count]))
    assert min(seconds) > 5_000_000 * 8 / 100e6, seconds
    assert max(seconds) < 1.01 * min(seconds), seconds
    assert max(seconds) < 1.08 * 5_000_000 * 8 / 100e6, seconds


def test_a_session_without_end_carries_messages() -> None:
    scenario = tree("1%")
    (session,) = scenario.sessions
    messages = sim.Messages(100_000, 10**9)
    session = replace(session, size=0, sender_after_ns=10**8, messages=messages)
    results = sim.run(replace(scenario, sessions=(session,)))
    offered = results.flows["session7-h1"].offered_bytes
    assert offered in {count * 70 * 1448 for count in (3, 4)}, "whole packets, none before the sender joins"
    assert {results.flows[f"session7-{host}"].delivered_bytes for host in ("h2", "h3", "h4")} == {offered}
    assert results.dropped(reason="malformed") == 0 and results.peak_cached_bytes.keys() == {"c1", "c2"}
    both = replace(session, size=1)
    with pytest.raises(sim.ScenarioError, match="go with a connection without end"):
        sim.run(replace(scenario, sessions=(both,)))


def test_a_session_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        sim.run(replace(tree("1%"), trace=True, duration_ns=10**9), out=tmp_path / name)
    one, two = ((tmp_path / name / "trace.txt").read_bytes() for name in ("one", "two"))
    assert one == two
    assert len(one.splitlines()) > 10_000


def test_routers_do_not_know_sessions() -> None:
    scenario = replace(tree("0"), kinds={"s1": "fifo", "s2": "p4"})
    with pytest.raises(sim.ScenarioError, match="routers do not know sessions"):
        sim.run(scenario)


def test_a_stream_may_be_under_control_as_in_a_running_network() -> None:
    """Two senders share the link to s2. Without control each paces by its own tree alone."""
    base = tree("0")
    (first,) = base.sessions
    messages = sim.Messages(10**6, 10**7)
    first = replace(first, size=0, sender_after_ns=10**8, messages=messages)
    both = (first, replace(first, id=8, source="h2", destinations=("h1", "h3", "h4")))
    control = FlowSettings(d="0.1", external=True, measure=False)
    lost: list[int] = []
    for settings in (None, control):
        sessions = tuple(replace(session, control=settings) for session in both)
        results = sim.run(replace(base, sessions=sessions, duration_ns=2 * 10**9))
        lost.append(results.dropped(reason="queue_full"))
    assert lost[0] > 100 and lost[1] < lost[0] / 20, lost
    delivered = [results.flows[f"session{number}-h4"].delivered_bytes or 0 for number in (7, 8)]
    assert min(delivered) > 0.9 * max(delivered) > 8 * 10**6, delivered
