"""Parts that studies beyond the paper share: methods and clients."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from papers.sakajiri.claims import When
from papers.sakajiri.outcome import Outcome
from papers.sakajiri.paper import TARGETS, Method

METHODS: tuple[Method, ...] = ("both", "buffer", "kernel-1", "kernel-4", "kernel-16")
CLIENTS = tuple(TARGETS)


def mean(outcomes: Sequence[Outcome], client: str, span: When) -> float:
    """Mb/s of a client, the mean over the seeds."""
    return fmean(outcome.series[client].mean(span(outcome)) for outcome in outcomes)


def listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())
