"""The dispatchers' answers to programs that have the token and are not hosts.

| what | answer |
|---|---|
| `hosts` | `{"tree": {"source": …, "root": …, "bound_ms": …, "hosts": [{…}, …]}}` |
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

from groupflow.tree.connection import host_name
from groupflow.tree.forest import Forest
from groupflow.tree.options import DispatchOptions


class Asker(Protocol):
    """A connection of a program that asks."""

    def say(self, line: dict[str, Any]) -> None: ...


class Answers:
    """The answers of one service."""

    def __init__(self, options: DispatchOptions, forest: Callable[[], Forest]) -> None:
        self._options = options
        self._forest = forest
        self._slow: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """slow hosts: number of their parents' reports, and time of the last report"""

    def report(self, child: object) -> None:
        """Counts a parent's report that data wait for this child. Raises ValueError for an invalid name."""
        child = host_name(child)
        count, _ = self._slow.pop(child, (0, 0.0))
        self._slow[child] = count + 1, time.monotonic()
        if len(self._slow) > self._options.max_hosts:
            self._slow.popitem(last=False)

    async def answer(self, asker: Asker, ask: dict[str, Any]) -> None:
        """Answers a request. Raises ValueError, KeyError, TypeError for an invalid request."""
        match ask["what"]:
            case "hosts":
                asker.say({"tree": await self._tree()})
            case what:
                raise ValueError(f"what: {what!s:.40}: it is hosts")

    async def _tree(self) -> dict[str, Any]:
        forest, now = self._forest(), time.monotonic()
        hosts = [
            host | {"slow_reports": count, "slow_seconds_ago": round(now - last, 1) if count else None}
            for host in await forest.hosts()
            for count, last in [self._slow.get(host["host"], (0, now))]
        ]
        tree = {"source": forest.source, "root": forest.root, "bound_ms": forest.delay_ms}
        return tree | {"hosts": hosts}
