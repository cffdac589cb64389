"""The docstring of each file of studies states a rule, for each study if there are several."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.studies import beyond

PAPERS = Path(__file__).parents[3] / "papers"
SHARED = {"__init__.py", "study.py"}
STUDIES = [
    *(path for path in sorted(PAPERS.rglob("studies/*.py")) if path.name not in SHARED),
    *sorted(PAPERS.rglob("studies.py")),
    PAPERS / "sakajiri/over_links.py",
    PAPERS / "cmt/children.py",
    PAPERS / "cmt/slow/study.py",
]


def docstring(path: Path) -> str:
    return " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split())


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.relative_to(PAPERS)))
def test_a_study_begins_with_its_rule(path: Path) -> None:
    assert re.search(r'The rules?(| of "\w+".*|, stated before any run): \w', docstring(path))


@pytest.mark.parametrize("paper", ["amcb", "icn2011", "sakajiri"])
def test_each_of_the_studies_in_one_file_has_a_rule(paper: str) -> None:
    rules = re.findall(r"The rule of ([^:]+):", docstring(PAPERS / paper / "studies.py"))
    named = re.findall(r'"([\w-]+)"', " ".join(rules))
    assert {*named} == beyond(paper).keys() - {"range"}


def test_all_studies_are_looked_at() -> None:
    assert len(STUDIES) >= 11
