"""The life of a service and of its source: signs of life to hosts, and how long each may be away."""

import asyncio
import time
from collections.abc import Callable


class Absence:
    """Absence of the source."""

    def __init__(self, patience: float) -> None:
        """`patience`: seconds that the source may be absent."""
        self._patience = patience
        self._since: float | None = None
        self._seen: str | None = None
        """the root whose source this process has seen"""

    def lasts_too_long(self, root: str, source_is_here: bool) -> bool:
        """To be asked repeatedly. A source that this process never saw has twice the time: it has to notice
        that the former process is gone."""
        now = time.monotonic()
        if source_is_here:
            self._seen, self._since = root, None
            return False
        self._since = now if self._since is None else self._since
        return now >= self._since + self._patience * (1 if self._seen == root else 2)

    def end(self) -> None:
        """Ends the watch: there is no tree, or this process begins again."""
        self._seen = self._since = None


class Pulse:
    def __init__(self, patience: float) -> None:
        self.every = max(0.001, min(patience / 6, 1.0))
        """seconds between two signs of life; hosts that miss four come back before their patience is over"""
        self._signed = 0.0
        """time when hosts were last told that this process is alive"""
        self._missed = False
        """the last such signs came too late"""

    def begin(self) -> None:
        self._signed = time.monotonic()

    async def beat(self, sign: Callable[[], None]) -> None:
        """Gives signs of life, until cancelled."""
        while True:
            await asyncio.sleep(self.every)
            self._missed |= self._signs_missed()
            self.begin()
            sign()

    def stood_still(self) -> bool:
        """Whether this process sent no sign of life for so long that hosts connect again. Their silence
        meanwhile does not count against them."""
        missed = self._missed or self._signs_missed()
        self._missed = False
        return missed

    def _signs_missed(self) -> bool:
        now, before = time.monotonic(), self._signed
        self._signed = now if now > before + max(4 * self.every, 1.0) else before
        return self._signed == now
