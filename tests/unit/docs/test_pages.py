"""Every page says its purpose, is in the index, and leads where its links say."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from scripts.commands import MADE
from tests.unit.docs.pages import DOCS, PAGES, ROOT, anchors, blocks, inline_code, name, prose

KINDS = {
    "tutorials": "Tutorial",
    "how-to": "How-to",
    "reference": "Reference",
    "explanation": "Explanation",
    "results": "Results",
}
LINK = re.compile(r"\]\(([^)\s]+)\)")
WIDTH = 110


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    lost: list[str] = []
    for link in LINK.findall(prose(page)):
        target, _, anchor = link.partition("#")
        if "://" in link:
            continue
        there = (page.parent / target).resolve() if target else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("page", sorted(DOCS.glob("*/*.md")), ids=name)
def test_a_page_opens_with_its_kind_and_purpose(page: Path) -> None:
    text = page.read_text().removeprefix(f"{MADE}\n")
    title, empty, purpose = text.split("\n", 3)[:3]
    assert title.startswith("# ") and empty == ""
    assert purpose.startswith(f"*{KINDS[page.parent.name]}: ")
    assert text.split("\n\n")[1].endswith(".*")


def test_the_index_has_every_page() -> None:
    links = LINK.findall((DOCS / "README.md").read_text())
    listed = [(DOCS / link.partition("#")[0]).resolve() for link in links]
    missing = [name(page) for page in DOCS.glob("*/*.md") if page not in listed]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_files_exist(page: Path) -> None:
    folders = "p4src|dataplane|examples|controller|topologies|docs|tests|papers|experiments|scripts|.github"
    named = re.findall(rf"`((?:{folders})/[\w./-]*)`", page.read_text())
    assert [file for file in named if "NAME" not in file and not (ROOT / file).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_python_exists(page: Path) -> None:
    """A name like `groupflow.placement.choose(...)` is a module's, or a module."""
    for code in inline_code(page):
        found = re.match(r"groupflow(?:\.\w+)+", code)
        if found and not code.endswith((".p4info.txtpb", ".json", ".db")):
            parts = found[0].split(".")
            value: object = import_module(parts[0])
            for number, part in enumerate(parts[1:], start=2):
                try:
                    value = getattr(value, part)
                except AttributeError:
                    value = import_module(".".join(parts[:number]))


def test_rules_of_p4runtime_name_tests_that_exist() -> None:
    """The last column names the tests of a rule."""
    rows = [line for line in (DOCS / "reference/p4runtime.md").read_text().splitlines() if "`" in line]
    rules = [row.rstrip("|").rpartition("|")[2] for row in rows if row.startswith("|")]
    sources = "\n".join(file.read_text() for file in (ROOT / "dataplane/switch").glob("**/*.rs"))
    assert len(rules) > 40 and all("`" in rule for rule in rules)
    missing = [
        test for rule in rules for test in re.findall(r"`(\w+)`", rule) if f"fn {test}(" not in sources
    ]
    assert missing == []


def test_the_layout_has_every_folder() -> None:
    (layout,) = blocks(ROOT / "CONTRIBUTING.md", "")
    listed: set[Path] = set()
    top = ROOT
    for line in layout.text.splitlines():
        folders = re.findall(r"([\w/]+)/(?= )", f"{line[:25]} ")
        if not line.startswith(" "):
            top = ROOT / folders[0]
        listed |= {top / folder if line.startswith(" ") else top for folder in folders}
    assert [name(folder) for folder in listed if not folder.is_dir()] == []
    listed |= {parent for folder in listed for parent in folder.parents}  # of targets/v1model
    for crowded in (ROOT / "controller/groupflow", ROOT / "dataplane", ROOT / "p4src"):
        there = {path for path in crowded.iterdir() if path.is_dir() and path.name[0] not in "_."}
        assert there - listed - {ROOT / "dataplane/target"} == set()


def test_sources_name_pages_that_exist() -> None:
    """Comments, help texts and errors refer to pages by their path."""
    lost: list[str] = []
    for folder in ("controller", "dataplane", "experiments", "p4src", "papers", "scripts", "tests"):
        for file in (ROOT / folder).glob("**/*.[a-z]*"):
            if file.suffix in (".py", ".rs", ".p4", ".toml", ".sh") and "target" not in file.parts:
                pages = re.findall(r"\bdocs/[\w/-]+\.md", file.read_text())
                lost += [f"{name(file)}: {page}" for page in pages if not (ROOT / page).exists()]
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_fit(page: Path) -> None:
    lines = prose(page).splitlines()
    free = ("|", "#", "!", "    ")  # tables, headings, pictures, output that was printed so
    assert [line for line in lines if len(line) > WIDTH and not line.startswith(free)] == []
    programs = [line for block in blocks(page, "python", "yaml", "sh") for line in block.text.splitlines()]
    assert [line for line in programs if len(line) > WIDTH + 10] == []
