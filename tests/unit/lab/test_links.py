"""Links are named and changed from outside, shown as they are, and told to a switch that comes again."""

import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from groupflow.errors import InvalidError
from groupflow.files.topology import parse
from groupflow.lab.links import Links, asked, settings
from groupflow.model.topology import Topology
from groupflow.p4rt.connection import ControlError

TOPOLOGY = parse("""
switches: {s1: , s2: }
hosts: [h1, h2]
links: [[h1, s1], [h2, s2], [s1, s2], [s1, s2]]
""")


@pytest.mark.parametrize(
    ("words", "interfaces", "change"),
    [
        ("s1-s2 down", ["s1-eth2", "s1-eth3"], "down"),
        ("s2 s1 rate=1mbit up", ["s1-eth2", "s1-eth3"], "rate=1mbit,up"),
        ("s2-eth3 rate=10mbit delay=5ms loss=1% down", ["s1-eth3"], "rate=10mbit,delay=5ms,loss=1%,down"),
        ("s1-h1 rate=unlimited,queue=7", ["h1-eth0"], "rate=unlimited,queue=7"),
        ("h1-eth0 up", ["h1-eth0"], "up"),
        ("h1-eth0", ["h1-eth0"], ""),
    ],
)
def test_a_link_is_named_by_nodes_or_an_interface(words: str, interfaces: list[str], change: str) -> None:
    found, wanted = asked(TOPOLOGY, words.split())
    assert [link.a.interface for link in found] == interfaces
    assert wanted == change


@pytest.mark.parametrize("words", ["", "down", "s1 s2 h1 down", "s1 s2 sideways"])
def test_a_change_needs_a_link(words: str) -> None:
    with pytest.raises(InvalidError, match="write a link and its change"):
        asked(TOPOLOGY, words.split())


def test_an_unknown_link_is_told_with_the_known() -> None:
    with pytest.raises(InvalidError, match="no link s1-eth9; links are h1-s1, h2-s2, s1-s2; "):
        asked(TOPOLOGY, ["s1-eth9", "down"])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("rate=0", "'rate=0' changes no link"),
        ("loss=2", "'loss=2' changes no link"),
        ("delay=5", "'delay=5' changes no link"),
        ("queue=x", "'queue=x' changes no link"),
        ("colour=red", "'colour=red' changes no link: write rate=, delay="),
        ("sideways", "'sideways' changes no link"),
        ("", "'' changes no link"),
        ("up,down", "state is there twice"),
    ],
)
def test_a_wrong_change_is_one_line(change: str, error: str) -> None:
    with pytest.raises(InvalidError) as refused:
        settings(change)
    assert error in str(refused.value) and "\n" not in str(refused.value)


@contextmanager
def switch(path: Path, answer: dict[str, Any]) -> Generator[list[dict[str, Any]]]:
    """A control socket that gives one answer to all; what it was asked."""
    heard: list[dict[str, Any]] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                with client, client.makefile("rw") as file:
                    heard.append(json.loads(file.readline()))
                    file.write(json.dumps(answer) + "\n")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield heard
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            path.unlink()


def links(folder: Path, topology: Topology = TOPOLOGY, kind: str = "gfswitch") -> Links:
    (folder / "sys/class/net").mkdir(parents=True, exist_ok=True)
    return Links(topology, kind, folder / "links.json", folder, folder, lambda _: ())


def port(number: int, rate: int, *, up: bool = True) -> dict[str, Any]:
    link = {"rate_bps": rate, "delay_ns": 10**6, "loss_ppb": 0, "queue_packets": 200}
    return {"port": number, "up": up, "in": {"link": link}, "out": {"link": link}}


def test_a_switch_that_comes_again_gets_what_it_missed(tmp_path: Path) -> None:
    here = links(tmp_path)
    between = TOPOLOGY.links[2]
    absent = pytest.raises(ControlError, match="s2 does not run; it gets the change when it starts")
    with switch(tmp_path / "s1.sock", {}) as first, absent:
        here.change(between, "rate=1mbit")
    with switch(tmp_path / "s1.sock", {}), switch(tmp_path / "s2.sock", {}):
        here.change(between, "loss=1%,down")
        here.change(between, "rate=2mbit")
    with switch(tmp_path / "s2.sock", {}) as second:
        links(tmp_path).restore("s2")
    assert first == [{"op": "link", "port": 2, "spec": "rate=1mbit,dir=out"}]
    assert [each["spec"] for each in second] == ["loss=1%,down,dir=out", "rate=2mbit,dir=out"]


def test_each_link_is_shown_as_its_switches_have_it(tmp_path: Path) -> None:
    here = links(tmp_path)
    for name in ("s1-eth1", "s1-eth2", "s1-eth3", "s2-eth1", "s2-eth2", "s2-eth3"):
        (tmp_path / "sys/class/net" / name).mkdir()
        (tmp_path / "sys/class/net" / name / "carrier").write_text("0\n" if name == "s1-eth1" else "1\n")
    one = {"ports": [port(1, 5000), port(2, 1000), port(3, 1000, up=False)]}
    other = {"ports": [port(1, 5000), port(2, 2000), port(3, 1000)]}
    with switch(tmp_path / "s1.sock", one), switch(tmp_path / "s2.sock", other):
        rows = here.rows()
    assert [row["state"] for row in rows] == ["down", "up", "up", "down"], "also where a host's end is down"
    assert [row["rate"] for row in rows] == ["5kbit", "5kbit", "1kbit / 2kbit", "1kbit"]
    assert {row["state"] for row in here.rows()} == {None}, "nothing is known of switches that do not answer"


def test_the_kernel_keeps_the_loss_of_a_link_that_was_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nft").write_text(f"#!/bin/sh\ncat >>{tmp_path}/rules\n")
    (tmp_path / "bin/nft").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    here = links(tmp_path, kind="bmv2")
    for change, rule in (("loss=1%,down", "loss drop"), ("up", "< 10000000 drop"), ("loss=0", "< 0 drop")):
        (tmp_path / "rules").unlink(missing_ok=True)
        here.change(TOPOLOGY.links[2], change)
        rules = (tmp_path / "rules").read_text()
        assert rules.count(rule) == 2, "at both ends"
    with pytest.raises(Exception, match="rate=5mbit: only loss, down and up"):
        here.change(TOPOLOGY.links[2], "rate=5mbit")
