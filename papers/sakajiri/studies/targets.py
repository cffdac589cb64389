"""Studies of every client's target: the policy, and buffers alone, beside 1, 4 and 16 connections untuned.

The rule: a method is enough if every client has its target by its mean: in `jump` before the round trip of a
high priority client jumps half-way, and from 10 s after that; in `churn` while the client sends, from 5 s
after it joined, beside the interference; in `loss` over the whole run.
"""

from collections.abc import Iterator, Mapping

from groupflow.study.claims import Claim, finding
from groupflow.study.experiment import Study
from papers.sakajiri.claims import When, over, whole
from papers.sakajiri.outcome import SIMULATION, Outcome, Outcomes, Span, runs
from papers.sakajiri.paper import (
    FAR_MS,
    HEAVY_LOSS,
    JOINS,
    LEAVES,
    NAMES,
    NEAR_MS,
    TARGETS,
    Case,
    Method,
    Run,
)

METHODS: tuple[Method, ...] = ("both", "buffer", "kernel-1", "kernel-4", "kernel-16")
CLIENTS = tuple(TARGETS)


def listed(values: Mapping[str, float]) -> str:
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


def _before(outcome: Outcome) -> Span:
    return (outcome.whole[0], outcome.run.seconds / 2)


def _after(outcome: Outcome) -> Span:
    return (outcome.run.seconds / 2 + JUMPED_S, outcome.run.seconds)


def _judged(
    study: str, key: str, when: str, spans: Mapping[str, When], outcomes: Outcomes
) -> Iterator[Claim]:
    """A finding for each method that every client has its target; the worst client's ratio is measured."""
    for case, found in outcomes.items():
        of_target = {name: over(found, (name,), span) / TARGETS[name] for name, span in spans.items()}
        worst = min(of_target.values())
        yield finding(
            study, f"{key}-{case.method}", f"{NAMES[case.method]}: every client has its target {when}",
            worst, "of its target, the worst", worst >= 1, f"of their targets: {listed(of_target)}",
        )  # fmt: skip


def _study(
    name: str,
    about: str,
    judged: Mapping[str, tuple[str, Mapping[str, When]]],
    *,
    interference: bool = False,
    situation: str = "paper",
) -> Study[Run, Outcome, Outcomes]:
    """`judged` has words and spans by a finding's name."""
    cases = [Case(m, interference=interference, situation=situation) for m in METHODS]
    return SIMULATION.beyond(
        name,
        about,
        runs(lambda _: cases),
        lambda found: [
            claim for key, (when, spans) in judged.items() for claim in _judged(name, key, when, spans, found)
        ],
    )


def _each(span: When) -> Mapping[str, When]:
    return dict.fromkeys(CLIENTS, span)


JUMPS = f"round trip jumps from {NEAR_MS} to {FAR_MS} ms"
STUDIES = [
    _study(
        "jump",
        f"a client whose {JUMPS}",
        {
            name: (f"{name} Terminal 3's round trip jumps", _each(span))
            for name, span in (("before", _before), ("after", _after))
        },
        situation="jump",
    ),
    _study(
        "churn",
        "clients that join and leave",
        {"targets": ("while it sends, under interference", {name: _there(name) for name in CLIENTS})},
        interference=True,
        situation="churn",
    ),
    _study(
        "loss",
        "5 % random loss",
        {"targets": (f"with {HEAVY_LOSS:.0%} loss", _each(whole))},
        situation="loss",
    ),
]
