"""The studies of a paper, for tests of their rules and figures."""

from groupflow.study import checkout
from groupflow.study.experiment import AnyStudy


def beyond(paper: str) -> dict[str, AnyStudy]:
    """The studies beyond a paper, by id."""
    studies = checkout.load("papers", paper).studies
    return {each.ids[0]: each for each in studies if each.name.startswith("study-")}


def ids(paper: str) -> str:
    """All that `--only` takes, as a refusal lists it."""
    return ", ".join(id for each in checkout.load("papers", paper).studies for id in each.ids)
