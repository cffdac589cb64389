"""Data, acknowledgements, repairs and polls of a session."""

from __future__ import annotations

from typing import Any

import finsy as fy
import pytest

from tests.ptf.cases import (
    CONTROLLER,
    Case,
    Counted,
    Frame,
    Step,
    Target,
    Write,
    bare,
    copies,
    run,
    session,
    to_host,
    with_group,
)
from tests.support.p4.layers import ACK, DATA, FORCED, NACK, REPAIR, REPLY, RESET, SYNC
from tests.support.p4.network import (
    ACK_GROUP,
    AGENT,
    ALL_BRANCHES,
    DATA_GROUP,
    DOWN,
    FIRST,
    ROUTER_MAC,
    SECOND,
    UPSTREAM,
    frame,
    group_entry,
    ip,
    mac,
    neighbour_entry,
    stream_entry,
)

BELOW = (AGENT, FIRST, SECOND, DOWN)
PUNT_RESET = 2


def passes(kind: int, port: int = UPSTREAM, to: tuple[int, ...] = BELOW) -> Frame:
    """A packet that flows down."""
    sent = frame(port, kind, b"payload", seq=1001)
    return Frame(port, sent, out=copies(sent, *to))


def ack(port: int, seq: int, up: int | None = None, *, drop: str = "", **fields: Any) -> Frame:
    """An acknowledgement, and the one that goes to the sender and to the cache agent; None: none."""
    values: dict[str, Any] = {"seq": seq, "member": 0 if port == DOWN else port}
    sent = frame(port, ACK, **(values | fields))
    told = () if up is None else copies(with_group(sent, seq=up, member=0), UPSTREAM, AGENT)
    return Frame(port, sent, out=told, drop=drop)


def reset(branch: int, seq: int) -> Frame:
    """The controller's RESET, which comes back."""
    return Frame(CONTROLLER, frame(0, RESET, member=branch, seq=seq), punted=PUNT_RESET)


ALL_10: tuple[Step, ...] = (ack(FIRST, 10), ack(SECOND, 10), ack(DOWN, 10, up=10))
SECOND_AT_FIRST = fy.P4TableEntry(
    "neighbours",
    match=fy.P4TableMatch({"instance": 60}),
    action=fy.P4TableAction("to_host", src=ROUTER_MAC, dst=mac(FIRST), ip=ip(FIRST), port=40000),
)
ONE = frame(UPSTREAM, DATA, b"x", seq=7)


def to_port_40000() -> bytes:
    copy = to_host(ONE, FIRST)
    copy["UDP"].dport = 40000
    return bytes(copy)


REPLICATION = {
    "data": Case(session, (passes(DATA),)),
    "a poll": Case(session, (passes(SYNC),)),
    "the sender's repair": Case(session, (passes(REPAIR),)),
    "the agent's repair, which it does not get": Case(
        session,
        (passes(REPAIR, AGENT, (FIRST, SECOND, DOWN)), Counted(fy.P4CounterEntry("own_repairs", index=0), 1)),
    ),
    "data without payload": Case(
        session, (Frame(UPSTREAM, frame(UPSTREAM, DATA), out=copies(frame(UPSTREAM, DATA), *BELOW)),)
    ),
    "data of 1,400 bytes": Case(
        session,
        (
            Frame(
                UPSTREAM,
                frame(UPSTREAM, DATA, bytes(1400)),
                out=copies(frame(UPSTREAM, DATA, bytes(1400)), *BELOW),
            ),
        ),
    ),
    "a branch that left": Case(
        session,
        (Write((~group_entry(DATA_GROUP, AGENT, SECOND, DOWN),)), passes(DATA, to=(AGENT, SECOND, DOWN))),
    ),
    "two receivers behind one port": Case(
        session,
        (
            Write(
                (
                    +SECOND_AT_FIRST,
                    ~fy.P4MulticastGroupEntry(DATA_GROUP, replicas=[(FIRST, FIRST), (FIRST, 60)]),
                )
            ),
            Frame(UPSTREAM, ONE, out=((FIRST, to_host(ONE, FIRST)), (FIRST, to_port_40000()))),
        ),
    ),
    "nobody below": Case(
        session,
        (
            Write((~stream_entry(data_group=0),)),
            Frame(UPSTREAM, frame(UPSTREAM, DATA)),
            Counted(fy.P4CounterEntry("absorbed", index=0), 1),
        ),
    ),
    **{
        f"from a wrong port: {name}": Case(
            session, (Frame(port, frame(port, kind, seq=1), drop="wrong_port"),)
        )
        for name, port, kind in (
            ("a receiver's data", FIRST, DATA),
            ("a lower switch's data", DOWN, DATA),
            ("a receiver's repair", FIRST, REPAIR),
            ("the agent's data", AGENT, DATA),
            ("the agent's poll", AGENT, SYNC),
        )
    },
    "another session": Case(
        session, (Frame(UPSTREAM, frame(UPSTREAM, DATA, session=8, dst="239.0.0.8"), drop="unknown_session"),)
    ),
    "another sender": Case(
        session, (Frame(UPSTREAM, frame(UPSTREAM, DATA, source=2), drop="unknown_session"),)
    ),
    "counters of stream and neighbours": Case(
        session,
        (
            Write((-stream_entry(), +stream_entry())),
            *(passes(DATA) for _ in range(3)),
            Counted(
                fy.P4DirectCounterEntry("stream_counter", table_entry=stream_entry()),
                3,
                3 * len(frame(UPSTREAM, DATA, b"payload")),
            ),
            Write((-neighbour_entry(FIRST), +neighbour_entry(FIRST))),
            passes(DATA),
            Counted(fy.P4DirectCounterEntry("neighbour_counter", table_entry=neighbour_entry(FIRST)), 1),
        ),
    ),
}
ACKS = {
    "the last branch lets the minimum pass": Case(
        session, (ack(FIRST, 10), ack(SECOND, 20), ack(DOWN, 30, up=10, stamp=4242))
    ),
    "the same minimum only once": Case(session, (*ALL_10, ack(DOWN, 11), ack(FIRST, 10))),
    "an older one changes nothing": Case(
        session, (*ALL_10, ack(FIRST, 5), ack(FIRST, 12), ack(SECOND, 12), ack(DOWN, 11, up=11))
    ),
    "a branch that leaves": Case(
        session,
        (ack(FIRST, 10), ack(SECOND, 12), Write((~stream_entry(active=0b011),)), ack(SECOND, 13, up=10)),
    ),
    "no active branch": Case(
        session, (Write((~stream_entry(active=0),)), ack(FIRST, 10, flags=FORCED, poll=1))
    ),
    "each poll is answered once": Case(
        session,
        (
            *ALL_10,
            ack(FIRST, 10, up=10, flags=FORCED, poll=1),
            ack(SECOND, 10, flags=FORCED, poll=1),
            ack(SECOND, 10, up=10, flags=FORCED, poll=2),
        ),
    ),
    "of nobody's branch": Case(
        session, (ack(FIRST, 10, drop="unknown_branch", member=99), ack(UPSTREAM, 10, drop="unknown_branch"))
    ),
    "of what was not sent": Case(
        session, (ack(FIRST, 1002, drop="beyond"), ack(FIRST, 1001)), needs="one pipe"
    ),
    "a poll raises the bound": Case(
        session,
        (
            ack(FIRST, 1501, drop="beyond"),
            Frame(
                UPSTREAM, frame(UPSTREAM, SYNC, seq=1500), out=copies(frame(UPSTREAM, SYNC, seq=1500), *BELOW)
            ),
            ack(FIRST, 1501),
        ),
        needs="one pipe",
    ),
    "without a way up": Case(
        session,
        (
            Write((~stream_entry(ack_group=0),)),
            *ALL_10[:2],
            Frame(DOWN, frame(DOWN, ACK, seq=10, member=0), drop="no_upstream"),
        ),
    ),
    "the agent's word replaces the branches'": Case(
        session,
        (
            Write((~group_entry(ACK_GROUP, AGENT),)),
            Frame(
                AGENT,
                frame(AGENT, ACK, seq=50),
                out=copies(with_group(frame(AGENT, ACK, seq=50), member=0), UPSTREAM),
            ),
        ),
    ),
    "a reset of one branch": Case(
        session, (*ALL_10, reset(1, 4), ack(FIRST, 20), ack(SECOND, 12), ack(DOWN, 30, up=12))
    ),
    "a reset of the stream": Case(
        session,
        (
            *ALL_10,
            reset(ALL_BRANCHES, 0),
            ack(FIRST, 2, drop="beyond"),
            Frame(UPSTREAM, frame(UPSTREAM, DATA, seq=1), out=copies(frame(UPSTREAM, DATA, seq=1), *BELOW)),
            ack(FIRST, 2),
            ack(SECOND, 2),
            ack(DOWN, 2, up=2),
        ),
        needs="one pipe",
    ),
    "a reset of no stream": Case(
        bare, (Frame(CONTROLLER, frame(0, RESET, member=1, seq=4), drop="unknown_session"),)
    ),
    "a host's reset": Case(
        session, (Frame(FIRST, frame(FIRST, RESET, member=0xFF, seq=1000), drop="not_controller"),)
    ),
    "a host's answer of the controller": Case(
        session, (Frame(FIRST, frame(FIRST, REPLY), drop="not_controller"),)
    ),
    "an unknown type": Case(session, (Frame(FIRST, frame(FIRST, 13), drop="unknown_type"),)),
}


def request(port: int, to: int, **fields: Any) -> Frame:
    """A request for repairs, which goes on to a port; the agent's own is the network's."""
    sent = frame(port, NACK, bytes.fromhex("00000001"), seq=1, **fields)
    asked = sent if to == AGENT else with_group(sent, member=0)
    return Frame(port, sent, out=copies(asked, to))


REPAIRS = {
    "a request goes to the cache agent": Case(session, (request(FIRST, AGENT),)),
    "what the agent lacks, to the sender": Case(session, (request(AGENT, UPSTREAM),)),
    "without an agent, to the sender": Case(
        session, (Write((~stream_entry(repair_group=0, agent_port=0),)), request(DOWN, UPSTREAM, member=0))
    ),
    "without a way up": Case(
        session,
        (
            Write((~stream_entry(repair_group=0, agent_port=0, upstream_group=0),)),
            Frame(FIRST, frame(FIRST, NACK), drop="no_upstream"),
        ),
    ),
    "a stranger's request": Case(
        session, (Frame(SECOND, frame(SECOND, NACK, member=77), drop="unknown_branch"),)
    ),
}
CASES = {
    f"{topic}: {name}": case
    for topic, cases in {"replication": REPLICATION, "acks": ACKS, "repairs": REPAIRS}.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_session(target: Target, case: Case) -> None:
    run(target, case)
