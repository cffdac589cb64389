"""The connected hosts of a tree's dispatchers, by name, the news for them, and reports on them."""

import json
import time
from collections import OrderedDict
from typing import Any

from groupflow.tree.connection import Connection, host_name
from groupflow.tree.forest import Forest, HostMessages


class Hosts(dict[str, Connection]):
    def send_alive(self) -> None:
        for host in tuple(self.values()):
            host.send({"alive": True})

    def send_members(self, forest: Forest) -> None:
        """Tells the source after a change how many hosts are in the tree, and which lack bytes."""
        source = self.get(forest.source or "")
        if source is not None and source.welcome and source.members != forest.members:
            source.members = forest.members
            source.send({"members": json.loads(source.members)})

    def addressed(self, messages: HostMessages) -> list[tuple[Connection, dict[str, Any]]]:
        """Messages with the connections of their hosts, if connected. To be called before the next event."""
        return [
            (host, {"cluster": cluster, "joins": host.joins, **json.loads(message)})
            for cluster, name, message in messages
            if (host := self.get(name)) is not None and host.welcome
        ]


class SlowReports:
    """Reports of parents that data wait for a child, of the `most` children reported last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._reports: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """by child: number of reports, and time of the last report"""

    def add(self, child: object) -> None:
        """Counts a report. Raises ValueError for an invalid name."""
        child = host_name(child)
        count, _ = self._reports.pop(child, (0, 0.0))
        self._reports[child] = count + 1, time.monotonic()
        if len(self._reports) > self._most:
            self._reports.popitem(last=False)

    def of(self, host: str) -> dict[str, Any]:
        """The fields of a host in the answer to a program that asks."""
        count, last = self._reports.get(host, (0, 0.0))
        ago = round(time.monotonic() - last, 1) if count else None
        return {"slow_reports": count, "slow_seconds_ago": ago}
