"""Reads the options of a router without P4: `{kind: fifo, ecn: 200 packets}`."""

from collections.abc import Mapping

from groupflow.network import units
from groupflow.network.forms import FormReader, Map
from groupflow.network.topology import Topology
from groupflow.sim.model import FifoOptions, Kind

FIFO_KEYS = ("ecn", "xoff", "xon")


def fifo_options(reader: FormReader, key: str, kind: Kind, form: Map) -> FifoOptions:
    """The options of the switch at `key`. Refuses contradictory ones."""
    if kind != "fifo":
        for field in FIFO_KEYS:
            if field in form:
                reader.refuse(f"{key}.{field}", "only a fifo has it; write kind: fifo")
    ecn, xoff, xon = (reader.quantity(form, key, field, _threshold, None) for field in FIFO_KEYS)
    for field, value, other in (("xoff", xoff, "xon"), ("xon", xon, "xoff")):
        if value is None and other in form:
            reader.refuse(f"{key}.{field}", f"missing; {other} needs it, as in '1000 packets'")
    if xoff is not None and xon is not None and xon > xoff:
        reader.refuse(f"{key}.xon", f"{form['xon']!r} is above xoff; write {xoff} packets or less")
    return FifoOptions(ecn, xoff, xon)


def check_fifos(
    reader: FormReader, topology: Topology, kinds: Mapping[str, Kind], fifos: Mapping[str, FifoOptions]
) -> None:
    """Refuses thresholds that the queues beside them cannot reach, and pauses that no neighbour obeys."""
    for link in topology.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            options = fifos.get(end.node, FifoOptions())
            for field, value in (("ecn", options.ecn), ("xoff", options.xoff)):
                if value is not None and link.spec.rate is not None and value >= link.spec.queue:
                    reader.refuse(
                        f"switches.{end.node}.{field}",
                        f"'{value} packets' are never reached: the queue to {other.node} drops when"
                        f" {link.spec.queue} wait; write less",
                    )
            if options.xoff is not None and kinds.get(other.node) == "p4":
                reader.refuse(
                    f"switches.{end.node}.xoff",
                    f"its neighbour {other.node} runs P4 and does not obey pause frames; use a fifo",
                )


def _threshold(value: object) -> int:
    """A number of packets, with its unit."""
    if isinstance(value, int):
        cure = f"write a number with its unit, as in '{max(value, 1)} packets'"
        raise units.UnitError(f"{value!r} cannot be read; {cure}")
    return units.parse_packets(value)
