"""Policies of one's own: the how-to's example, and files that are broken."""

import re
from pathlib import Path

import pytest

from groupflow.control.gather.model import Client, Limits, Reading
from groupflow.control.gather.plugin import load_policies
from groupflow.control.gather.policies import POLICIES
from groupflow.errors import InvalidError

PAGE = Path(__file__).parents[4] / "docs/how-to/policy.md"
GOOD = """
class P:
    def tune(self, state, clients, readings, limits):
        return None, {name: (1, 1) for name in readings}
"""


def test_the_example_of_the_how_to_tunes(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    file = tmp_path / "my_policy.py"
    file.write_text(example)
    policies = load_policies([file])
    assert [*policies] == [*POLICIES, "gentle"]
    clients = [Client("a", 3_000_000), Client("b", 1_000_000)]
    readings = {client.name: Reading(0.0, 0.1, None, 1) for client in clients}
    state = None
    windows: list[tuple[int | None, int | None]] = []
    for _ in range(40):
        state, settings = policies["gentle"].tune(state, clients, readings, Limits(80_000))
        windows.append((settings["a"].window, settings["b"].window))
    assert windows[0] == (15_000, 5_000) and windows[-1] == (59_999, 19_999)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def", "line 1: invalid syntax"),
        ("x = 1", 'no POLICIES; write POLICIES = {"mine": MyPolicy()}'),
        ("POLICIES = {}", "no POLICIES; write"),
        ("POLICIES = ['x']", "no POLICIES; write"),
        ("import nothing_there", "ModuleNotFoundError: No module named 'nothing_there'"),
        ("raise OSError('a\\nb')", "OSError: a"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        (f"{GOOD}POLICIES = {{'My Policy': P()}}", "POLICIES: 'My Policy' is no name; write a-z, 0-9"),
        (f"{GOOD}POLICIES = {{'none': P()}}", "POLICIES: 'none' is there already; choose another name"),
        (
            f"{GOOD}POLICIES = {{'p': 3}}",
            "POLICIES['p']: AttributeError: 'int' object has no attribute 'tune'",
        ),
        (f"{GOOD}POLICIES = {{'p': P}}", "POLICIES['p']: TypeError: P.tune() missing 1 required"),
        (
            f"{GOOD.replace('(1, 1)', '(10**6, 1)')}POLICIES = {{'p': P()}}",
            "POLICIES['p']: ValueError: windows of 2000000 bytes, where the limit is 100000",
        ),
        *(
            (f"{GOOD.replace('(1, 1)', setting)}POLICIES = {{'p': P()}}", f"POLICIES['p']: {said}")
            for setting, said in (
                ("(float('nan'), 1)", "TypeError: 'float' object cannot be interpreted as an integer"),
                ("(5000, '1')", "TypeError: 'str' object cannot be interpreted as an integer"),
                ("(5000, 17)", "ValueError: a: 17 connections, where 1 to 16 may be"),
                ("(5, 1)", "ValueError: a: a window of 5 bytes, where the least is 1152"),
            )
        ),
    ],
)
def test_a_broken_file_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(text)
    with pytest.raises(InvalidError) as caught:
        load_policies([file])
    assert str(caught.value).startswith(f"{file}: {said}") and "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match=r"none.py: no such file or directory; name a Python"):
        load_policies([tmp_path / "none.py"])
