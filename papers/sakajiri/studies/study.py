"""Parts that studies beyond the paper share: methods, clients, and one figure."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from groupflow.study.drawing import bar, save, subplots
from papers.sakajiri.claims import When
from papers.sakajiri.outcome import Outcome, Outcomes
from papers.sakajiri.paper import NAMES, TARGETS, Method

METHODS: tuple[Method, ...] = ("both", "buffer", "kernel-1", "kernel-4", "kernel-16")
CLIENTS = tuple(TARGETS)


def mean(outcomes: Sequence[Outcome], client: str, span: When) -> float:
    """Mb/s of a client, the mean over the seeds."""
    return fmean(outcome.series[client].mean(span(outcome)) for outcome in outcomes)


def listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def bars(title: str, spans: Mapping[str, When]) -> Callable[[Path, Outcomes], None]:
    """Draws the throughput of each client with each method: a panel for each span."""

    def draw(path: Path, outcomes: Outcomes) -> None:
        figure, axes = subplots(1, len(spans), figsize=(5.6 * len(spans), 3.8), sharey=True, squeeze=False)
        width = 0.8 / len(outcomes)
        for axis, (name, span) in zip(axes[0], spans.items(), strict=True):
            for number, (case, found) in enumerate(outcomes.items()):
                rates = [mean(found, client, span) for client in CLIENTS]
                places = [place + (number - len(outcomes) / 2 + 0.5) * width for place in range(len(CLIENTS))]
                axis.bar(places, rates, width, label=NAMES[case.method], **bar(number))
            for place, client in enumerate(CLIENTS):
                axis.hlines(TARGETS[client], place - 0.45, place + 0.45, color="black", linewidth=1)
            axis.set_xticks(
                range(len(CLIENTS)), [f"Terminal {client[1]}" for client in CLIENTS], fontsize="small"
            )
            axis.set(title=name, ylabel="Throughput [Mb/s]")
        axes[0, 0].legend()
        figure.suptitle(title)
        save(figure, path)

    return draw
