"""`groupflow switch trace`: the way of packets through a switch of a running network, step by step."""

import json
import sys
from dataclasses import dataclass
from threading import Timer
from typing import Annotated, Any

from groupflow.cli.common import Common
from groupflow.errors import InvalidError
from groupflow.model.fields import Help, Range
from groupflow.model.values import SessionId


@dataclass(frozen=True, kw_only=True)
class Packets:
    """The packets whose way is shown."""

    port: Annotated[int | None, Help("only packets that arrive at this port", "PORT")] = None
    session: Annotated[SessionId | None, Help("only packets of this session")] = None
    match: Annotated[
        tuple[str, ...],
        Help("only packets with this field, such as ipv4.dst=10.0.2.1 or ethernet.ethertype=0x800/0xff00",
             "HEADER.FIELD=VALUE"),
    ] = ()  # fmt: skip
    dropped: Annotated[bool, Help("only packets of which a copy is dropped (of fast traffic: a sample)")] = (
        False
    )
    next: Annotated[int | None, Help("number of packets (default: 1)", "N"), Range(1)] = None

    @property
    def request(self) -> dict[str, object]:
        """The packets to trace, as docs/reference/trace.md has them."""
        return {**vars(self), "match": list(self.match), "next": self.next or 1}


def trace(
    common: Common,
    switch: Annotated[
        str | None, Help("name of the switch (default: all, each packet followed)", "SWITCH")
    ] = None,
    *,
    packets: Packets,
) -> None:
    """Show the way of packets through switches: headers, tables, queues, and the reason of a drop (root)."""
    from groupflow.lab.links import links_of
    from groupflow.lab.registry import find
    from groupflow.lab.tracing import FOLLOW_SECONDS, follow
    from groupflow.switch import explain

    entry = find(common.net)
    if switch is not None and switch not in entry.switches:
        known = ", ".join(entry.switches)
        raise InvalidError(f"no switch {switch} in {entry.name}; there are {known}")
    if entry.switch != "gfswitch":
        raise InvalidError(f"{entry.name} runs {entry.switch}, which has no traces; use gfswitch")
    links = links_of(entry)

    def show(trace: dict[str, Any]) -> None:
        notice.cancel()
        print(json.dumps(trace) if common.json else explain(trace), flush=True)

    text = f"groupflow: waiting for such packets at {switch or ', '.join(entry.switches)}; Ctrl-C ends"
    notice = Timer(FOLLOW_SECONDS, print, [text], {"file": sys.stderr})
    notice.start()
    try:
        for line in follow(links.topology, links.sockets, switch, packets.request, show):
            print(f"groupflow: {line}", file=sys.stderr)
    finally:
        notice.cancel()
