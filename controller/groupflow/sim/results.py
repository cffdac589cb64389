"""Measurements of a run: totals in memory, series read from files on demand."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from groupflow.sim.bone import BoneResult

Series: TypeAlias = dict[str, list[float]]
"""Columns by name; a missing value is NaN."""


@dataclass(frozen=True)
class FlowResult:
    """A flow's totals. What was not measured is None."""

    flow: str
    start_s: float | None
    """when the source of its stream sent the first packet (to a group: payload); None: it never did"""
    end_s: float | None
    """when the last payload was delivered, of a sender to a group: acknowledged; None: the flow goes on"""
    goodput_bps: float | None
    """delivered (of a sender to a group: acknowledged) payload from the start to the end, or until now"""
    sent_packets: int
    offered_bytes: int | None
    """bytes that the application wrote, where it writes messages"""
    delivered_packets: int
    delivered_bytes: int | None
    """of receivers"""
    acknowledged_bytes: int | None
    """bytes that all receivers have, of the senders of group sessions and of hubs"""
    mean_delay_s: float | None
    """of UDP flows"""
    retransmissions: int | None
    """of TCP flows and of a group session's sender"""
    repairs: int | None
    """packets that a receiver of a group session got as repairs, or that a cache agent sent as such"""
    timeouts: int | None
    """of TCP flows, as the following"""
    fast_retransmits: int | None
    ecn_reductions: int | None
    """reductions of the window because of marked packets"""
    finished: bool | None
    bone: Mapping[str, Any] | None = None
    """a hub's transfer, once it is over"""
    tree: Mapping[str, Any] | None = None
    """a host's place in its tree"""

    @property
    def duration_s(self) -> float | None:
        """The time from the start to the end; None: the flow goes on, or never started."""
        return None if self.start_s is None or self.end_s is None else self.end_s - self.start_s


def with_goodput(summary: dict[str, Any], sources: Mapping[str, str]) -> dict[str, Any]:
    """The summary of a network with the goodput of each flow while it ran. A flow of `sources` starts with
    the flow that is named there: the source of its stream."""
    starts = {flow["flow"]: flow["start_s"] for flow in summary["flows"]}

    def completed(flow: dict[str, Any]) -> dict[str, Any]:
        start, end = starts[sources.get(flow["flow"], flow["flow"])], flow["end_s"]
        span = 0.0 if start is None else (summary["simulated_s"] if end is None else end) - start
        moved = flow["acknowledged_bytes"] if flow["delivered_bytes"] is None else flow["delivered_bytes"]
        goodput = None if moved is None or span <= 0 else moved * 8 / span
        return flow | {"start_s": start, "goodput_bps": goodput}

    return summary | {"flows": [completed(flow) for flow in summary["flows"]]}


@dataclass(frozen=True)
class Drop:
    """Packets lost at one place for one reason; or signals, by kind."""

    node: str
    port: int | None
    queue: int | None
    reason: str
    packets: int


@dataclass(frozen=True)
class Results:
    """Measurements of a run."""

    summary: Mapping[str, Any]
    wall_s: float
    folder: Path | None
    """folder of the series; None: they were not kept"""
    traces: Sequence[Mapping[str, Any]] = ()
    """ways of packets that were asked for, in the order of their times (docs/reference/trace.md)"""

    @property
    def simulated_s(self) -> float:
        return self.summary["simulated_s"]

    @property
    def packet_hops(self) -> int:
        return self.summary["packet_hops"]

    @cached_property
    def flows(self) -> dict[str, FlowResult]:
        return {form["flow"]: FlowResult(**form) for form in self.summary["flows"]}

    @cached_property
    def bones(self) -> dict[str, BoneResult]:
        """Finished transfers by the hub's name."""
        return {name: BoneResult(**flow.bone) for name, flow in self.flows.items() if flow.bone is not None}

    @cached_property
    def drops(self) -> tuple[Drop, ...]:
        return tuple(Drop(**form) for form in self.summary["drops"])

    @cached_property
    def signals(self) -> tuple[Drop, ...]:
        """`ecn_marked`: packets marked at a port; `absorbed`: packets that had done their work at a switch;
        `aborted`: TCP streams that an agent gave up."""
        return tuple(Drop(**form) for form in self.summary["signals"])

    @cached_property
    def link_bytes(self) -> dict[tuple[str, str], int]:
        """Bytes of the frames that a node sent to its neighbour, by both; lost frames count."""
        sent: dict[tuple[str, str], int] = {}
        for form in self.summary["links"]:
            ends = form["from"], form["to"]
            sent[ends] = sent.get(ends, 0) + form["bytes"]
        return sent

    @cached_property
    def peak_cached_bytes(self) -> dict[str, int]:
        """The most bytes that an agent held because some branch had not acknowledged them: by split agent, by
        the host of a cache agent, and by a host that passes a stream on."""
        return {form["node"]: form["peak_bytes"] for form in self.summary["caches"]}

    def signalled(self, reason: str, node: str | None = None) -> int:
        """Number of signals of one kind, at a node or everywhere."""
        return sum(s.packets for s in self.signals if s.reason == reason and node in (None, s.node))

    def dropped(self, node: str | None = None, reason: str | None = None) -> int:
        """Number of packets dropped, at a node, for a reason, or both."""
        return sum(d.packets for d in self.drops if node in (None, d.node) and reason in (None, d.reason))

    def drops_over_time(self) -> Iterator[tuple[float, Drop]]:
        """Packets dropped since the sample before, with the time of the sample."""
        for row in self._rows("drops.csv"):
            port, queue = (int(row[key]) if row[key] else None for key in ("port", "queue"))
            yield float(row["time_s"]), Drop(row["node"], port, queue, row["reason"], int(row["packets"]))

    def throughput(self, flow: str) -> Series:
        """time_s, throughput_bps, delivered_bytes, delivered_packets, sent_packets, shaped_rate_pps."""
        return self._series("flow_throughput.csv", flow=flow)

    def efficiency(self, flow: str) -> Series:
        """time_s, efficiency, in_transit_packets, in_transit_bytes, capacity_bytes."""
        return self._series("efficiency.csv", flow=flow)

    def windows(self, flow: str) -> Series:
        """time_s, cwnd_packets, ssthresh_packets, in_flight_packets, srtt_s and counters."""
        return self._series("windows.csv", flow=flow)

    def queue_packets(self) -> dict[str, Series]:
        """By node: time_s and packets, all queues together. At a missing instant the node is empty."""
        nodes: dict[str, dict[float, float]] = {}
        for row in self._rows("queues.csv"):
            times = nodes.setdefault(row["node"], {})
            time_s = float(row["time_s"])
            times[time_s] = times.get(time_s, 0.0) + float(row["packets"])
        return {
            node: {"time_s": list(times), "packets": list(times.values())} for node, times in nodes.items()
        }

    def _series(self, name: str, **wanted: str) -> Series:
        series: Series = {}
        for row in self._rows(name):
            if all(row[column] == value for column, value in wanted.items()):
                for column, value in row.items():
                    if column not in wanted:
                        series.setdefault(column, []).append(float(value or "nan"))
        return series

    def _rows(self, name: str) -> Iterator[dict[str, str]]:
        if self.folder is None:
            raise ValueError("the run kept no series: run it with out=FOLDER")
        with (self.folder / name).open(newline="", encoding="utf-8") as file:
            yield from csv.DictReader(file)
