"""Short runs of the split-connection paper's network."""

from dataclasses import replace

import pytest

from groupflow import sim
from papers.icn2011 import network
from papers.icn2011.outcome import Outcome, measure
from papers.icn2011.paper import FRAME_BYTES, GROUP_PAYLOAD, MESSAGE_PACKETS, MSS, Case, Method, Run
from tests.support.p4.network import JSON, P4INFO

pytestmark = pytest.mark.slow

SECONDS = 6.0


def run(
    method: Method, *, load: float = 0.25, senders: int = 1, seed: int = 1, p4: bool = False
) -> tuple[Outcome, sim.Results]:
    case = Case(method, load, senders=4 if senders == 4 else 1, members=1 if senders == 4 else 2)
    return simulate(case, seed=seed, p4=p4)


def simulate(case: Case, *, seed: int = 1, p4: bool = False) -> tuple[Outcome, sim.Results]:
    scenario = network.scenario(case, seconds=SECONDS, seed=seed)
    scenario = replace(scenario, program=JSON, p4info=P4INFO, kinds={} if p4 else scenario.kinds)
    results = sim.run(scenario)
    return measure(Run(case, seed, SECONDS), results), results


@pytest.mark.parametrize("method", ["n2n", "e2e"])
def test_a_split_stream_crosses_each_link_once_and_reaches_all(method: Method) -> None:
    measured, results = run(method)
    indices = measured.indices
    offered = results.flows["ma1-ma1-s1"].offered_bytes
    assert offered is not None and offered % (MESSAGE_PACKETS * MSS) == 0
    assert offered // (MESSAGE_PACKETS * MSS) in (3, 4), "one every tr / load, 1.66 s"
    # Only packets that were sent again, or are on their way at the end, make a difference.
    once = offered / MSS * FRAME_BYTES
    for ends in (("ma1out", "s1"), ("s1", "s2"), ("s2", "md2")):
        assert 0.8 * once < results.link_bytes[ends] < 1.25 * once, ends
    assert 0.8 < indices.effective <= 1
    assert indices.lost_in_network == 0, "agents lose nothing"
    assert 0 < indices.cache_ratio < 0.1


def test_unicast_sends_a_copy_for_each_member_and_says_the_same_to_all() -> None:
    measured, results = run("unicast", load=0.05)
    offered = {flow.offered_bytes for flow in results.flows.values()}
    assert len(offered) == 1 and len(results.flows) == 6
    split, _ = run("n2n", load=0.05)
    assert measured.indices.consumption_mbps > 5 * split.indices.consumption_mbps
    assert measured.indices.cache_ratio == 0


@pytest.mark.parametrize("method", ["unicast", "n2n", "e2e"])
def test_a_message_may_have_connections_of_its_own(method: Method) -> None:
    case = Case(method, 0.25, members=2)
    stays, _ = simulate(case)
    measured, results = simulate(replace(case, each_message=True))
    starts = {name.split("-")[0] for name in results.flows}
    assert len(starts) >= 3 and all("/" in name for name in starts)
    assert measured.indices.reception_mbps == pytest.approx(stays.indices.reception_mbps, rel=0.5)
    assert 0 < measured.indices.effective <= 1


@pytest.mark.slow
def test_a_group_session_is_measured_as_the_other_methods_are() -> None:
    measured, results = run("group")
    indices = measured.indices
    offered = results.flows["session1-ma1"].offered_bytes
    assert offered is not None and offered % GROUP_PAYLOAD == 0 and offered >= 2 * 5_000_000
    once = offered / GROUP_PAYLOAD * FRAME_BYTES
    for ends in (("ma1out", "s1"), ("s1", "s2"), ("s2", "md2")):
        assert 0.95 * once < results.link_bytes[ends] < 1.05 * once, ends
    assert 0.9 < indices.effective <= 1 and indices.lost_in_network == 0
    assert results.dropped(reason="malformed") == 0, "every byte is the pattern's"
    assert results.peak_cached_bytes.keys() == {"sa1", "sa2"} and 0 < indices.cache_ratio < 0.1
    assert 0 < indices.acknowledgements_mbps < 1


def test_through_members_the_sender_has_two_connections_and_members_pass_on() -> None:
    measured, results = run("members", load=0.1)
    offered = results.flows["ma1-ma1-mb2"].offered_bytes
    assert offered == results.flows["ma1-ma1-mb1"].offered_bytes and offered
    assert (results.flows["ma1-md1-md2"].delivered_bytes or 0) > 0.8 * offered, "the last of the chain"
    twice = 2 * offered / MSS * FRAME_BYTES
    assert 0.9 * twice < results.link_bytes["ma1out", "s1"] < 1.2 * twice
    assert 0.4 * twice < results.link_bytes["s1", "s2"] < 0.7 * twice
    assert measured.indices.effective > 0.8 and measured.indices.cache_ratio == 0


@pytest.mark.parametrize(
    "method", ["unicast", "n2n", "e2e", "members", pytest.param("group", marks=pytest.mark.slow)]
)
def test_four_senders_each_reach_the_three_others(method: Method) -> None:
    measured, results = run(method, senders=4, load=0.2)
    receiving = (flow for flow in results.flows.values() if flow.timeouts is not None or flow.delivered_bytes)
    delivered = [flow.delivered_bytes or 0 for flow in receiving]
    assert len(delivered) >= 12 and min(delivered) > 1_000_000
    assert measured.indices.received_mbps >= 2.99 * measured.indices.reception_mbps > 5
    agents = {"unicast": set[str](), "group": {"sa1", "sa2"}, "members": {"ma1", "mc1"}}
    assert results.peak_cached_bytes.keys() == agents.get(method, {"s1", "s2"})


@pytest.mark.slow
def test_seeds_differ_and_repeat() -> None:
    (one, _), (same, _), (other, _) = (run("n2n", load=0.9, seed=seed) for seed in (1, 1, 2))
    assert one.indices == same.indices != other.indices


@pytest.mark.slow
@pytest.mark.parametrize("senders", [1, 4])
def test_unicast_is_the_same_over_p4_switches(senders: int) -> None:
    routers, fifo = run("unicast", load=0.8, senders=senders)
    switches, p4 = run("unicast", load=0.8, senders=senders, p4=True)
    assert routers.indices == switches.indices
    assert fifo.summary == p4.summary and fifo.dropped() > 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["n2n", "e2e"])
def test_between_agents_diffusion_loses_nothing_where_tcp_alone_does(method: Method) -> None:
    alone = Case(method, 1.0, senders=2, members=1, delay_ms=100, routers=4)
    results = {d: simulate(replace(alone, diffusion=d)) for d in (None, 0.1)}
    for outcome, measured in results.values():
        narrow = measured.link_bytes["r4", "s2"] * 8 / SECONDS / 1e6
        assert 5 < narrow <= 50.1, "the last link is narrow"
        assert outcome.indices.cache_ratio > 0
        streams = [measured.flows[f"{source}-s1-s2"].delivered_bytes or 0 for source in ("ma1", "mb1")]
        assert min(streams) > 1_000_000
    assert results[None][0].indices.lost_in_network > 0
    assert results[0.1][0].indices.lost_in_network == 0
