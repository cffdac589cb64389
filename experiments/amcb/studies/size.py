"""The rule for the size of packets against fixed sizes, on the link alone and with other traffic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.amcb.outcome import Outcome, Outcomes, again, latency
from experiments.amcb.paper import Case, Link
from experiments.amcb.studies.study import Study, bars, finding
from experiments.common.claims import Claim

NAME = "size"
SIZE, QUICK_SIZE = 1_626_000, 194_557
FIXED = (125, 250, 500, 750, 1000, 1340)
LINKS: tuple[Link, ...] = ("inferred", "congested")
NEAR = 0.9
"""of the best fixed size's power"""


def _cases(quick: bool) -> list[Case]:
    size = QUICK_SIZE if quick else SIZE
    return [Case(size, fixed=fixed, link=link) for link in LINKS for fixed in (None, *FIXED)]


def _power(outcomes: Sequence[Outcome]) -> float:
    """Throughput times the share of bytes that were of use."""
    size = outcomes[0].run.case.size
    return size / latency(outcomes) / (1 + again(outcomes) / 100)


def _judge(found: Outcomes) -> list[Claim]:
    size = next(iter(found)).size
    claims: list[Claim] = []
    for link in LINKS:
        power = {fixed: _power(found[Case(size, fixed=fixed, link=link)]) for fixed in FIXED}
        time = {fixed: latency(found[Case(size, fixed=fixed, link=link)]) for fixed in FIXED}
        adapted = found[Case(size, link=link)]
        best, quickest = max(power, key=power.__getitem__), min(time, key=time.__getitem__)
        ratio = _power(adapted) / power[best]
        mean = sum(outcome.packet for outcome in adapted) / len(adapted)
        listed = ", ".join(f"{fixed}: {value / power[best]:.2f}" for fixed, value in power.items())
        claims += [
            finding(NAME, f"power-{link}", f"{link} link: adapted, power is near that of the best fixed size",
                    ratio, f"of that of {best} bytes", ratio >= NEAR,
                    f"near: {NEAR:g}; mean size {mean:.0f}; fixed sizes: {listed}"),
            finding(NAME, f"time-{link}", f"{link} link: adapted, it is faster than every fixed size",
                    latency(adapted) / time[quickest], f"of the time of {quickest} bytes, the fastest",
                    latency(adapted) <= time[quickest],
                    ", ".join(f"{fixed}: {value:.0f} s" for fixed, value in time.items())),
        ]  # fmt: skip
    return claims


def _draw(path: Path, found: Outcomes) -> None:
    size = next(iter(found)).size
    named = {
        f"{'adapted' if fixed is None else fixed}, {link}": Case(size, fixed=fixed, link=link)
        for link in LINKS
        for fixed in (None, *FIXED)
    }
    bars(path, f"Scheduled, {size:,} bytes: sizes of packets", named, found)


STUDY = Study(NAME, _cases, _judge, _draw)
