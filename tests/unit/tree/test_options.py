"""Options of the dispatchers' service, and the policy that they make."""

import json
import math
from typing import Any

import pytest

from groupflow.errors import Error
from groupflow.tree.options import DispatchOptions


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
