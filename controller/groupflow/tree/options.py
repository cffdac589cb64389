"""Options of a tree's hosts, and of its dispatchers' service."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from groupflow.agents.options import START, RoleOptions, Start, TlsPin, flag
from groupflow.errors import InvalidError, Kind, UsageError
from groupflow.model import ports
from groupflow.model.fields import Help, Range, Size
from groupflow.model.values import (
    TOKEN_RULE,
    FarIpPort,
    FractionMs,
    ListenAddress,
    Name,
    OwnIpPort,
    Secret,
    Span,
    is_token,
)

_MOST = 65_535
MOST_PARALLEL = 16
Slow: TypeAlias = Literal["wait", "isolate", "skip"]
Parallel: TypeAlias = Annotated[
    int | None,
    Help("number of connections to the parent (default: 1; more take more than a fair share)", "N"),
    Range(1, MOST_PARALLEL),
]
DELAY_BOUND = "bound on the sum of latencies from the source to a host"
ABSENCE = 15.0
"""s; how long a silent host is waited for, as long as a reader that reads nothing"""
Demotion: TypeAlias = Literal["slowest", "largest_latency"]
PLAIN = Help("do not encrypt: token and data can be read on the way")


@dataclass(frozen=True, kw_only=True)
class TreeOptions(RoleOptions):
    """Options that all hosts share. None is gfagent's default."""

    to: Annotated[FarIpPort, Help("address of the dispatchers (groupflow tree serve)")]
    tls_pin: TlsPin = None
    """None: no encryption"""
    listen: Annotated[OwnIpPort | None, Help("address for children (default: any port)")] = None
    children: Annotated[int | None, Help("the most children of this host (default: 4)", "N"), Range(0)] = None
    cache: Annotated[Size | None, Help("bytes of the stream that this host holds (default: 16MiB)")] = None
    slow: Annotated[
        Slow, Help("effect of a slow child: all wait, the child is cut off, or the child skips late data")
    ] = "wait"
    patience: int | None = None
    """seconds to look for lost dispatchers"""

    def arguments(self) -> list[str]:
        return super().arguments() + (["--plain"] if self.tls_pin is None else [])


@dataclass(frozen=True, kw_only=True)
class SkipOptions(TreeOptions):
    """Options of hosts that may skip data. A host that hands the stream to a session skips none."""

    align: Annotated[
        int | None, Help("size of a record, which is skipped whole (default: 1)", "BYTES"), Range(1)
    ] = None


@dataclass(frozen=True, kw_only=True)
class TreeSendOptions(SkipOptions):
    """The source, `gfagent tree-send`."""

    role = "tree-send"
    file: Annotated[Path | None, Help("file to send (default: stdin)")] = None
    members: Annotated[
        int, Help("number of hosts that must have joined before the stream begins", "N"), Range(0)
    ] = 1
    delay_ms: Annotated[
        FractionMs | None, Help(f"{DELAY_BOUND} (default: the dispatchers' bound)"), Name("--delay")
    ] = None


@dataclass(frozen=True, kw_only=True)
class TreeRecvOptions(SkipOptions):
    """A host that receives, and passes on: `gfagent tree-recv`."""

    role = "tree-recv"
    parallel: Parallel = None
    output: Annotated[Path | None, Help("file to write (default: stdout)")] = None
    start: Annotated[Start, START, Name("--from")] = field(default="now", metadata=flag("from"))


def check_time(option: str, milliseconds: float | None) -> None:
    """Raises ValueError for a bound that is no time."""
    if milliseconds is not None and not 0 < milliseconds < _MOST:
        raise InvalidError(f"{option} {milliseconds:g}ms: write more than 0, less than {_MOST}ms", Kind.USAGE)


@dataclass(frozen=True, kw_only=True)
class DispatchOptions:
    """One tree. Defaults of `policy` are those of `Policy` (dataplane/apps/tree/src/machine/dispatchers)."""

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
