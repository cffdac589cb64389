"""The range of the link parameters, which the paper's text does not give, in which each of its main claims
holds.

One parameter varies at a time; the others stay as `paper.Links` has them. One seed: the runs are many,
and where a claim holds at one value and not at the next, its limit lies between them anyway.

The rule: a claim holds over a range if it does at every value of it, by the bounds of `claims`: a client has
its target by its mean; a rate is more than another, or below a target, by `MORE`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from groupflow.study.claims import Claim, over_values
from groupflow.study.drawing import draw_verdicts
from papers.sakajiri.claims import MORE, during, over
from papers.sakajiri.outcome import SIMULATION, Outcome, Outcomes, runs
from papers.sakajiri.paper import HIGH, LOW, Case, Links, Method

NAME = "range"
VALUES: Mapping[str, tuple[float, ...]] = {
    "rtt_ms": (40, 60, 80, 100, 120, 150, 200),
    "bottleneck_mbps": (6, 8, 9, 10, 12, 15, 20),
    "queue": (10, 20, 50, 100, 200),
    "high_loss": (0, 0.0003, 0.001, 0.003, 0.01, 0.03),
    "low_loss": (0, 0.0001, 0.0003, 0.001, 0.003),
    "rivals": (1, 2, 3, 4, 6, 8),
    "rival_rtt_ms": (40, 80, 120, 160),
    "connections": (2, 4, 8, 16, 32),
}
QUICK: Mapping[str, tuple[float, ...]] = {"rivals": (1, 4), "high_loss": (0, 0.001)}
WHOLE = {"rtt_ms", "queue", "rivals", "rival_rtt_ms", "connections"}

Found = Mapping[str, Sequence[Outcome]]
"""the outcomes of one choice of parameters, by model and method"""
CASES: Mapping[str, tuple[Method, bool]] = {
    "1-both": ("both", False),
    "1-comparison": ("comparison", False),
    "2-both": ("both", True),
    "2-buffer": ("buffer", True),
}


def _terminal_3(outcomes: Sequence[Outcome]) -> float:
    return over(outcomes, ("t3",), during)


CLAIMS: Mapping[str, tuple[str, Callable[[Found], bool]]] = {
    "high": ("Model 1, proposal: high priority clients have their target",
             lambda f: all(over(f["1-both"], (name,)) >= 1.0 for name in HIGH)),
    "low": ("Model 1, proposal: low priority clients have theirs",
            lambda f: all(over(f["1-both"], (name,)) >= 0.5 for name in LOW)),
    "comparison": ("Model 1, comparison: high priority clients are below their target",
                   lambda f: over(f["1-comparison"], HIGH) * MORE <= 1.0),
    "inverted": ("Model 1, comparison: low priority clients get more than high priority ones",
                 lambda f: over(f["1-comparison"], LOW) >= MORE * over(f["1-comparison"], HIGH)),
    "buffer-short": ("Model 2, buffers alone: Terminal 3 is below its target under interference",
                     lambda f: _terminal_3(f["2-buffer"]) * MORE <= 1.0),
    "both-enough": ("Model 2, both: Terminal 3 has its target under interference",
                    lambda f: _terminal_3(f["2-both"]) >= 1.0),
    "both-more": ("Model 2: Terminal 3 gets more with connections tuned than without",
                  lambda f: _terminal_3(f["2-both"]) >= MORE * _terminal_3(f["2-buffer"])),
}  # fmt: skip


def links(parameter: str, value: float) -> Links:
    """The chosen parameters, with one replaced."""
    return replace(Links(), **{parameter: int(value) if parameter in WHOLE else value})


def case(name: str, chosen: Links) -> Case:
    """One of `CASES` over these links."""
    method, interference = CASES[name]
    return Case(method, interference=interference, links=chosen)


def _cases(quick: bool) -> list[Case]:
    values = QUICK if quick else VALUES
    return [case(name, links(p, v)) for p in values for v in values[p] for name in CASES]


def _verdicts(outcomes: Outcomes) -> dict[str, dict[str, dict[str, bool]]]:
    """Whether a claim holds at each value, by parameter and claim."""
    verdicts: dict[str, dict[str, dict[str, bool]]] = {}
    for parameter, values in VALUES.items():
        for value in values:
            found = {name: outcomes.get(case(name, links(parameter, value)), ()) for name in CASES}
            if all(found.values()):
                for key, (_, holds) in CLAIMS.items():
                    by_value = verdicts.setdefault(parameter, {}).setdefault(key, {})
                    by_value[f"{value:g}"] = holds(found)
    return {name: claims for name, claims in verdicts.items() if len(claims["high"]) > 1}


def _judge(outcomes: Outcomes) -> list[Claim]:
    return [
        over_values(NAME, f"{parameter}-{key}", CLAIMS[key][0], parameter, by)
        for parameter, claims in _verdicts(outcomes).items()
        for key, by in claims.items()
    ]


def _draw(path: Path, outcomes: Outcomes) -> None:
    verdicts = _verdicts(outcomes)
    labels = {key: text for key, (text, _) in CLAIMS.items()}
    draw_verdicts(path, verdicts, labels)


STUDY = SIMULATION.beyond(
    NAME, "the range of link parameters in which the claims hold", runs(_cases, seeds=1), _judge, _draw
)
