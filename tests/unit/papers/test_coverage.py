"""What the papers state: no item is left out, and the places and tests of the table exist."""

import pytest
from pydantic import ValidationError

from papers.coverage import MEANS, ROOT, Item, page, read

PAPERS = read()
ITEMS = [item for covered in PAPERS.values() for item in covered.items]


def test_no_item_is_left_out_and_the_numbers_add_up() -> None:
    assert [len(covered.items) for covered in PAPERS.values()] == [33, 33, 26, 32, 45]
    for number, covered in enumerate(PAPERS.values(), 1):
        assert [item.id for item in covered.items] == [
            f"S{number}.{n}" for n in range(1, len(covered.items) + 1)
        ]
    last = next(line for line in page(PAPERS).splitlines() if line.startswith("| all |"))
    *by_status, total = (int(cell) for cell in last.split("|")[2:-1])
    assert len(by_status) == len(MEANS) and sum(by_status) == total == len(ITEMS) == 169


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_each_place_and_test_exists(item: Item) -> None:
    for place in item.places:
        assert (ROOT / place).exists(), place
    for test in item.tests:
        path, _, name = test.partition("::")
        text = (ROOT / path).read_text()
        assert not name or f"def {name}(" in text or f"fn {name}(" in text, test


def test_each_row_of_flow_control_says_what_bmv2_runs() -> None:
    for item in PAPERS["takano"].items:
        assert bool(item.bmv2) == (item.form != ("virtual",)), item.id
    rows = page(PAPERS).partition("On BMv2")[2].splitlines()
    assert len([row for row in rows if row.startswith("| S5.")]) == len(PAPERS["takano"].items)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"status": "missing"}, "missing has none"),
        ({"tests": []}, "has form, places and tests"),
        ({"status": "deviates"}, "give the reason"),
        ({"status": "virtual"}, "give the reason"),
        ({"status": "done"}, "status"),
    ],
)
def test_an_item_that_cannot_be_is_refused(changed: dict[str, object], said: str) -> None:
    form: dict[str, object] = {
        "id": "S1.1", "section": "I", "item": "tea", "status": "faithful", "form": ["host"],
        "places": ["docs"], "tests": ["tests/unit/papers/test_coverage.py"],
    }  # fmt: skip
    assert Item.model_validate(form)
    with pytest.raises(ValidationError, match=said):
        Item.model_validate(form | changed)
