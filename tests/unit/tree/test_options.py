"""Options of the dispatchers' service, and the policy that they make."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from groupflow.cli.frame import options_of
from groupflow.errors import Error
from groupflow.model.fields import Help, Written
from groupflow.tree.options import DispatchOptions

POLICY = Path(__file__).parents[3] / "dataplane/apps/tree/src/machine/dispatchers/mod.rs"
FIELDS = {"threshold_ms": "threshold", "patience_ms": "patience", "review_s": "review"}
"""fields of the policy that have another name"""


def test_options_of_delays_are_times_of_the_policy() -> None:
    given = DispatchOptions(token="ab", delay_ms=12.5, review_s=0)
    assert json.loads(given.policy()) == {"delay_bound": 12_500_000, "review": 0}
    assert json.loads(DispatchOptions(token="ab").policy()) == {}


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("delay_ms", 0, "--delay 0ms: write more than 0"),
        ("patience_ms", 0, "--patience 0ms: write more than 0"),
        ("delay_ms", math.nan, "--delay nanms"),
        ("review_s", 0.01, "--review 0.01s: write 100ms to"),
        ("review_s", -1, "--review -1s"),
    ],
)
def test_a_wrong_time_is_named_with_its_option(option: str, value: float, text: str) -> None:
    wrong: dict[str, Any] = {option: value}
    with pytest.raises(Error, match=text):
        DispatchOptions(token="ab", **wrong)


def test_the_defaults_that_the_help_states_are_the_policys() -> None:
    _, _, policy = POLICY.read_text().partition("impl Default for Policy")
    compared: list[str] = []
    for name, hint, _ in options_of(DispatchOptions):
        stated = re.search(r"\(default: (\w+)\)", hint.note(Help).text)
        if stated is None or stated[1] == "none":
            continue
        rust = re.search(rf"\b{FIELDS.get(name, name)}: ([^\n]+),\n", policy)
        assert rust, name
        written: Written | None = hint.note(Written)
        said = written.parse(stated[1]) if written else stated[1]
        millis = re.fullmatch(r"Nanos::from_millis\(([\d_]+)\)", rust[1])
        if millis:
            assert said == int(millis[1].replace("_", "")) / (1000 if name.endswith("_s") else 1), name
        else:
            assert said == rust[1].removeprefix("Demotion::").lower(), name
        compared.append(name)
    assert {*FIELDS, "max_members", "max_children", "demotion"} == {*compared}
    assert DispatchOptions(token="ab").patience == 3
