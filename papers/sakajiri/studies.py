"""Studies of parameters that the paper leaves open, and of questions beyond it. Models are the paper's.

The rule of "thresholds": a value of gamma or xi, which the paper recommends by preliminary experiment (Table
I), is best if no other gives the worst-off high priority client more than a twentieth more under
interference; the two thresholds of a tuning (III.B) decrease the frequency of tunings if there are fewer by a
twentieth at least than with the target alone.

The rule of "buffers": too large a buffer lets more packets be under way, and congests routers (III.A), if the
queues' part of the round trip is longer with each larger buffer than with Table I's, by a twentieth at least,
in Model 1 while buffers alone are tuned.

The rule of "start": that connections are not added during the first slow start explains Table II's order if
CUBIC and Compound TCP get more than Vegas and Reno (the criterion of Table II), and all clients have their
targets, with one connection for each ("buffer"). Else all are alike, as connections are added in the first
half second, below every target, and kept when the target is met (step IV).

The rule of "narrow", 3.6 Mb/s between Routers 2 and 3, while the targets sum to 4.5: a method divides the
link as the policy says if every client's rate is within a tenth of the paper's words (`divided`); the high
priority has the rest if it gets a tenth more at least; the link is used if payload takes nine tenths of it.

The rule of "jump", "churn" and "loss": a method is enough if every client has its target by its mean: in
`jump` before the round trip of a high priority client jumps half-way, and from 10 s after that; in `churn`
while the client sends, from 5 s after it joined, beside the interference; in `loss` over the whole run.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from groupflow.study.claims import Claim, finding, restated
from groupflow.study.experiment import Study
from papers.sakajiri import over_links
from papers.sakajiri.claims import When, during, over, table_2, whole
from papers.sakajiri.outcome import SIMULATION, Outcome, Outcomes, Span, runs
from papers.sakajiri.paper import (
    BUFFER,
    BUFFERS,
    FAR_MS,
    HEAVY_LOSS,
    HIGH,
    JOINS,
    LEAVES,
    LOW,
    NAMES,
    NEAR_MS,
    TARGETS,
    TCPS,
    Case,
    Links,
    Method,
    Run,
)

MORE = 1.05
"""ratio from which on a value is more than another"""
PAPERS = Case("both", interference=True)
VALUES = {
    "gamma": {gamma: replace(PAPERS, gamma=gamma) for gamma in (0.25, 0.5, 0.75, 1.0)},
    "xi": {xi: replace(PAPERS, xi=xi) for xi in (0.8, 0.9, 0.95, 1.0, math.inf)},
}


def _tunings(outcomes: Outcomes, case: Case) -> float:
    """Changes of the number of a client's connections in a minute, the mean over clients and seeds."""
    return fmean(
        sum(a != b for series in outcome.series.values() for a, b in pairwise(series.connections))
        / len(outcome.series) / outcome.run.seconds * 60
        for outcome in outcomes[case]
    )  # fmt: skip


def _thresholds(outcomes: Outcomes) -> Iterator[Claim]:
    for name, values in VALUES.items():
        rates = {
            value: min(over(outcomes[case], (client,), during) for client in HIGH)
            for value, case in values.items()
        }
        ratio = max(rates.values()) / rates[getattr(PAPERS, name)]
        listed = ", ".join(f"{value:g}: {rate:.2f}" for value, rate in rates.items())
        yield Claim(f"{name}-best", "IV.A, Table I", f"the recommended {name} is best", "recommended", ratio,
                    "the best value's least high priority rate, over the recommended one's", ratio <= MORE,
                    f"at most {MORE:g}; Mb/s: {listed}")  # fmt: skip
    often = {xi: _tunings(outcomes, case) for xi, case in VALUES["xi"].items()}
    fewer = often[PAPERS.xi] / max(often[math.inf], 1e-9)
    listed = ", ".join(f"{xi:g}: {tunings:.1f}" for xi, tunings in often.items())
    yield Claim("fewer-tunings", "III.B", "two thresholds decrease the frequency of tunings", "decrease",
                fewer, "of those with the target alone", fewer * MORE <= 1,
                f"at most 1/{MORE:g}; a client's changes a minute by xi: {listed}")  # fmt: skip


THRESHOLDS = SIMULATION.beyond(
    "thresholds", "gamma, xi and the frequency of tunings",
    runs(lambda _: (case for values in VALUES.values() for case in values.values())), _thresholds,
)  # fmt: skip
BUFFER_CASES = {buffer: Case("buffer", situation=name) for name, buffer in BUFFERS.items()}


def _buffers(found: Outcomes) -> Iterator[Claim]:
    queues = {
        buffer: fmean(fmean(s.rtts_ms) for outcome in found[case] for s in outcome.series.values())
        - Links().rtt_ms
        for buffer, case in BUFFER_CASES.items()
    }
    least = min(queue for buffer, queue in queues.items() if buffer > BUFFER) / queues[BUFFER]
    rates = {buffer: over(found[case], tuple(TARGETS)) for buffer, case in BUFFER_CASES.items()}
    note = ", ".join(
        f"{buffer // 1000} KB {queue:.1f} ms, {rates[buffer]:.2f} Mb/s" for buffer, queue in queues.items()
    )
    yield finding(
        "buffers", "queues", "a larger buffer makes packets wait longer", least, "times Table I's, the least",
        least >= MORE, f"at least {MORE:g}; {note} a client",
    )  # fmt: skip


STARTED: tuple[Method, ...] = ("both", "buffer")


def _start(outcomes: Outcomes) -> Iterator[Claim]:
    """Table II's claims on its order and on targets, by method."""
    for method in STARTED:
        as_the_papers = {Case("both", tcp): outcomes[Case(method, tcp)] for tcp in TCPS}
        for claim in table_2(as_the_papers):
            if claim.kind == "claim":
                yield restated(claim, "start", method, said=NAMES[method])


START = SIMULATION.beyond(
    "start", "the TCPs with one connection for each client",
    runs(lambda _: [Case(method, tcp) for method in STARTED for tcp in TCPS]), _start,
)  # fmt: skip
METHODS: tuple[Method, ...] = ("both", "buffer", "kernel-1", "kernel-4", "kernel-16")
"""the policy, and buffers alone, beside 1, 4 and 16 connections untuned"""
CLIENTS = tuple(TARGETS)
NARROW_MBPS = 3.6
"""3.0 are needed for every client's minimum, 4.5 for all targets"""
NEAR = 0.1
"""relative difference up to which a division is the policy's"""
FULL = 0.9
"""payload over the link's rate from which on the link is full"""


def divided(total: float) -> dict[str, float]:
    """Mb/s of each client by the paper's words: the smallest target for all, the rest to the high priority;
    less than that is divided by target ratio."""
    least = min(TARGETS.values())
    rest = total - least * len(TARGETS)
    if rest < 0:
        return {name: total * target / sum(TARGETS.values()) for name, target in TARGETS.items()}
    return dict.fromkeys(LOW, least) | dict.fromkeys(HIGH, least + rest / len(HIGH))


def _narrow(outcomes: Outcomes) -> Iterator[Claim]:
    for case, found in outcomes.items():
        rates = {client: over(found, (client,)) for client in CLIENTS}
        total, name = sum(rates.values()), NAMES[case.method]
        said = divided(total)
        worst = max(abs(rates[client] / said[client] - 1) for client in CLIENTS)
        more = over(found, HIGH) / over(found, LOW)
        yield from [
            finding(
                "narrow", f"as-said-{case.method}", f"{name}: rates are divided as the policy says",
                worst, "relative difference, the worst", worst <= NEAR,
                f"at most {NEAR:g}; measured {_listed(rates)}; of {total:.2f} Mb/s {_listed(said)}",
            ),
            finding(
                "narrow", f"order-{case.method}", f"{name}: what is left goes to the high priority", more,
                "times low priority's", more >= 1 + NEAR, f"at least {1 + NEAR:g}",
            ),
            finding(
                "narrow", f"used-{case.method}", f"{name}: the link is used", total / NARROW_MBPS,
                "of its rate, in payload", total >= FULL * NARROW_MBPS, f"at least {FULL:g}",
            ),
        ]  # fmt: skip


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


JOINED_S, JUMPED_S = 5.0, 10.0
"""times that do not count: after a client's join, and after the jump"""


def _there(client: str) -> When:
    """The span in which the client sends."""

    def span(outcome: Outcome) -> Span:
        seconds = outcome.run.seconds
        start = JOINS.get(client, 0.0) * seconds
        return (max(outcome.whole[0], start + JOINED_S), LEAVES.get(client, 1.0) * seconds)

    return span


def _targets(
    name: str, about: str, judged: Mapping[str, tuple[str, Mapping[str, When]]], *, interference: bool = False
) -> Study[Run, Outcome, Outcomes]:
    """A study in the situation of its name: for each method and each of `judged`, the finding that every
    client has its target. `judged` has words and each client's span by the finding's name."""
    cases = [Case(m, interference=interference, situation=name) for m in METHODS]

    def judge(outcomes: Outcomes) -> Iterator[Claim]:
        for key, (when, spans) in judged.items():
            for case, found in outcomes.items():
                of_target = {c: over(found, (c,), span) / TARGETS[c] for c, span in spans.items()}
                worst = min(of_target.values())
                yield finding(
                    name, f"{key}-{case.method}", f"{NAMES[case.method]}: every client has its target {when}",
                    worst, "of its target, the worst", worst >= 1, f"of their targets: {_listed(of_target)}",
                )  # fmt: skip

    return SIMULATION.beyond(name, about, runs(lambda _: cases), judge)


def _each(span: When) -> Mapping[str, When]:
    return dict.fromkeys(CLIENTS, span)


JUMPS = "Terminal 3's round trip jumps"
STUDIES = [
    THRESHOLDS,
    SIMULATION.beyond("buffers", "larger buffers of the server", runs(lambda _: BUFFER_CASES.values()),
                      _buffers),
    START,
    over_links.STUDY,
    SIMULATION.beyond(
        "narrow", "a link that is too narrow for all targets",
        runs(lambda _: [Case(m, links=replace(Links(), bottleneck_mbps=NARROW_MBPS)) for m in METHODS]),
        _narrow,
    ),
    _targets(
        "jump", f"a client whose round trip jumps from {NEAR_MS} to {FAR_MS} ms",
        {
            "before": (f"before {JUMPS}", _each(lambda o: (o.whole[0], o.run.seconds / 2))),
            "after": (f"after {JUMPS}", _each(lambda o: (o.run.seconds / 2 + JUMPED_S, o.run.seconds))),
        },
    ),
    _targets(
        "churn", "clients that join and leave",
        {"targets": ("while it sends, under interference", {name: _there(name) for name in CLIENTS})},
        interference=True,
    ),
    _targets("loss", "5 % random loss", {"targets": (f"with {HEAVY_LOSS:.0%} loss", _each(whole))}),
]  # fmt: skip
