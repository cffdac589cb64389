"""A packet is followed from switch to switch by its payload, and only that packet."""

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from groupflow.errors import Error
from groupflow.files.topology import parse
from groupflow.lab import tracing
from groupflow.lab.tracing import FOLLOW_SECONDS, Follower, follow

TOPOLOGY = parse("""
switches: {s1: , s2: , s3: }
hosts: [h1, h2, h3]
links: [[h1, s1], [h2, s2], [h3, s3], [s1, s2], [s1, s3]]
""")
PAYLOAD = bytes(range(100)).hex()


def trace(port: int, *to: int, headers: str = "00", payload: str = PAYLOAD) -> dict[str, Any]:
    """A packet that came at a port, and whose copies were sent to others; 0: a copy was dropped."""
    copies: list[dict[str, Any]] = [
        {"verdict": "sent" if each else "dropped", "queue": {"port": each}, "copies": []} for each in to
    ]
    packet = {"port": port, "packet": headers + payload}
    return packet | {"verdict": "to group 1", "copies": copies}


def follower(packets: int = 1, port: int | None = None, *, apart: bool = False) -> Follower:
    return Follower(TOPOLOGY, packets, port=port, apart=apart)


def test_each_copy_is_followed_to_its_last_switch() -> None:
    found = follower()
    assert not found.take("s2", trace(2, 1, payload=99 * "66"), 0), "another, whose way began before"
    assert found.take("s1", trace(1, 2, 3, 0), 0)
    assert not found.take("s1", trace(1, 2), 0), "one packet is wanted"
    assert not found.take("s2", trace(2, 1, payload=99 * "77"), 0), "another packet"
    assert found.take("s2", trace(2, 1, headers="0102030405"), 0), "a switch added a header"
    assert not found.is_done
    assert found.take("s3", trace(2, 1), 0)
    assert found.is_done


def test_a_switch_may_be_faster_than_the_one_before() -> None:
    found = follower()
    assert not found.take("s2", trace(2, 1), 0)
    assert [switch for switch, _ in found.take("s1", trace(1, 2), 0)] == ["s1", "s2"]
    assert found.is_done


def test_a_copy_that_a_link_lost_is_told() -> None:
    found = follower()
    found.take("s1", trace(1, 2), 7.0)
    assert found.lost(7.0 + FOLLOW_SECONDS / 2) == []
    assert [(copy.sender, copy.switch) for copy in found.lost(7.0 + FOLLOW_SECONDS)] == [("s1", "s2")]
    assert found.is_done


def test_packets_may_be_those_of_one_port_or_of_each_switch() -> None:
    assert not follower(port=3).take("s1", trace(1), 0)
    assert follower(port=1).take("s1", trace(1), 0)
    apart = follower(apart=True)
    assert apart.take("s2", trace(2, 1), 0), "dropped inside the network"
    assert apart.is_done


def serve(folder: Path, name: str, answers: list[dict[str, Any]], heard: dict[str, Any]) -> threading.Thread:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / f"{name}.sock"))
    listening.listen()

    def work() -> None:
        with listening, listening.accept()[0] as client, client.makefile("rw") as file:
            heard[name] = json.loads(file.readline())
            file.write("".join(json.dumps(each) + "\n" for each in answers))
            file.flush()
            file.readline()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_all_switches_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "FOLLOW_SECONDS", 0.3)
    heard: dict[str, Any] = {}
    answers = {"s1": [trace(1, 2, 3), trace(1, 2)], "s2": [trace(2, 1)], "s3": []}
    threads = [serve(tmp_path, name, each, heard) for name, each in answers.items()]
    shown: list[str] = []
    wanted = {"port": None, "match": ["ipv4.dst=10.0.2.1"], "dropped": False, "next": 1}
    lost = follow(TOPOLOGY, tmp_path, None, wanted, lambda each: shown.append(each["switch"]))
    for thread in threads:
        thread.join()
    assert shown[0] == "s1" and set(shown) <= {"s1", "s2"}
    assert lost[-1] == "from s1 to s3: lost on the link, or not traced there"
    assert heard["s3"]["match"] == ["ipv4.dst=10.0.2.1"] and heard["s3"]["op"] == "trace"


def test_a_refusal_is_told(tmp_path: Path) -> None:
    thread = serve(tmp_path, "s1", [{"error": "no such field"}], {})
    topology = parse("{switches: {s1: }, hosts: [h1], links: [[h1, s1]]}")
    with pytest.raises(Error, match="s1: no such field"):
        follow(topology, tmp_path, "s1", {"next": 1, "match": ["x.y=1"]}, lambda _: None)
    thread.join()
