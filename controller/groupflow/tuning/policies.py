"""The policies by name."""

from collections.abc import Mapping
from typing import Any

from groupflow.tuning.climber import Climber
from groupflow.tuning.comparison import Comparison
from groupflow.tuning.model import Policy
from groupflow.tuning.sakajiri import Sakajiri
from groupflow.tuning.untuned import Untuned

POLICIES: Mapping[str, Policy[Any]] = {
    "sakajiri": Sakajiri(),
    "buffer": Sakajiri(connections=False),
    "none": Untuned(),
    "comparison": Comparison(),
    "climber": Climber(),
}
"""Values of `groupflow gather serve --policy`. A new policy is a line here."""
