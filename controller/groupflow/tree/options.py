"""Options of the dispatchers' service."""

import json
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from groupflow.errors import InvalidError, Kind, UsageError
from groupflow.model import ports
from groupflow.model.fields import Help, Range
from groupflow.model.values import TOKEN_RULE, FractionMs, ListenAddress, Name, Secret, Span, is_token
from groupflow.tree.members import DELAY_BOUND

_MOST = 65_535
ABSENCE = 15.0
"""s; how long a silent host is waited for, as long as a reader that reads nothing"""
Demotion: TypeAlias = Literal["slowest", "largest_latency", "never"]
PLAIN = Help("do not encrypt: token and data can be read on the way")


def check_time(option: str, milliseconds: float | None) -> None:
    """Raises ValueError for a bound that is no time."""
    if milliseconds is not None and not 0 < milliseconds < _MOST:
        raise InvalidError(f"{option} {milliseconds:g}ms: write more than 0, less than {_MOST}ms", Kind.USAGE)


@dataclass(frozen=True, kw_only=True)
class DispatchOptions:
    """One tree. Defaults of `policy` are those of `Policy` in dataplane/apps/tree/src/machine/policy.rs."""

    token: Annotated[str, Help("file with the token that every host of the tree must have"), Secret()] = (
        field(repr=False)
    )
    """hexadecimal digits"""
    listen: Annotated[ListenAddress, Help("address for hosts")] = ("0.0.0.0", ports.TREE)
    name: Annotated[str, Help("name of the tree in the store")] = "tree"
    plain: Annotated[bool, PLAIN] = False
    threshold_ms: Annotated[
        FractionMs | None,
        Help("latency between the farthest hosts of a cluster (default: 5ms)"),
        Name("--threshold"),
    ] = None
    max_members: Annotated[
        int | None, Help("the most hosts in a cluster (default: 64)", "N"), Range(1, _MOST)
    ] = None
    max_children: Annotated[
        int | None, Help("the most children of any host (default: 8)", "N"), Range(1, _MOST)
    ] = None
    demotion: Annotated[
        Demotion | None, Help("child that moves down when data wait for a child (default: slowest)")
    ] = None
    patience_ms: Annotated[
        FractionMs | None, Help("silence after which a host counts as gone (default: 3s)"), Name("--patience")
    ] = None
    delay_ms: Annotated[
        FractionMs | None, Help(f"{DELAY_BOUND}, of streams whose source names none (default: none)"),
        Name("--delay"),
    ] = None  # fmt: skip
    review_s: Annotated[
        Span | None,
        Help("time in which each host measures its latencies again and may move; 0: never (default: 30s)"),
        Name("--review"),
    ] = None
    max_hosts: Annotated[int, Help("the most connections", "N"), Range(1, _MOST)] = 4096

    def __post_init__(self) -> None:
        """Raises UsageError that names the option, its value and the cure."""
        if not is_token(self.token):
            raise UsageError(f"the token: {TOKEN_RULE}")
        check_time("--patience", self.patience_ms)
        check_time("--delay", self.delay_ms)
        if self.review_s is not None and not (self.review_s == 0 or 0.1 <= self.review_s <= _MOST):
            raise UsageError(f"--review {self.review_s:g}s: write 100ms to {_MOST}s, or 0 for never")

    @property
    def patience(self) -> float:
        """Seconds of silence after which a host is gone."""
        return 3.0 if self.patience_ms is None else self.patience_ms / 1000

    def policy(self, *, waits: bool = False) -> str:
        """The policy as the dispatchers read it, JSON. `waits`: the source waits for hosts that are away."""
        given = {
            "threshold": _nanos(self.threshold_ms),
            "max_members": self.max_members,
            "max_children": self.max_children,
            "demotion": self.demotion,
            "patience": _nanos(self.patience_ms),
            "absence": _nanos(1000 * ABSENCE) if waits else None,
            "delay_bound": _nanos(self.delay_ms),
            "review": None if self.review_s is None else _nanos(1000 * self.review_s),
        }
        return json.dumps({key: value for key, value in given.items() if value is not None})


def _nanos(milliseconds: float | None) -> int | None:
    return None if milliseconds is None else round(milliseconds * 1e6)
