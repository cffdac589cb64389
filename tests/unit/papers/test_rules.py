"""The docstring of each file of studies states a rule: "The rule: ...", or "The rule of "NAME": ..."."""

import ast
import re
from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[3] / "papers"
SHARED = {"__init__.py", "study.py"}
STUDIES = [
    *(path for path in sorted(PAPERS.rglob("studies/*.py")) if path.name not in SHARED),
    PAPERS / "cmt/children.py",
    PAPERS / "cmt/slow/study.py",
]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.relative_to(PAPERS)))
def test_a_study_begins_with_its_rule(path: Path) -> None:
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert re.search(r'The rules?(| of "\w+"|, stated before any run): \w', " ".join(words.split()))


def test_all_studies_are_looked_at() -> None:
    assert len(STUDIES) >= 22
