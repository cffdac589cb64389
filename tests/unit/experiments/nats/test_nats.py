"""Figures of a run: missing bytes, silences, the subscriber to kill."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from experiments.nats import measure
from experiments.nats.systems import System
from experiments.tree.stream import Arrival


class Fake:
    """A subscriber that gets a share of the published bytes, until it is killed."""

    def __init__(self, share: float) -> None:
        self.arrivals: list[Arrival] = []
        self.killed = False
        self._share = share
        self._seen = 0

    @property
    def received(self) -> int:
        return self.arrivals[-1].bytes if self.arrivals else 0

    async def read(self) -> None:
        await asyncio.Event().wait()

    def signal(self, number: signal.Signals) -> None:
        self.killed = number == signal.SIGKILL

    def hear(self, count: int) -> None:
        self._seen += count
        if not self.killed:
            at = asyncio.get_running_loop().time()
            self.arrivals.append(Arrival(at, int(self._seen * self._share)))


@asynccontextmanager
async def system(fakes: dict[str, Fake]) -> AsyncGenerator[System]:
    """Carries written bytes to all subscribers."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(1 << 16):
            for fake in fakes.values():
                fake.hear(len(chunk))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    async with server:
        yield System(writer, dict(fakes))


@pytest.mark.slow
async def test_what_is_missing_and_who_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_GRACE_S", 0.2)
    fakes = {"h1": Fake(1.0), "h2": Fake(1.0), "h3": Fake(0.9), "slow": Fake(0.1)}
    outcome = await measure.measure("fake", system(fakes), 8_000_000, 1.0, "slow")
    assert [name for name, fake in fakes.items() if fake.killed] == ["h1"]
    assert outcome.fast == 2 and outcome.sent > 100_000
    assert outcome.lost_share == pytest.approx(0.05, rel=0.01)
    assert outcome.worst_bps == pytest.approx(0.9 * fakes["h2"].received * 8, rel=0.3)
    assert outcome.slow_bps < 0.3 * outcome.worst_bps


async def test_the_longest_silence_is_of_the_time_after_the_kill() -> None:
    fake = Fake(1.0)
    fake.arrivals = [Arrival(at, 1) for at in (0.0, 8.0, 10.1, 10.6, 11.0, 12.0, 12.9, 99.0)]
    assert measure.longest_silence(fake, 10.0) == pytest.approx(1.0)
    fake.arrivals = [Arrival(10.5, 1)]
    assert measure.longest_silence(fake, 10.0) == pytest.approx(2.5)
