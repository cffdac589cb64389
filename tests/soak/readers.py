"""Clients of rims: they take files, parts of them, or go away; the bytes they get must be right."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable

import httpx

from tests.soak.versions import Versions
from tests.support.bone import Node

OUGHT = {200, 206, 404, 416, 502, 503, 504, 507}
"""statuses that a rim may give while files, hub and rims come and go"""
LONGEST_S = 40.0
"""longest time of an answer: a wait for a file to begin, pauses, the file"""


class Readers:
    """Several clients of a bone's rims."""

    def __init__(
        self,
        versions: Versions,
        rng: random.Random,
        rims: Callable[[], list[Node]],
        fault: Callable[[str], None],
    ) -> None:
        """`rims`: those that run now."""
        self._versions = versions
        self._random = rng
        self._rims = rims
        self._fault = fault
        self.busy: Counter[tuple[str, str]] = Counter()
        """answers under way, by rim's address and file"""
        self.answers: Counter[str] = Counter()

    async def read_on(self, client: httpx.AsyncClient) -> None:
        """Reads until cancelled."""
        while True:
            await asyncio.sleep(self._random.uniform(0, 0.3))
            if rims := self._rims():
                name = self._random.choice(["none", *self._versions.now])
                await self._read(client, self._random.choice(rims), name)

    async def _read(self, client: httpx.AsyncClient, rim: Node, name: str) -> None:
        self.busy[rim.http, name] += 1
        begun = time.monotonic()
        try:
            async with asyncio.timeout(LONGEST_S):
                await self._take(client, rim, name)
        except httpx.TransportError:  # the rim was killed, or the hub gave the file up: no whole answer
            self.answers["cut"] += 1
        except TimeoutError:
            self._fault(f"{rim.agent.options.name}: {name} takes {time.monotonic() - begun:.0f} s")
        finally:
            self.busy[rim.http, name] -= 1

    async def _take(self, client: httpx.AsyncClient, rim: Node, name: str) -> None:
        begin = self._random.choice((None, None, 0, 1000, 200_000))
        headers = {} if begin is None else {"Range": f"bytes={begin}-{begin + 50_000}"}
        goes = self._random.random() < 0.1
        async with client.stream("GET", rim.url(name), headers=headers) as answer:
            self.answers[str(answer.status_code)] += 1
            if answer.status_code not in OUGHT:
                self._fault(f"{rim.agent.options.name}: {name} is answered with {answer.status_code}")
            if goes or answer.status_code not in (200, 206):
                return
            data = await answer.aread()
            tag = answer.headers["etag"].strip('"')
            if fault := self._versions.fault(name, tag, data, begin if answer.status_code == 206 else None):
                self._fault(f"{rim.agent.options.name}: {fault}")
