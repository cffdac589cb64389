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

    def send_count(self, forest: Forest) -> None:
        """Sends the source the number of hosts in the tree, and those that lack bytes, after a change."""
        source = self.get(forest.source or "")
        if source is None or not source.welcome:
            return
        before, now = source.counted or (None, None), (forest.attached, forest.missing)
        source.counted = now
        if before[0] != now[0]:
            source.send({"hosts": now[0]})
        if before[1] != now[1]:
            source.send({"missing": json.loads(now[1])})

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
