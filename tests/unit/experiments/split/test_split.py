"""`groupflow experiment split` without a network: the runs of both sides, and the comparison."""

import asyncio
import json
import socket
import subprocess
import sys
from dataclasses import replace
from unittest.mock import Mock

import pytest

from experiments.common.scripts import SCRIPT
from experiments.split import group, simulated
from experiments.split.compare import compare
from experiments.split.plan import SENDER, Plan, Result
from groupflow import sim
from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import ClientError
from papers.icn2011.paper import Case

PLAN = Plan(seconds=4.0, members=(1,), tcp=("sack",))
N2N = Case("n2n", 1.0, members=1)
KERNEL = Result(
    where="kernel",
    case=N2N,
    received_bps={("ma1", "mb1"): 10e6, ("ma1", "mc1"): 8e6, ("ma1", "md1"): 9e6},
    link_bytes={
        ("ma1", "s1"): 10_000_000, ("s1", "ma1"): 300_000, ("s1", "s2"): 10_000_000, ("s2", "s1"): 300_000,
        ("s1", "mb1"): 10_000_000, ("mb1", "s1"): 300_000, ("s2", "mc1"): 8_000_000, ("mc1", "s2"): 200_000,
        ("s2", "md1"): 9_000_000, ("md1", "s2"): 300_000,
    },
    cache_peak_bytes={"s1": 2_000_000, "s2": 1_000_000},
    dropped=3,
)  # fmt: skip


def test_quantities_are_put_side_by_side() -> None:
    received = {("ma1", "mb1"): 10e6, ("ma1", "mc1"): 7e6, ("ma1", "md1"): 10e6}
    other = replace(KERNEL, where="netsim", received_bps=received)
    found = {c.quantity: (c.kernel, c.netsim, c.within, c.expected) for c in compare([KERNEL, other])}
    assert found["throughput, mean"] == (9.0, 9.0, True, True)
    assert found["throughput, least"] == (8.0, 7.0, False, True)
    assert found["throughput in network d"] == (9.0, 10.0, False, True)
    assert found["on s1-s2"] == (10.0, 10.0, True, True)
    assert found["on members' links"] == (27.0, 27.0, True, True)
    assert found["acknowledgements"] == (pytest.approx(1.4), pytest.approx(1.4), True, False)
    assert found["on all links"][0] == pytest.approx(48.4)
    assert found["cache at s2, most"] == (1.0, 1.0, True, False)


def test_of_several_streams_the_papers_indices_are_means() -> None:
    received = {("ma1", "mb1"): 6e6, ("ma1", "mc1"): 2e6, ("mb1", "mc1"): 4e6}
    carried = {("ma1", "s1"): 10, ("mb1", "s1"): 20, ("s1", "mb1"): 99}
    two = replace(KERNEL, received_bps=received, link_bytes=carried)
    assert two.throughput_bps == {"mb1": 6e6, "mc1": 6e6}
    assert (two.least_bps, two.consumed_bytes) == (3e6, 15)


def test_each_form_of_netsims_is_compared_and_other_cases_are_not() -> None:
    forms = [replace(KERNEL, where="netsim"), replace(KERNEL, where="netsim exact")]
    found = compare([KERNEL, *forms, replace(KERNEL, where="netsim", case=replace(N2N, members=5))])
    assert {(c.run["where"], c.run["method"], c.run["members"]) for c in found} == {
        (where, "n2n", str(3 * N2N.members)) for where in ("netsim", "netsim exact")
    }
    assert compare([KERNEL]) == []


def test_the_kernels_sender_writes_when_netsims_does() -> None:
    """All that a slow network's sender is handed over is in the list, message by message."""
    times = simulated.message_times(PLAN, N2N, SENDER)
    scenario = simulated.scenario(PLAN, N2N, exact=False)
    assert {size for _, size in times} == {PLAN.message_bytes}
    period = N2N.period_ns / 1e9
    assert all(abs(at - number * period) <= period / 2 + 0.002 for number, (at, _) in enumerate(times, 1))
    offered = sim.run(scenario).flows["ma1-ma1-s1"].offered_bytes
    assert offered == sum(size for _, size in times)


def test_netsim_has_the_rates_of_the_real_network() -> None:
    scenario = simulated.scenario(PLAN, N2N, exact=False)
    rates = {link.name: link.spec.rate for link in scenario.topology.links}
    assert rates.pop("ma1-ma1out") is None
    real = {link.name: link.spec.rate for link in PLAN.topology(N2N).links}
    assert rates == {name.replace("ma1-s1", "ma1out-s1"): rate for name, rate in real.items()}
    e2e = replace(N2N, method="e2e")
    modes = [simulated.scenario(PLAN, e2e, exact=exact).splits[0].mode for exact in (False, True)]
    assert modes == ["n2n", "e2e"], "the kernel's form is bounded node-to-node"


def test_a_run_in_netsim_tells_of_every_member_and_link() -> None:
    result = simulated.run(PLAN, N2N, "netsim")
    assert set(result.throughput_bps) == {"mb1", "mc1", "md1"}
    assert set(result.link_bytes) == set(KERNEL.link_bytes)
    assert min(result.throughput_bps.values()) > 0 and set(result.cache_peak_bytes) == {"s1", "s2"}


@pytest.mark.slow
def test_a_run_of_group_sessions_adds_up_the_streams_of_four_senders() -> None:
    case = Case("group", 1.0, senders=4, members=1)
    result = simulated.run(PLAN, case, "netsim")
    assert set(result.throughput_bps) == {"ma1", "mb1", "mc1", "md1"}
    assert max(result.throughput_bps.values()) > PLAN.rate / 2, "of more than one stream"
    assert set(result.cache_peak_bytes) == {"s1", "s2"}
    times = [simulated.message_times(PLAN, case, source) for source in case.sources]
    assert len(set(times)) == 4, "each sender at its own times"


def test_the_programs_send_and_count_every_byte() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    listen = [sys.executable, str(SCRIPT), "listen", str(port)]
    with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdout is not None
        assert json.loads(listener.stdout.readline())["bytes"] == 0
        plan = {"targets": [["127.0.0.1", port]], "control": "cubic", "messages": [[0.0, 10], [0.1, 500_000]]}
        send = [sys.executable, str(SCRIPT), "send", json.dumps(plan)]
        with subprocess.Popen(send, stdout=subprocess.PIPE, text=True) as sender:
            assert sender.stdout is not None
            start = json.loads(sender.stdout.readline())["start"]
            samples = [json.loads(listener.stdout.readline())]
            while samples[-1]["bytes"] < 500_010:
                samples.append(json.loads(listener.stdout.readline()))
            sender.kill()
        assert samples[0]["bytes"] == 10 and samples[-1]["bytes"] == 500_010
        assert samples[-1]["time"] >= start + 0.1
        listener.kill()


async def _fails() -> None:
    raise BrokenPipeError


async def test_a_run_whose_agent_or_data_has_ended_is_no_result() -> None:
    runs, ended = (Mock(AgentProcess, returncode=code, options=Mock(), latest={}) for code in (None, 0))
    waits = asyncio.create_task(asyncio.sleep(60))
    broken = asyncio.create_task(_fails())
    await asyncio.wait({broken})
    group.check([runs], [waits])
    with pytest.raises(ClientError, match="before the run's end"):
        group.check([runs, ended], [broken])
    with pytest.raises(BrokenPipeError):
        group.check([runs], [waits, broken])
    waits.cancel()


def test_a_count_that_was_never_told_is_not_zero() -> None:
    agent = Mock(AgentProcess, options=Mock(), latest={})
    with pytest.raises(ClientError, match="told no progress"):
        group.told(agent, "progress")
