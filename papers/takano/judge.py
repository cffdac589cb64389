"""From measurements of runs to claims: each claim is judged in every repetition.

The rule, for all claims: **a claim holds when its criterion is met in the first run**, which is the paper's:
the paper made one, with nothing moved. `measured` is that run's; the note says in how many of all runs the
criterion is met, and their range, which shows how firm the verdict is. A finding beyond the paper holds when
its criterion is met in every run, and `measured` is the mean over them. If a claim compares scenarios, run i
of one is compared with run i of the other, whose background starts at the same instant; a scenario with fewer
runs is used again from its first. The criteria are beside the claims, the number of runs is in plan.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from groupflow.study.claims import Claim
from papers.takano.outcome import Outcomes


@dataclass(frozen=True)
class Rule:
    """Claims about runs with these labels."""

    labels: tuple[str, ...]
    judge: Callable[..., Iterable[Claim]]
    """makes the claims from one outcome for each label, in order; always the same claims"""


def evaluate(rules: Iterable[Rule], outcomes: Outcomes) -> list[Claim]:
    """The claims of all rules whose runs are complete."""
    claims: list[Claim] = []
    for rule in rules:
        if all(label in outcomes for label in rule.labels):
            repetitions = [outcomes[label] for label in rule.labels]
            judged = [
                rule.judge(*(runs[i % len(runs)] for runs in repetitions))
                for i in range(max(map(len, repetitions)))
            ]
            claims += [over_runs(same) for same in zip(*judged, strict=True)]
    return claims


def over_runs(claims: Sequence[Claim]) -> Claim:
    """The first run's claim, whose note tells the verdicts in all runs; a finding from all runs."""
    if len(claims) == 1:
        return claims[0]
    values = [claim.measured for claim in claims]
    held = sum(claim.holds for claim in claims)
    seen = f"in {held} of {len(claims)} runs, {_short(min(values))} to {_short(max(values))}"
    notes = {claim.note for claim in claims}
    said = notes.pop() if len(notes) == 1 else f"first run: {claims[0].note}"
    note = f"{seen}; {said}" if said else seen
    if claims[0].kind == "claim":
        return replace(claims[0], note=note)
    mean = sum(values) / len(values)
    return replace(claims[0], measured=mean, holds=held == len(claims), note=note)


def _short(value: float) -> str:
    """The value with three digits at least, and all before the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
