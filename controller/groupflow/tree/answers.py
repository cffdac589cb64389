"""The dispatchers' answers to programs that have the token and are not hosts.

| what | answer |
|---|---|
| `hosts` | `{"tree": {"source": …, "root": …, "bound_ms": …, "hosts": [{…}, …]}}` |
| `measure`, with `port` and `key` of a probe's server | `{"cell": {…}}` after each, and `{"probe": {…}}` |
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

from groupflow.probe.client import measure
from groupflow.probe.errors import ProbeError
from groupflow.probe.model import Cell, ProbeOptions
from groupflow.tree.connection import host_name
from groupflow.tree.forest import Forest
from groupflow.tree.options import DispatchOptions

CONNECTIONS = (1, 2, 4, 8)
WITHIN = 0.2
"""share by which fewer connections may be slower than the fastest: cells of a second differ by some per
cent, and each further connection takes a share from others"""
_TURN_SECONDS = 15.0


class Asker(Protocol):
    """A connection of a program that asks."""

    def say(self, line: dict[str, Any]) -> None: ...
    def refuse(self, code: str, text: str) -> None: ...
    @property
    def address(self) -> str: ...


class Answers:
    """The answers of one service."""

    def __init__(self, options: DispatchOptions, forest: Callable[[], Forest]) -> None:
        self._options = options
        self._forest = forest
        self._turn = asyncio.Lock()
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
            case "measure":
                await self._measure(asker, int(ask["port"]), str(ask["key"]))
            case what:
                raise ValueError(f"what: {what!s:.40}: it is hosts or measure")

    async def _tree(self) -> dict[str, Any]:
        forest, now = self._forest(), time.monotonic()
        hosts = [
            host | {"slow_reports": count, "slow_seconds_ago": round(now - last, 1) if count else None}
            for host in await forest.hosts()
            for count, last in [self._slow.get(host["host"], (0, now))]
        ]
        tree = {"source": forest.source, "root": forest.root, "bound_ms": forest.delay_ms}
        return tree | {"hosts": hosts}

    async def _measure(self, asker: Asker, port: int, key: str) -> None:
        """Measures towards the asker's address, if a server there proves the key; one asker at a time."""
        if not self._options.measure_s:
            return asker.refuse("not_measured", "these dispatchers do not measure (--measure-seconds 0)")
        if not 1 <= port <= 65535:
            raise ValueError(f"port: {port} is not a port")
        options = ProbeOptions(
            connections=CONNECTIONS, seconds=self._options.measure_s, within=WITHIN, adapted=True
        )

        def tell(done: int, of: int, cell: Cell) -> None:
            asker.say({"cell": {"done": done, "of": of, "connections": cell.connections, "bps": cell.bps}})

        try:
            async with asyncio.timeout(_TURN_SECONDS):
                await self._turn.acquire()
        except TimeoutError:
            return asker.refuse("busy", f"others were measured for {_TURN_SECONDS:g} s; try again later")
        try:
            probe = await measure(asker.address, port, token=key, options=options, on_cell=tell)
        except ProbeError as error:
            return asker.refuse("not_measured", f"the dispatchers cannot measure: {error}")
        finally:
            self._turn.release()
        cells = [{"connections": cell.connections, "bps": cell.bps} for cell in probe.cells]
        found = {"connections": probe.connections, "bps": probe.bps, "rtt_s": probe.rtt_s, "cells": cells}
        asker.say({"probe": found | {"warnings": list(probe.warnings)}})
        return None
