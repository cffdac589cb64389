"""The paper's claims about Models 1 and 2, judged on real packets by the rules of its reproduction in netsim,
for each of the kernel's congestion controls; and the same claims for policies that it does not have."""

from collections.abc import Callable
from dataclasses import replace

from groupflow.study.claims import Claim
from papers.sakajiri import claims
from papers.sakajiri.claims import When, after, before, during, meets, whole
from papers.sakajiri.outcome import Outcomes
from papers.sakajiri.paper import HIGH, LOW, NAMES, Case, Method

OTHERS: tuple[Method, ...] = ("kernel-1", "climber")
Spans = dict[str, When]
"""by the words for the span in a claim"""


def model_1(found: Outcomes) -> list[Claim]:
    return _each_tcp(found, lambda one: [*claims.figure_3(one), *_others(one, "Model 1", {"": whole})])


def model_2(found: Outcomes) -> list[Claim]:
    spans: Spans = {"before": before, "during": during, "after": after}
    return _each_tcp(
        found,
        lambda one: [
            *claims.figure_5(one),
            *claims.figure_6(one),
            *_all_high(one, spans),
            *_others(one, "Model 2", {"during": during}),
        ],
    )


def _each_tcp(found: Outcomes, judge: Callable[[Outcomes], list[Claim]]) -> list[Claim]:
    """Claims for each congestion control: the rules are about Reno, so each in turn takes that name."""
    judged: list[Claim] = []
    for tcp in dict.fromkeys(case.tcp for case in found):
        one = {replace(case, tcp="reno"): outcomes for case, outcomes in found.items() if case.tcp == tcp}
        judged += [
            replace(claim, id=f"{tcp}-{claim.id}", figure=f"{claim.figure}, {tcp}") for claim in judge(one)
        ]
    return judged


def _all_high(found: Outcomes, spans: Spans) -> list[Claim]:
    """The finding on the high priority clients besides Terminal 3, which `f6-before`, `f6-after` are on."""
    proposal = found[claims.MODEL_2["both"]]
    return [
        meets(f"m2-high-{when}", "Model 2",
              f"proposal: the other high priority clients have their target {when}",
              proposal, HIGH[1:], spans[when], kind="finding")
        for when in ("before", "after")
    ]  # fmt: skip


def _others(found: Outcomes, model: str, spans: Spans) -> list[Claim]:
    """Findings that all clients have their targets with the policies that the paper does not have."""
    return [
        meets(
            f"{model.lower().replace(' ', '-')}-{method}-{group}", model,
            f"{NAMES[method]}: {group} priority clients have their target {when}".rstrip(),
            found[case], names, span, kind="finding",
        )
        for method in OTHERS
        if (case := Case(method, interference=model == "Model 2")) in found
        for when, span in spans.items()
        for group, names in (("high", HIGH), ("low", LOW))
    ]  # fmt: skip
