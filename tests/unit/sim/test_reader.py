"""Scenario files: values that are read from them, and refusals of bad files."""

from pathlib import Path

import pytest

from groupflow.files import topology as topology_files
from groupflow.sim import (
    Arrivals,
    Flow,
    GilbertElliott,
    LinkExtra,
    QueueSetting,
    ScenarioError,
    TcpTraffic,
    UdpTraffic,
    load,
    parse,
)
from groupflow.sim.forms import ScenarioForm

SMALL = """
name: small
defaults: {link: {rate: 12.3Gb/s, delay: 0.1ms, queue: 1800 packets}}
switches:
  s1: {kind: fifo}
  s2: {queues: [{port: 1, queue: 0, set: rate=1000pps}]}
  s9: {kind: fifo}
hosts:
  h1:
  h2: {ip: 10.0.1.1/24}
  h9: {}
links:
  - {ends: [h1, s1], rate: unlimited, delay: 0}
  - {ends: [s1, s2], loss: {to_bad: 1%, to_good: 20%}, down: [[1s, 1.5s]], queue_bytes: 62.5KiB}
  - {ends: [h2, s2], loss: 0.5%}
  - {ends: [h9, s9]}
duration: 3s
sample: 10ms
seed: 7
traffic:
  target: {kind: tcp, from: h1, to: h2, variant: tahoe, window: 10000 packets, profile: ns2, stop: 2s}
  noise: {kind: udp, from: h2, to: h1, rate: 10Mb/s, packet: 500 bytes, arrivals: on_off, off_for: 2ms,
          on_for: 1ms}
"""

ERRORS = [
    ("seed: 7", "diffusion:", "diffusion: nothing is written; write a value, or leave the key out"),
    ("window: 10000 packets", "messages: ", "traffic.target.messages: nothing is written"),
    ("window: 10000 packets", "shaped_as: ", "traffic.target.shaped_as: nothing is written"),
    ("from: h1", "from: h7", "traffic.target.from: unknown host 'h7'; declare it under hosts"),
    ("[h1, s1]", "[h1, s7]", "links[0].ends: no host or switch 's7'; declare it under hosts or switches"),
    (
        "rate: 10Mb/s",
        "rate: -10Mb/s",
        "traffic.noise.rate: '-10Mb/s' cannot be read; write a number with bit, kbit, mbit or gbit, such"
        " as 50mbit",
    ),
    (
        "rate: 12.3Gb/s",
        "rate: -1Gb/s",
        "defaults.link.rate: '-1Gb/s' cannot be read; write a number with bit, kbit, mbit or gbit, or"
        " 'unlimited'",
    ),
    (
        "delay: 0.1ms",
        "delay: 0.1",
        "defaults.link.delay: 0.1 cannot be read; write a number with ns, us, ms or s",
    ),
    (
        "500 bytes",
        "500 packets",
        "traffic.noise.packet: '500 packets' is no size; write a number of bytes, or like 64MiB",
    ),
    ("duration: 3s", "duration: 3", "duration: 3 cannot be read; write a number with ns, us, ms or s"),
    ("duration: 3s", "duration: 0s", "duration: is zero; write a time such as 1ms"),
    ("duration: 3s", "", "duration: missing; write a time such as 1ms"),
    ("to: h1", "to: h9", "traffic.noise.to: 'h9' cannot be reached from 'h2'; link them"),
    ("to: h2", "to: h1", "traffic.target.to: 'h1' is where the flow comes from; name another host"),
    (
        "variant: tahoe",
        "variant: bbr",
        "traffic.target.variant: unknown variant 'bbr'; known are tahoe, reno, newreno, sack, vegas,"
        " cubic, compound",
    ),
    ("kind: tcp", "kind: sctp", "traffic.target.kind: unknown kind 'sctp'; known are tcp, udp"),
    ("stop: 2s", "stop: 0s", "traffic.target.stop: '0s' is not after the start; write a later time"),
    ("stop: 2s", "pace: 1", "traffic.target.pace: unknown key; known are kind, from, to,"),
    (",\n          on_for: 1ms", "", "traffic.noise.on_for: missing; write a time with its unit"),
    ("[[1s, 1.5s]]", "[[1.5s, 1s]]", "links[1].down: ['1.5s', '1s'] is not in order; write pairs of times"),
    ("to_bad: 1%, ", "", "links[1].loss.to_bad: missing; write a fraction from 0 to 1 or"),
    ("to_bad: 1%", "to_bad: 2", "links[1].loss.to_bad: 2 is no loss; write a fraction from 0 to 1"),
    ("1800 packets", "0 packets", "defaults.link.queue: '0 packets' will not do; write 1 to 1000000 packets"),
    ("{kind: fifo}\n  s2", "{kind: hub}\n  s2", "switches.s1.kind: unknown kind 'hub'; known are p4, fifo"),
    ("seed: 7", "speed: 7", "speed: unknown key; known are name,"),
]


def test_a_scenario_is_read_as_written() -> None:
    scenario = parse(SMALL)
    assert scenario.name == "small"
    assert (scenario.duration_ns, scenario.sample_ns, scenario.seed) == (3 * 10**9, 10**7, 7)
    assert scenario.kinds == {"s1": "fifo", "s2": "p4", "s9": "fifo"}
    first, second, third, _ = scenario.topology.links
    assert (first.spec.rate, first.spec.delay_ns, first.spec.queue) == (None, 0, 1800)
    assert (second.spec.rate, second.spec.delay_ns, second.spec.loss) == (12_300_000_000, 100_000, 0)
    assert third.spec.loss == 5_000_000
    burst = GilbertElliott(to_bad=10_000_000, to_good=200_000_000)
    down = ((10**9, 1_500_000_000),)
    assert scenario.extras == {1: LinkExtra(burst_loss=burst, down_ns=down, queue_bytes=64_000)}
    assert scenario.setup("s2").queues == (QueueSetting(1, 0, "rate=1000pps"),)
    assert scenario.flows == (
        Flow("target", "h1", "h2", TcpTraffic("tahoe", window=10_000, profile="ns2"), stop_ns=2 * 10**9),
        Flow("noise", "h2", "h1", UdpTraffic(10**7, 500, Arrivals("on_off", 10**6, 2 * 10**6))),
    )


def test_numbers_are_given_where_none_are_written() -> None:
    topology = parse(SMALL).topology
    assert [switch.device_id for switch in topology.switches.values()] == [1, 2, 3]
    assert [str(host.ip) for host in topology.hosts.values()] == ["10.0.2.1", "10.0.1.1", "10.0.3.1"]


def test_a_host_for_whom_no_address_is_left_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """h2 wrote the first address itself, and h1 is given the second."""
    monkeypatch.setattr(topology_files, "MOST_ADDRESSES", 2)
    with pytest.raises(
        ScenarioError, match=r"^scenario: hosts.h9: no address is left after 2; give it an `ip`$"
    ):
        parse(SMALL)


@pytest.mark.parametrize(("old", "new", "message"), ERRORS)
def test_what_is_wrong_is_named(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(ScenarioError) as caught:
        parse(SMALL.replace(old, new, 1), "file.yaml")
    assert str(caught.value).startswith(f"file.yaml: {message}")
    assert "\n" not in str(caught.value)


def test_a_topology_may_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "star.yaml"
    star = Path(__file__).parents[3] / "topologies" / "star.yaml"
    path.write_text(f"topology: {star}\nduration: 1s\n")
    scenario = load(path)
    assert scenario.name == "star"
    assert list(scenario.topology.switches) == ["s1"]
    for topology in ("net.yaml", "star"):  # beside the scenario, or one of ours
        (tmp_path / "net.yaml").write_text(star.read_text())
        path.write_text(f"topology: {topology}\nduration: 1s\n")
        assert load(path).topology == scenario.topology
    path.write_text(f"topology: {star}\nduration: 1s\nhosts: {{h1: }}\n")
    with pytest.raises(ScenarioError, match="hosts: is in the topology's file already; leave out one"):
        load(path)
    with pytest.raises(ScenarioError, match="no such file"):
        load(tmp_path / "none.yaml")


def test_the_schema_has_defaults_as_a_file_writes_them() -> None:
    forms = ScenarioForm.model_json_schema()["$defs"]
    assert forms["GroupSessionForm"]["properties"]["rate"]["default"] == "unlimited"
    assert "default" not in forms["UdpTrafficForm"]["properties"]["on_for"], "0 is no time there"
