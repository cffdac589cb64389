"""The policies by name."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from groupflow.tuning.climber import Climber
from groupflow.tuning.comparison import Comparison
from groupflow.tuning.model import Policy
from groupflow.tuning.sakajiri import Sakajiri
from groupflow.tuning.untuned import Untuned

Policies: TypeAlias = Mapping[str, Policy[Any]]
"""by name"""

POLICIES: Policies = {
    "sakajiri": Sakajiri(),
    "buffer": Sakajiri(connections=False),
    "none": Untuned(),
    "comparison": Comparison(),
    "climber": Climber(),
}
"""The built-in policies. A new one is a line here, or a file of one's own (`plugin`)."""
