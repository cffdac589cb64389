"""The rule for the size of packets against fixed sizes: on the inferred link alone, with other traffic, and
with rarer or more frequent errors.

The rule: an adapted size is near the best if its power is nine tenths of the best fixed size's on that link;
faster if it takes a twentieth less than the fastest (`claims.MORE`); and right for a link not known in
advance if its worst loss of power over the links is a twentieth less than each fixed size's. Whether it is
the fastest on every link is no finding of its own, as the links decide it one by one.
"""

from collections.abc import Iterator, Sequence

from groupflow.study.claims import Claim, finding
from papers.amcb.claims import MORE
from papers.amcb.outcome import SIMULATION, Outcome, Outcomes, again, latency, runs
from papers.amcb.paper import Case, Link

NAME = "size"
SIZE, QUICK_SIZE = 1_626_000, 194_557
FIXED = (125, 250, 500, 750, 1000, 1340)
LINKS: tuple[Link, ...] = ("inferred", "congested", "clean", "noisy")
NEAR = 0.9
"""ratio to the power of the best fixed size"""


def _cases(quick: bool) -> list[Case]:
    size = QUICK_SIZE if quick else SIZE
    return [Case(size, fixed=fixed, link=link) for link in LINKS for fixed in (None, *FIXED)]


def _power(outcomes: Sequence[Outcome]) -> float:
    """Power of a method: throughput times the share of useful bytes."""
    size = outcomes[0].run.case.size
    return size / latency(outcomes) / (1 + again(outcomes) / 100)


def _weakness(outcomes: Sequence[Outcome]) -> float:
    return 1 / _power(outcomes)


def _judge(found: Outcomes) -> Iterator[Claim]:
    size = next(iter(found)).size
    for link in LINKS:
        power = {fixed: _power(found[Case(size, fixed=fixed, link=link)]) for fixed in FIXED}
        time = {fixed: latency(found[Case(size, fixed=fixed, link=link)]) for fixed in FIXED}
        adapted = found[Case(size, link=link)]
        best, quickest = max(power, key=power.__getitem__), min(time, key=time.__getitem__)
        ratio = _power(adapted) / power[best]
        mean = sum(outcome.packet for outcome in adapted) / len(adapted)
        listed = ", ".join(f"{fixed}: {value / power[best]:.2f}" for fixed, value in power.items())
        yield from [
            finding(NAME, f"power-{link}", f"{link} link: adapted, power is near that of the best fixed size",
                    ratio, f"of that of {best} bytes", ratio >= NEAR,
                    f"near: {NEAR:g}; mean size {mean:.0f}; fixed sizes: {listed}"),
            finding(NAME, f"time-{link}", f"{link} link: adapted, it is faster than every fixed size",
                    latency(adapted) / time[quickest], f"of the time of {quickest} bytes, the fastest",
                    latency(adapted) * MORE <= time[quickest],
                    f"at most 1/{MORE:g}; "
                    + ", ".join(f"{fixed}: {value:.0f} s" for fixed, value in time.items())),
        ]  # fmt: skip
    yield _everywhere(found)


def _everywhere(found: Outcomes) -> Claim:
    """The finding for a link not known in advance: the rule's greatest distance from the best, against that
    of each fixed size."""
    size = next(iter(found)).size

    def worst(fixed: int | None) -> float:
        """The worst ratio, over the links, to the best fixed size on the same link."""
        return max(
            _weakness(found[Case(size, fixed=fixed, link=link)])
            / min(_weakness(found[Case(size, fixed=other, link=link)]) for other in FIXED)
            for link in LINKS
        )

    each = {fixed: worst(fixed) for fixed in FIXED}
    adapted = worst(None)
    listed = ", ".join(f"{fixed}: {ratio:.2f}" for fixed, ratio in each.items())
    claim = "the adapted size's worst loss of power over all links is smaller than that of any fixed one"
    return finding(
        NAME, "power-everywhere", claim, adapted, "times",
        adapted * MORE <= min(each.values()), f"by {MORE:g} at least; fixed: {listed}",
    )  # fmt: skip


STUDY = SIMULATION.beyond(
    NAME, "packets of adapted size against fixed sizes, on four links", runs(_cases), _judge
)
