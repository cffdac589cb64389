"""The sentences of the pages: short on average, and few of them long."""

from __future__ import annotations

import pytest

from scripts.house import pages
from tests.support.sentences import prose, sentences


def test_sentences_are_short() -> None:
    mean, long = prose([page.read_text(encoding="utf-8") for page in pages()])
    assert mean <= 14 and long <= 0.02


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("A word. Another one.", ["A word.", "Another one."]),
        ("Is it? It is! gfswitch runs.", ["Is it?", "It is!", "gfswitch runs."]),
        ("One line\ngoes on here.\n\nA paragraph without an end\n\nNext.",
         ["One line goes on here.", "A paragraph without an end", "Next."]),
        ("# A heading. It ends.\nText.", ["Text."]),
        ("Intro:\n\n- first item\n- second item, which\n  goes on. And ends.\n1. third",
         ["Intro:", "first item", "second item, which goes on.", "And ends.", "third"]),
        ("| a. b. | c |\n|---|---|\n| d | e |\nAfter.", ["After."]),
        ("Before:\n```sh\nmake. All. Of it.\n```\nAfter.", ["Before:", "After."]),
        ("Before:\n\n    a command. Another.\n\nAfter.", ["Before:", "After."]),
        ("See [the page. Not two](page.md#a.b) now.", ["See the page.", "Not two now."]),
        ("![A picture. Two.](a.png) Text.", ["Text."]),
        ("<!-- a comment. Two. -->\nText.", ["Text."]),
        ("As `a. b` says. So.", ["As a· b says.", "So."]),
        ("Fig. 5 and Figs. 6 of Cui et al. 2006, eq. 9, i.e. this vs. that.",
         ["Fig. 5 and Figs. 6 of Cui et al. 2006, eq. 9, i.e. this vs. that."]),
        ("It takes 1.5 s. 2 Mb/s are enough.", ["It takes 1.5 s.", "2 Mb/s are enough."]),
        ("It is **bold.** It (it is.) ends.", ["It is **bold.", "It (it is.", "ends."]),
        ("Text.\n\n- - -\n\n    # a comment\n", ["Text."]),
        ("", []),
    ],
)  # fmt: skip
def test_sentences_are_told_apart(page: str, found: list[str]) -> None:
    assert sentences(page) == found


def test_the_mean_and_the_share_of_long_sentences() -> None:
    long = " ".join(["word"] * 31)
    assert prose([f"Two words. {long}.", "Three words here -"]) == ((2 + 31 + 3) / 3, 1 / 3)
    assert prose([]) == (0.0, 0.0)
