"""Counters of streams, neighbours and ports, as the controller reads them."""

from __future__ import annotations

import finsy as fy

from groupflow.switch import Switch
from tests.support.p4.layers import DATA, JOIN
from tests.support.p4.network import AGENT, DOWN, FIRST, UPSTREAM, frame, neighbour_entry, stream_entry


def test_a_stream_counts_what_reached_the_switch(switch: Switch) -> None:
    sent = bytes(frame(UPSTREAM, DATA, b"x" * 100))
    for _ in range(3):
        switch.run(UPSTREAM, sent)
    (entry,) = switch.read(fy.P4DirectCounterEntry("stream_counter", table_entry=stream_entry()))
    assert (entry.packet_count, entry.byte_count) == (3, 3 * len(sent))


def test_a_neighbour_counts_its_copies(switch: Switch) -> None:
    switch.run(UPSTREAM, frame(UPSTREAM, DATA))
    for port in (AGENT, FIRST, DOWN):
        (entry,) = switch.read(
            fy.P4DirectCounterEntry("neighbour_counter", table_entry=neighbour_entry(port))
        )
        assert entry.packet_count == 1


def test_a_port_counts_what_left(switch: Switch) -> None:
    switch.run(UPSTREAM, frame(UPSTREAM, DATA))
    counts = {p: switch.read(fy.P4CounterEntry("port_out", index=p))[0].packet_count for p in range(1, 7)}
    assert counts == {1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 6: 0}


def test_punts_are_counted_by_type(switch: Switch) -> None:
    switch.run(FIRST, frame(FIRST, JOIN))
    (entry,) = switch.read(fy.P4CounterEntry("punts", index=JOIN))
    assert entry.packet_count == 1
