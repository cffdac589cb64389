"""The page out/coverage.md, made by `.venv/bin/python -m papers.coverage` from coverage.yaml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import yaml
from jinja2 import Environment
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
    pages = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    template = pages.from_string(TABLE.with_suffix(".md.j2").read_text(encoding="utf-8"))
    every = [item for covered in papers.values() for item in covered.items]
    return template.render(papers=papers, every=every, means=MEANS, forms=FORMS)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(read()), encoding="utf-8")
