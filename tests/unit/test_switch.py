"""groupflow.Switch: queues, rates that the program writes, generators, in virtual time."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from groupflow import Switch
from groupflow.switch import StillInside, explain

PROGRAM = Path(__file__).parents[2] / "dataplane" / "switch" / "tests" / "programs" / "queues.json"
MS = 1_000_000


def frame(port: int, queue: int, length: int = 1514) -> bytes:
    """A frame of queues.p4 for a queue of a port."""
    head = port.to_bytes(2, "big") + bytes([queue, 0, 0, 0]) + bytes.fromhex("020000000001 0800")
    return head.ljust(length, b"x")


def rate(port: int, queue: int, packets: int) -> bytes:
    """A frame of queues.p4 that sets a queue's rate, and is dropped then."""
    head = frame(511, 0, 14)[:12] + bytes.fromhex("88b6")
    return head + (port * 8 + queue).to_bytes(2, "big") + (packets * 64).to_bytes(4, "big")


@pytest.fixture
def switch() -> Switch:
    # 12.112 Mb/s carry 1000 packets of 1514 bytes a second.
    links = ["2:rate=12.112mbit,dir=out,queue=1000"]
    return Switch.load(PROGRAM, PROGRAM.with_suffix(".p4info.txtpb"), links=links)


def test_groupflows_own_program_needs_no_file() -> None:
    assert Switch.groupflow(links=["2:rate=10mbit"], ports=[1, 2]).run(1, bytes(64)) == []


def times(switch: Switch, now_ns: int) -> list[int]:
    return [output.time_ns for output in switch.advance(now_ns)]


def test_a_queue_is_set_and_shown(switch: Switch) -> None:
    switch.set_queue(2, 4, level=1, weight=3, rate="100pps", limit_packets=2)
    for _ in range(5):
        switch.inject(1, frame(2, 4))
    assert times(switch, 100 * MS) == [MS, 11 * MS, 21 * MS]
    shown = switch.queue(2, 4)
    assert (shown["level"], shown["weight"], shown["rate"]) == (1, 3, "100pps")
    assert (shown["sent"], shown["dropped"]) == (3, 2)
    assert shown["drops"]["full_packets"] == {"packets": 2, "bytes": 2 * 1514}


def test_a_new_rate_and_a_pause_take_effect_when_they_are_set(switch: Switch) -> None:
    switch.set_queue(2, 4, rate="10pps")
    for _ in range(3):
        switch.inject(1, frame(2, 4))
    assert times(switch, 50 * MS) == [MS]
    switch.set_queue(2, 4, rate="100pps", now_ns=50 * MS)
    assert times(switch, 56 * MS) == [56 * MS]
    switch.set_queue(2, 4, paused=True)
    assert times(switch, 1000 * MS) == []
    switch.set_queue(2, 4, paused=False, rate="unlimited")
    assert times(switch, 1001 * MS) == [1001 * MS]


def test_the_program_sets_rates_and_reads_shares(switch: Switch) -> None:
    for queue in (1, 2):  # eq. 13 counts flows that are there
        switch.set_queue(2, queue, paused=True)
        switch.inject(1, frame(2, queue))
    switch.inject(1, rate(2, 1, 600))
    switch.inject(1, rate(2, 2, 200))
    assert switch.register("share", 2 * 8 + 1) == 750 * 64
    assert switch.queue(2, 2)["demand"] == 200 * 64
    switch.set_port(2, nominal_packet=757)
    assert switch.register("share", 2 * 8 + 1) == 1500 * 64
    switch.set_link(2, "rate=unlimited,dir=out")
    assert switch.register("share", 2 * 8 + 1) == 0xFFFFFFFF
    switch.set_register("rate", 2 * 8 + 1, 0)
    switch.set_queue(2, 1, paused=False)
    assert times(switch, 1000 * MS) == []
    assert switch.register("depth", 2 * 8 + 1) == 1


def test_a_limit_is_set_and_taken_away(switch: Switch) -> None:
    switch.set_queue(2, 4, limit_packets=2, limit_bytes=3000)
    assert (switch.queue(2, 4)["limit_packets"], switch.queue(2, 4)["limit_bytes"]) == (2, 3000)
    switch.set_queue(2, 4, limit_packets="default")
    assert (switch.queue(2, 4)["limit_packets"], switch.queue(2, 4)["limit_bytes"]) == (None, 3000)


def test_a_trace_has_all_outcomes_if_somebody_asks(switch: Switch) -> None:
    with switch.traced(all=True):
        switch.inject(1, frame(2, 4))
        switch.advance(MS)
    [outcome] = switch.traces[0]["outcomes"]
    assert (outcome["ways"], outcome["sent"]) == ([[]], [[2, 1514, frame(2, 4).hex()]])
    assert "outcome 1\n" in explain(switch.traces[0])
    with pytest.raises(ValueError, match="unknown field `some`"), switch.traced(some=True):
        pass


def test_a_generator_ticks_at_exact_times(switch: Switch) -> None:
    switch.set_link(2, "rate=unlimited")
    switch.set_generator(0, frame(2, 3, 60), period_ns=333_333, first_ns=1000)
    assert times(switch, MS) == [1000 + n * 333_333 for n in range(3)]
    switch.set_generator(0, frame(2, 3, 60), period_ns=MS, first_ns=0)
    assert times(switch, 3 * MS) == [MS, 2 * MS, 3 * MS]
    switch.delete_generator(0)
    assert times(switch, 10 * MS) == []


def test_what_is_wrong_is_named(switch: Switch) -> None:
    with pytest.raises(ValueError, match="port 2 has queues 0 to 7, not 8"):
        switch.set_queue(2, 8, level=1)
    with pytest.raises(ValueError, match='rate: "5" is not a rate'):
        switch.set_queue(2, 1, rate="5")
    with pytest.raises(ValueError, match="there is no queue 1 at port 99"):
        switch.queue(99, 1)
    with pytest.raises(ValueError, match="period_ns: 1 is below 1000 ns"):
        switch.set_generator(0, b"x", period_ns=1)
    with pytest.raises(ValueError, match="generator: 7: it does not exist"):
        switch.delete_generator(7)
    with pytest.raises(ValueError, match="rate"):
        switch.set_register("rate", 0, 1 << 32)


def test_switches_of_one_program_share_nothing_else(switch: Switch) -> None:
    other = Switch.load(PROGRAM, PROGRAM.with_suffix(".p4info.txtpb"))
    switch.inject(1, rate(2, 4, 100))
    switch.advance(MS)
    assert (switch.register("rate", 20), other.register("rate", 20)) == (100 * 64, 0)


def test_a_program_that_changed_is_read_again(tmp_path: Path) -> None:
    json, p4info = tmp_path / "queues.json", tmp_path / "queues.p4info.txtpb"
    for path in (json, p4info):
        path.write_text(PROGRAM.with_name(path.name).read_text())
    Switch.load(json, p4info)
    json.write_text("{}")
    with pytest.raises(ValueError, match="there is no __meta__"):
        Switch.load(json, p4info)


def test_a_packets_way_is_traced(switch: Switch) -> None:
    assert len(switch.run(1, frame(2, 3), 2 * MS, trace=True)) + len(switch.advance(4 * MS)) == 1
    (trace,) = switch.traces
    assert (trace["port"], trace["length"], trace["verdict"]) == (1, 1514, "to port 2")
    assert trace["copies"][0]["queue"] == {"port": 2, "queue": 3, "rid": 0, "depth": 0, "waited": 0}
    lines = explain(trace).splitlines()
    assert lines[0] == "1514 bytes at port 1 of switch 0, 0.002000 s"
    assert lines[-1].strip() == "=> sent"


def test_dropped_packets_alone_are_traced(switch: Switch) -> None:
    with switch.traced(count=5, dropped=True):
        switch.run(1, frame(2, 4))
        switch.run(1, rate(2, 4, 7))
    (trace,) = switch.traces
    assert trace["verdict"].startswith("dropped: the program marked the packet to drop")
    with (
        pytest.raises(ValueError, match="the program extracts no such field"),
        switch.traced(match=["a.b=1"]),
    ):
        pass


def test_what_is_no_frame_is_refused(switch: Switch) -> None:
    for packet in ("text", 60, True):
        with pytest.raises(TypeError, match="is no frame; pass bytes or a packet of scapy"):
            switch.run(1, packet)  # pyright: ignore[reportArgumentType]


def test_a_port_that_is_not_there_is_refused(switch: Switch) -> None:
    for port in (0, 9, 510, -1, 1 << 20):
        with pytest.raises(ValueError, match=f"there is no port {port}; there are 1, 2, 3, 4, 5, 6, 7, 8"):
            switch.run(port, frame(2, 4))


def test_a_packet_that_is_still_inside_is_told(switch: Switch) -> None:
    with pytest.warns(StillInside, match=r"a packet is still inside the switch: call advance\(1000000\)"):
        assert switch.run(1, frame(2, 4)) == []
    assert times(switch, switch.due_ns or 0) == [MS]
    assert switch.due_ns is None
    switch.set_queue(3, 4, paused=True)
    with pytest.warns(StillInside, match="a queue holds it"):
        assert switch.run(1, frame(3, 4), MS) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        switch.set_queue(3, 4, paused=False)
        assert len(switch.advance(MS)) == 1
        assert len(switch.run(1, frame(4, 4), MS)) == 1
