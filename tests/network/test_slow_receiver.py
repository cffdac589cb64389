"""A receiver behind a link of a fifth of the rate: `isolate` spares the others, `strict` makes all wait."""

from dataclasses import replace

import pytest

from groupflow.files import variants
from groupflow.model.topology import Topology
from tests.network.harness import MIB, MakeLab, undisturbed

SIZE = 24 * MIB
"""more than two windows ahead of the slow receiver: its branch is taken out of the stream"""
SLOW, SLOW_RATE = "mb1", 20_000_000
FIG5 = variants.with_members(variants.named("fig5"), 2)
THROTTLED = variants.with_link(FIG5, SLOW, "s1", lambda spec: replace(spec, rate=SLOW_RATE))


async def times(make_lab: MakeLab, topology: Topology, mode: str, policy: str) -> dict[str, float]:
    """Time until each receiver had the file."""
    with make_lab(topology) as lab:

        async def once() -> dict[str, float]:
            async with (
                lab.caches() as caches,
                lab.transfer(lab.session(mode, policy), lab.file(SIZE)) as transfer,
            ):
                outcome = await transfer.outcome(90)
                outcome.assert_everyone_has_it()
                for cache in caches.values():
                    await cache.stop()
                    assert cache.latest["stats"].integer("cache_peak_bytes") > 0
            return outcome.seconds()

        return await undisturbed(lab, once)


def _against(usual: dict[str, float], throttled: dict[str, float]) -> list[float]:
    """How many times as long as usual it took each receiver but the slow one."""
    return [seconds / usual[name] for name, seconds in throttled.items() if name != SLOW]


@pytest.mark.alone  # beside other networks the sender's rate falls with the processor time that is left
@pytest.mark.parametrize("mode", ["e2e", "n2n"])
async def test_isolate_spares_the_others(make_lab: MakeLab, mode: str) -> None:
    usual = await times(make_lab, FIG5, mode, "isolate")
    throttled = await times(make_lab, THROTTLED, mode, "isolate")
    if max(_against(usual, throttled)) > 1.2:
        # The machine may have become slower since the usual times were measured.
        usual = await times(make_lab, FIG5, mode, "isolate")
    assert max(_against(usual, throttled)) <= 1.2, (usual, throttled)
    assert throttled[SLOW] >= SIZE * 8 / SLOW_RATE


@pytest.mark.parametrize("mode", ["e2e", "n2n"])
async def test_strict_makes_all_follow_the_slow_one(make_lab: MakeLab, mode: str) -> None:
    throttled = await times(make_lab, THROTTLED, mode, "strict")
    assert throttled[SLOW] >= SIZE * 8 / SLOW_RATE
    others = [seconds for name, seconds in throttled.items() if name != SLOW]
    assert min(others) >= 0.8 * throttled[SLOW], throttled
