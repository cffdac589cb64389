"""Signs of life of a process to its hosts, and whether it stood still between two of them."""

import asyncio
import time
from collections.abc import Callable


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
