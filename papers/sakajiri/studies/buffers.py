"""Section III.A: too large a buffer lets more packets be under way, and congests routers.

The rule: it does if the queues' part of the round trip is longer with each larger buffer than with Table I's,
by a twentieth at least, in Model 1 while buffers alone are tuned.
"""

from collections.abc import Iterator
from statistics import fmean

from groupflow.study.claims import Claim, finding
from papers.sakajiri.claims import over
from papers.sakajiri.outcome import SIMULATION, Outcomes, runs
from papers.sakajiri.paper import BUFFER, BUFFERS, TARGETS, Case, Links

NAME = "buffers"
MORE = 1.05
CASES = {buffer: Case("buffer", situation=name) for name, buffer in BUFFERS.items()}


def _judge(found: Outcomes) -> Iterator[Claim]:
    queues = {
        buffer: fmean(fmean(s.rtts_ms) for outcome in found[case] for s in outcome.series.values())
        - Links().rtt_ms
        for buffer, case in CASES.items()
    }
    least = min(queue for buffer, queue in queues.items() if buffer > BUFFER) / queues[BUFFER]
    rates = {buffer: over(found[case], tuple(TARGETS)) for buffer, case in CASES.items()}
    note = ", ".join(
        f"{buffer // 1000} KB {queue:.1f} ms, {rates[buffer]:.2f} Mb/s" for buffer, queue in queues.items()
    )
    yield finding(
        NAME, "queues", "a larger buffer makes packets wait longer", least, "times Table I's, the least",
        least >= MORE, f"at least {MORE:g}; {note} a client",
    )  # fmt: skip


STUDY = SIMULATION.beyond(NAME, "larger buffers of the server", runs(lambda _: CASES.values()), _judge)
