"""The page out/coverage.md, made by `.venv/bin/python -m papers.coverage` from coverage.yaml."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

TABLE = Path(__file__).with_name("coverage.yaml")
ROOT = TABLE.parents[1]
PAGE = ROOT / "out/coverage.md"

Status: TypeAlias = Literal["faithful", "deviates", "virtual", "missing"]
MEANS: Mapping[Status, str] = {
    "faithful": "as the paper has it, and tested, in the form given",
    "deviates": "there, and different from the paper, for the reason given",
    "virtual": "only virtual time has it in full; the reason says what real packets have",
    "missing": "not there",
}
FORMS = {
    "P4": "P4 on real packets",
    "host": "programs of hosts, or a switch's own, on real packets",
    "control": "the controller",
    "virtual": "netsim",
}


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Item(Strict):
    """One statement of a paper."""

    id: str
    section: str
    """of the paper, with its figure, table or equation"""
    item: str
    status: Status
    form: tuple[Literal["P4", "host", "control", "virtual"], ...] = ()
    places: tuple[str, ...] = ()
    """files and folders from the top of the repository"""
    tests: tuple[str, ...] = ()
    """files of tests, some with `::` and the name of one"""
    reason: str = ""
    bmv2: str = ""
    """what of the flow control runs in P4 on BMv2, and what in the agent beside it"""

    @model_validator(mode="after")
    def whole(self) -> "Item":
        there = bool(self.form and self.places and self.tests)
        if there == (self.status == "missing"):
            raise ValueError(f"{self.id}: what is there has form, places and tests; what is missing has none")
        if self.status != "faithful" and not self.reason:
            raise ValueError(f"{self.id}: give the reason")
        return self


class Covered(Strict):
    """The items of a paper."""

    title: str
    items: tuple[Item, ...]


def read() -> dict[str, Covered]:
    """The table, by paper."""
    form = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {paper: Covered.model_validate(covered) for paper, covered in form.items()}


def page(papers: Mapping[str, Covered]) -> str:
    """The page in Markdown."""
    every = [item for covered in papers.values() for item in covered.items]
    lines = [
        "# Coverage of the five papers",
        "",
        "*Each mechanism, parameter, figure, claim and wish of a paper, its place and its test.*",
        "",
        "Made from `papers/coverage.yaml` by `.venv/bin/python -m papers.coverage`. A status says what is",
        "there, not whether its results are the paper's: the page of each paper has the claims that hold and",
        "those that fail. The status:",
        "",
        *(f"- *{status}*: {said}" for status, said in MEANS.items()),
        "",
        "The form:",
        "",
        *(f"- *{form}*: {said}" for form, said in FORMS.items()),
        "",
        f"| paper | {' | '.join(MEANS)} | all |",
        f"|---|{'---|' * (len(MEANS) + 1)}",
        *(_numbers(f"{covered.title} ({paper})", covered.items) for paper, covered in papers.items()),
        _numbers("all", every),
    ]
    for covered in papers.values():
        lines += ["", f"## {covered.title}", "", "| | section | | status | form | place | test |"]
        lines += ["|---|---|---|---|---|---|---|", *map(_row, covered.items)]
        if any(item.bmv2 for item in covered.items):
            lines += ["", "On BMv2, in P4 or in the agent beside it:", "", "| | |", "|---|---|"]
            lines += [f"| {item.id} | {item.bmv2 or 'nothing: netsim only'} |" for item in covered.items]
    return "\n".join(lines) + "\n"


def _numbers(title: str, items: Iterable[Item]) -> str:
    count = Counter(item.status for item in items)
    return f"| {title} | {' | '.join(str(count[status]) for status in MEANS)} | {count.total()} |"


def _row(item: Item) -> str:
    said = f"{item.item}: {item.reason}" if item.reason else item.item
    places, tests = (", ".join(f"`{path}`" for path in paths) for paths in (item.places, item.tests))
    cells = (item.id, item.section, said, item.status, ", ".join(item.form), places, tests)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(read()), encoding="utf-8")
