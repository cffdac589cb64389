"""The range of open and inferred parameters in which each claim of the tables and figure 2 holds.

One parameter varies at a time. For another queue, TCP, acknowledgement delay or fixed time, the path is
inferred anew; `rtt`, `loss` and `rate` are factors of the inferred values.

The rule: a claim holds over a range if it does at every value, by the bounds of `claims`.
"""

from collections.abc import Mapping
from pathlib import Path

from groupflow.study.claims import Claim, over_values
from groupflow.study.drawing import draw_verdicts
from papers.cmt.sockets import claims, paper
from papers.cmt.sockets.outcome import SIMULATION, Outcomes, runs
from papers.cmt.sockets.paper import Case, Open

NAME = "range"


def _each(parameter: str, *values: float | str) -> dict[str, Open]:
    return {str(value): Open(**{parameter: value}) for value in values}  # type: ignore[arg-type]


VALUES: Mapping[str, Mapping[str, Open]] = {
    "queue": _each("queue", 3, 5, 8, 10, 15) | {"product": Open()} | _each("queue", 100),
    "tcp": _each("tcp", "newreno", "reno", "tahoe", "sack", "cubic"),
    "delayed ack [ms]": _each("delayed_ack_ms", 0, 40, 200),
    "fixed [s]": _each("fixed_s", 0, 2, 4, 6, 8),
    "rtt": _each("rtt", 0.5, 0.8, 1, 1.5, 2),
    "loss": _each("loss", 0, 0.1, 0.5, 1, 2),
    "rate": _each("rate", 0.5, 0.8, 1, 1.5, 3),
    "queue, no loss": {str(n): Open(queue=n, loss=0) for n in (3, 5, 10, 20, 40)},
}
QUICK = ("delayed ack [ms]",)


def cases(quick: bool) -> list[Case]:
    """All cases that the claims need, with every choice."""
    choices = dict.fromkeys(
        chosen for name, values in VALUES.items() if not quick or name in QUICK for chosen in values.values()
    )
    cells = dict.fromkeys(
        [
            *((buffer, 1) for buffer in paper.BUFFERS),
            *((paper.SMALL, n) for n in paper.QUICK_CONNECTIONS),
            *((paper.MIDDLE, n) for n in paper.QUICK_UP_TO_MOST),
        ]
    )
    return [Case(buffer, n, chosen) for chosen in choices for buffer, n in cells]


def verdicts(outcomes: Outcomes) -> dict[str, dict[str, dict[str, Claim]]]:
    """Claims by parameter, its value, and the claim's id."""
    return {
        name: {
            value: {
                claim.id: claim
                for judge in (claims.table_1, claims.table_2, claims.figure_2)
                for claim in judge(outcomes[chosen])
            }
            for value, chosen in values.items()
        }
        for name, values in VALUES.items()
        if set(values.values()) <= outcomes.keys()
    }


def _judge(outcomes: Outcomes) -> list[Claim]:
    return [
        _over(name, key, {value: by[key] for value, by in found.items()})
        for name, found in verdicts(outcomes).items()
        for key in next(iter(found.values()))
    ]


def _over(name: str, key: str, by: Mapping[str, Claim]) -> Claim:
    """A finding on the values at which a claim holds."""
    measured = ", ".join(f"{claim.measured:.3g}" for claim in by.values())
    holds = {value: claim.holds for value, claim in by.items()}
    said = next(iter(by.values())).claim
    return over_values(NAME, f"{_key(name)}-{key}", said, name, holds, f"; measured: {measured}")


def _key(name: str) -> str:
    return name.split(" [")[0].replace(", ", "-").replace(" ", "-")


def _draw(path: Path, outcomes: Outcomes) -> None:
    judged = verdicts(outcomes)
    keys = list(next(iter(next(iter(judged.values())).values())))
    found = {
        name: {key: {value: claims[key].holds for value, claims in by.items()} for key in keys}
        for name, by in judged.items()
    }
    draw_verdicts(path, found, dict(zip(keys, keys, strict=True)))


STUDY = SIMULATION.beyond(
    NAME,
    "the range of open parameters in which the claims hold",
    runs(cases, paper.QUICK_SEEDS),
    _judge,
    _draw,
)
