"""Command lines of switches and hosts from the topology, without starting anything."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from groupflow.files import variants
from groupflow.lab.host import OFFLOADS, host_script
from groupflow.lab.network import interfaces
from groupflow.lab.switches import bmv2_arguments, gfswitch_arguments, link_spec
from groupflow.model.topology import LinkSpec

LINE = variants.named("line")


def values(arguments: list[str], flag: str) -> list[str]:
    return [value for name, value in pairwise(arguments) if name == flag]


def test_gfswitch_attaches_every_port_and_emulates_every_link() -> None:
    arguments = gfswitch_arguments(LINE, LINE.switches["s2"], Path("/run/s2.sock"))
    assert values(arguments, "--interface") == ["1@s2-eth1", "2@s2-eth2", "3@s2-eth3"]
    assert values(arguments, "--link") == [
        "1:rate=100mbit,delay=5ms,loss=0,queue=200,dir=out",
        "2:rate=100mbit,delay=5ms,loss=0.01,queue=200,dir=out",
        "3:rate=unlimited,delay=0ns,loss=0,queue=4000,dir=both",
    ]
    assert values(arguments, "--device-id") == ["2"]
    assert values(arguments, "--grpc-server-addr") == ["127.0.0.1:9562"]
    assert values(arguments, "--control-socket") == ["/run/s2.sock"]
    assert "--no-p4" in arguments


def test_ones_own_program_takes_the_place_of_none() -> None:
    switch = replace(LINE.switches["s2"], program=Path("a.json"), p4info=Path("a.p4info.txtpb"))
    arguments = gfswitch_arguments(LINE, switch, Path("/run/s2.sock"))
    assert "a.json" in arguments and "--no-p4" not in arguments
    assert values(arguments, "--p4info") == ["a.p4info.txtpb"]
    assert bmv2_arguments(switch)[0] == "a.json"


def test_each_link_between_switches_is_emulated_once_a_direction() -> None:
    """Were both ends to emulate both directions, delays would double and losses add up."""
    fig5 = variants.named("fig5")
    trunk = [
        link
        for switch in fig5.switches.values()
        for link in values(gfswitch_arguments(fig5, switch, Path("s")), "--link")
        if link.endswith("dir=out")
    ]
    assert len(trunk) == 2


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (LinkSpec(None, 0, 0, 64), "rate=unlimited,delay=0ns,loss=0,queue=64"),
        (LinkSpec(1500, 1500, 1, 1), "rate=1500bit,delay=1500ns,loss=0.000000001,queue=1"),
        (LinkSpec(10**9, 10**9, 10**9, 9), "rate=1gbit,delay=1s,loss=1,queue=9"),
    ],
)
def test_link_specs_are_exact(spec: LinkSpec, text: str) -> None:
    assert link_spec(spec) == text


def test_bmv2_gets_target_flags_behind_the_separator() -> None:
    arguments = bmv2_arguments(LINE.switches["s1"])
    assert values(arguments, "-i") == ["0@s1-gen", "1@s1-eth1", "2@s1-eth2", "3@s1-eth3"]
    separator = arguments.index("--")
    assert arguments[separator + 1 :] == [
        *("--grpc-server-addr", "127.0.0.1:9561"),
        *("--cpu-port", "510"),
        *("--drop-port", "511"),
        *("--priority-queues", "8"),
    ]


def test_two_bmv2_switches_do_not_share_a_thrift_port() -> None:
    ports = {tuple(values(bmv2_arguments(switch), "--thrift-port")) for switch in LINE.switches.values()}
    assert len(ports) == 3


def test_hosts_get_the_topologys_address_and_route_groups_to_their_switch() -> None:
    script = host_script(LINE.hosts["h1"]).splitlines()
    assert "ip link set dev h1-eth0 address 02:00:0a:00:01:01" in script
    assert "ip addr add 10.0.1.1/24 dev h1-eth0" in script
    assert "ip route add default via 10.0.1.254 dev h1-eth0" in script
    assert "ip route add 224.0.0.0/4 dev h1-eth0" in script
    offloads = next(line for line in script if line.startswith("ethtool"))
    assert all(f" {name} off" in offloads for name in OFFLOADS)


def test_only_switches_have_interfaces_in_the_root_namespace() -> None:
    ports = [f"s1-eth{port}" for port in range(1, 7)]
    assert interfaces(variants.named("star"), "gfswitch") == ports
    assert interfaces(variants.named("star"), "bmv2") == [*ports, "s1-gen"], (
        "ticks come in by a port of their own"
    )
