"""Options of a host of a tree."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from groupflow.agents.options import START, RoleOptions, Start, TlsPin, flag
from groupflow.model.fields import Help, Range, Size
from groupflow.model.values import FarIpPort, FractionMs, Name, OwnIpPort

MOST_PARALLEL = 16
Slow: TypeAlias = Literal["wait", "isolate", "skip"]
Parallel: TypeAlias = Annotated[
    int | None,
    Help("number of connections to the parent (default: 1; more take more than a fair share)", "N"),
    Range(1, MOST_PARALLEL),
]
DELAY_BOUND = "bound on the sum of latencies from the source to a host"


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
