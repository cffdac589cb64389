"""TCP streams over split agents: scenario files, and the results of a run."""

import re
from dataclasses import replace

import pytest

from groupflow import sim

TEXT = """
name: tree
defaults: {link: {rate: 100Mb/s, delay: 1ms, queue: 100 packets}}
switches: {s1: {kind: agent, agent: a1}, s2: {kind: agent, agent: a2}}
hosts: {h1: , h2: , h3: , h4: , a1: , a2: }
links:
  - {ends: [h1, s1]}
  - {ends: [h2, s1]}
  - {ends: [s1, s2], delay: 5ms}
  - {ends: [h3, s2]}
  - {ends: [h4, s2]}
  - {ends: [a1, s1], rate: unlimited, delay: 0}
  - {ends: [a2, s2], rate: unlimited, delay: 0}
duration: 2s
sample: 100ms
splits:
  - name: file
    from: h1
    to: [h2, h3, h4]
    mode: MODE
    variant: sack
    window: 80 packets
    size: 1000000 bytes
"""


@pytest.mark.parametrize("mode", ["n2n", "e2e"])
def test_a_stream_reaches_all_members_over_a_connection_a_hop(mode: str) -> None:
    results = sim.run(sim.parse(TEXT.replace("MODE", mode)))
    names = {"file-h1-s1", "file-s1-h2", "file-s1-s2", "file-s2-h3", "file-s2-h4"}
    assert results.flows.keys() == names
    assert {flow.delivered_bytes for flow in results.flows.values()} == {1_000_000}
    assert all(flow.finished for flow in results.flows.values())
    assert results.link_bytes["h1", "s1"] == results.link_bytes["s1", "s2"]
    assert results.dropped() == 0
    # E2E caches no more than the sender's window; N2N what comes faster than it goes on to s2, farther off.
    window = 80 * 1448
    peak = results.peak_cached_bytes["s1"]
    assert 10_000 < peak <= window if mode == "e2e" else window < peak < 1_000_000


def test_members_pass_a_stream_on_without_agents() -> None:
    scenario = sim.parse(TEXT.replace("MODE", "n2n"))
    (stream,) = scenario.splits
    stream = replace(stream, overlay={"h2": "h1", "h3": "h1", "h4": "h3"})
    scenario = replace(scenario, splits=(stream,), kinds=dict.fromkeys(("s1", "s2"), "fifo"))
    results = sim.run(scenario)
    assert results.flows.keys() == {"file-h1-h2", "file-h1-h3", "file-h3-h4"}
    assert {flow.delivered_bytes for flow in results.flows.values()} == {1_000_000}
    assert results.link_bytes["h1", "s1"] > 2_000_000 > results.link_bytes["s1", "s2"]
    lacking = replace(scenario, splits=(replace(stream, overlay={"h2": "h1", "h3": "h1"}),))
    with pytest.raises(sim.ScenarioError, match=r"splits.file.overlay: nobody sends to h4"):
        sim.run(lacking)


def test_messages_are_written_around_their_times() -> None:
    text = TEXT.replace("MODE", "n2n").replace(
        "size: 1000000 bytes", "messages: {size: 10000 bytes, period: 100ms}"
    )
    flow = sim.run(sim.parse(text)).flows["file-h1-s1"]
    packets = -(-10_000 // 1448)
    assert flow.offered_bytes in {count * packets * 1448 for count in (19, 20)}
    assert (flow.delivered_bytes or 0) <= flow.offered_bytes


WRONG = [
    ("kind: agent, agent: a1", "kind: agent", "switches.s1.agent: missing"),
    ("MODE", "both", "splits[0].mode: unknown mode 'both'"),
    ("MODE", "e2e\n    cache: 1000 bytes", "splits[0].cache: only n2n has a bound"),
    ("from: h1", "from: h9", "splits[0].from: unknown host 'h9'"),
    ("to: [h2, h3, h4]", "to: []", "splits[0].to: none given; write at least one"),
    ("variant: sack", "variant: bbr", "splits[0].variant: unknown variant 'bbr'"),
    (
        "size: 1000000",
        "messages: {size: 1 bytes, period: 1s}\n    size: 1",
        "splits[0].size: goes without messages",
    ),
    ("size: 1000000 bytes", "messages: {size: 9 bytes, period: 0s}", "splits[0].messages.period: is zero"),
]


@pytest.mark.parametrize(("good", "bad", "message"), WRONG)
def test_what_is_wrong_is_named_by_its_key(good: str, bad: str, message: str) -> None:
    text = TEXT.replace(good, bad, 1).replace("MODE", "n2n")
    with pytest.raises(sim.ScenarioError, match=re.escape(message)):
        sim.parse(text)


def test_a_way_without_an_agent_is_refused() -> None:
    text = TEXT.replace("MODE", "n2n").replace("s1: {kind: agent, agent: a1}", "s1: {kind: fifo}")
    with pytest.raises(sim.ScenarioError, match=r"splits\.file: no agent between h1 and h2"):
        sim.run(sim.parse(text))
