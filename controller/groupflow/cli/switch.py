"""`groupflow switch`: the switches of a network, the ways of packets through them, and BMv2's rate agent."""

import json
import socket
import sys
from dataclasses import dataclass
from threading import Timer
from typing import Annotated, Any, TypeAlias

from groupflow.cli.common import Common, Row, Rows, call, client, listed, print_json, print_pairs
from groupflow.errors import Error, InvalidError, reason
from groupflow.model.fields import Help, Range
from groupflow.model.values import FarAddress, SessionId

COLUMNS = ("name", "device_id", "grpc", "state", "agent", "streams", "entries", "problem")

Switch: TypeAlias = Annotated[str, Help("name of the switch", "SWITCH")]


def list_all(common: Common) -> None:
    """List the switches."""
    listed(common, call(common, "GET", "/switches"), COLUMNS)


def show(
    common: Common,
    switch: Switch,
    *,
    table: Annotated[str | None, Help("table of which all entries are shown, or `groups`", "NAME")] = None,
) -> None:
    """Show a switch, and with --table the entries that it holds."""
    found = call(common, "GET", f"/switches/{switch}")
    entries: Rows = []
    if table:
        entries = call(common, "GET", f"/switches/{switch}/entries", params={"table": table})
    if common.json:
        print_json({**found, "entries": entries} if table else found)
        return
    print_pairs(found)
    for entry in entries:
        action = f"{entry['action']}({_join(entry['params'])})" if entry["action"] else "replicate"
        targets = " ".join(f"{copy['port']}:{copy['instance']}" for copy in entry["replicas"])
        print(f"{entry['table']}[{_join(entry['match'])}] {action} {targets}".rstrip())


def counters(
    common: Common,
    switch: Switch,
    counter: Annotated[str | None, Help("name of one counter (default: all)", "COUNTER")] = None,
) -> None:
    """Show the counters of a switch."""
    params = {"counter": counter} if counter else {}
    found = call(common, "GET", f"/switches/{switch}/counters", params=params)
    if common.json:
        print_json(found)
        return
    rows: Rows = [{"counter": name, **count} for name, counts in found.items() for count in counts]
    listed(common, rows, ("counter", "index", "packets", "bytes"))


def _join(values: Row | dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


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
    all: Annotated[bool, Help("add each outcome that chance or a selector's hash allows")] = False
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


_ETH_P_ALL = 0x0003
_REFRESH_NS = 500_000_000
"""between two questions to the controller"""


def bmv2_agent(
    common: Common,
    switch: Annotated[str, Help("name of the switch in the topology", "SWITCH")],
    *,
    thrift: Annotated[FarAddress, Help("address of BMv2's Thrift server (--thrift-port)")],
    iface: Annotated[str, Help("far end of the veth pair at BMv2's port 0")],
) -> None:
    """Give BMv2 the ticks and queue rates of diffusion-type flow control, until Ctrl-C."""
    from groupflow.control.diffusion.bmv2_agent import RateAgent, RegisterCell, ThriftClient, Tick

    try:
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        wire.bind((iface, _ETH_P_ALL))
    except OSError as error:
        raise Error(f"--iface {iface}: {reason(error)}; name a veth, as root") from None
    with wire, client(common) as api:

        def wanted() -> tuple[list[RegisterCell], list[Tick]]:
            body = api.request("GET", f"/diffusion/switches/{switch}")
            cells = [RegisterCell(cell["port"], cell["queue"], cell["line_rate"]) for cell in body["cells"]]
            return cells, [Tick(tick["period_ns"], bytes.fromhex(tick["frame"])) for tick in body["ticks"]]

        agent = RateAgent(ThriftClient(*thrift), wire.send)
        print(f"groupflow bmv2-agent ready switch={switch}", flush=True)
        agent.run(wanted, _REFRESH_NS)
