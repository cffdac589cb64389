"""Ranges in YAML forms stand for what they repeat; malformed ones are refused in one line."""

import pytest

from groupflow.files import variants
from groupflow.files.topology import parse
from groupflow.model.topology import TopologyError

HALL = """
switches: {"s{1..3}": {device_id: "{1..3}", grpc: "{9561..9563}"}}
hosts:
  mc{1..3}: {ip: "10.0.3.{4..6}/24", programs: ["for i in {1..5}; do ping 10.0.3.{4..6}; done"]}
  h1: {ip: 10.0.1.1/24}
links:
  - {ends: ["mc{1..3}", s2], rate: 1mbit}
  - {ends: ["s{1..2}", "s{2..3}"]}
  - {ends: [h1, s1]}
pcap: ["s{2..3}"]
"""
ERRORS = [
    ('"mc{1..3}"', '"mc{1..4}"', "links[3].ends: no host or switch 'mc4'; declare it"),
    ('"s{2..3}"]}', '"s{2..4}"]}', "links[1]: ranges of 2 and 3; write ranges of one length"),
    ("10.0.3.{4..6}/24", "10.0.3.{4..5}/24", "hosts.mc{1..3}: ranges of 2 and 3; write ranges of one"),
    ("mc{1..3}:", "mc{3..1}:", "hosts.mc{3..1}: '{3..1}' counts down; write {1..3}"),
    ("mc{1..3}:", "mc{1..}:", "hosts.mc{1..}: '{1..}' is no range; write one like {1..5}"),
    ("mc{1..3}:", "mc{1..9999}:", "hosts.mc{1..9999}: '{1..9999}' repeats more than 1000 times"),
    ("h1: {ip: 10.0.1.1/24}", 'h1: {ip: "10.0.1.{1..2}/24"}', "'10.0.1.{1..2}/24' is a range where nothing"),
    ("  h1:", "  mc2:", "hosts.mc2: duplicate name 'mc2'; rename one"),
]


def test_ranges_repeat_names_links_and_texts() -> None:
    topology = parse(HALL)
    assert [switch.grpc for switch in topology.switches.values()] == [
        f"127.0.0.1:{9560 + n}" for n in (1, 2, 3)
    ]
    assert [str(host.ip) for host in topology.hosts.values()] == [
        "10.0.3.4",
        "10.0.3.5",
        "10.0.3.6",
        "10.0.1.1",
    ]
    assert topology.path("s1", "s3") == ("s1", "s2", "s3")
    assert topology.pcap == {"s2", "s3"}
    assert topology.hosts["mc2"].programs == ("for i in {1..5}; do ping 10.0.3.5; done",)
    assert parse(variants.render(topology)) == topology


@pytest.mark.parametrize(("old", "new", "error"), ERRORS, ids=[error[:30] for *_, error in ERRORS])
def test_a_bad_range_is_one_line(old: str, new: str, error: str) -> None:
    with pytest.raises(TopologyError) as refused:
        parse(HALL.replace(old, new, 1), "hall.yaml")
    assert error in str(refused.value)
    assert "\n" not in str(refused.value)
