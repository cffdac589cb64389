"""Parts that studies beyond the paper share: methods, clients, one judgement and one figure."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import COLOURS, save, subplots
from papers.sakajiri.outcome import Outcome, Outcomes, Span
from papers.sakajiri.paper import NAMES, TARGETS, Method

METHODS: tuple[Method, ...] = ("both", "buffer", "kernel-1", "kernel-4", "kernel-16")
CLIENTS = tuple(TARGETS)


def mean(outcomes: Sequence[Outcome], client: str, span: Callable[[Outcome], Span]) -> float:
    """Mb/s of a client, the mean over the seeds."""
    return fmean(outcome.series[client].mean(span(outcome)) for outcome in outcomes)


def met(outcomes: Sequence[Outcome], spans: Mapping[str, Callable[[Outcome], Span]]) -> dict[str, float]:
    """Throughput of each client over its target, each in a span of its own."""
    return {name: mean(outcomes, name, span) / TARGETS[name] for name, span in spans.items()}


def listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def all_targets(
    study: str,
    outcomes: Outcomes,
    spans: Mapping[str, Callable[[Outcome], Span]],
    what: str,
    name: str = "targets",
) -> list[Claim]:
    """A claim for each method that every client has its target; the worst client's ratio is measured."""
    claims: list[Claim] = []
    for case, found in outcomes.items():
        of_target = met(found, spans)
        worst = min(of_target.values())
        claims.append(
            finding(
                study, f"{name}-{case.method}", f"{NAMES[case.method]}: every client has its target {what}",
                worst, "of its target, the worst", worst >= 1, f"of their targets: {listed(of_target)}",
            )
        )  # fmt: skip
    return claims


def bars(
    title: str, spans: Mapping[str, tuple[Callable[[Outcome], Span], Sequence[str]]]
) -> Callable[[Path, Outcomes], None]:
    """Draws the throughput of each client with each method: a panel for each span, with the clients present
    in it."""

    def draw(path: Path, outcomes: Outcomes) -> None:
        figure, axes = subplots(1, len(spans), figsize=(5.6 * len(spans), 3.8), sharey=True, squeeze=False)
        width = 0.8 / len(outcomes)
        for axis, (name, (span, there)) in zip(axes[0], spans.items(), strict=True):
            for number, ((case, found), colour) in enumerate(zip(outcomes.items(), COLOURS, strict=False)):
                rates = [mean(found, client, span) for client in there]
                places = [place + (number - len(outcomes) / 2 + 0.5) * width for place in range(len(there))]
                axis.bar(places, rates, width, color=colour, label=NAMES[case.method])
            for place, client in enumerate(there):
                axis.hlines(TARGETS[client], place - 0.45, place + 0.45, color="black", linewidth=1)
            axis.set_xticks(
                range(len(there)), [f"Terminal {client[1]}" for client in there], fontsize="small"
            )
            axis.set(title=name, ylabel="Throughput [Mb/s]")
            axis.grid(alpha=0.25, axis="y")
        axes[0, 0].legend(fontsize="x-small")
        figure.suptitle(title)
        save(figure, path)

    return draw
