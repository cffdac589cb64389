"""Options of the dispatchers' service."""

import json
import re
from dataclasses import dataclass, field

DEFAULT_PORT = 26495
TOKEN_RULE = "it must be 1 to 255 hexadecimal digits; make one with `openssl rand -hex 16`"
_MOST = 65_535


def is_token(text: str) -> bool:
    return re.fullmatch(r"[0-9A-Fa-f]{1,255}", text) is not None


def check_delay(delay_ms: float | None) -> None:
    """Raises ValueError for a bound that is no time."""
    if delay_ms is not None and not 0 < delay_ms < _MOST:
        raise ValueError(f"--delay-ms {delay_ms:g}: write more than 0, less than {_MOST}")


@dataclass(frozen=True, kw_only=True)
class DispatchOptions:
    """One tree. Defaults of `policy` are those of `Policy` in dataplane/apps/tree/src/machine/policy.rs."""

    token: str = field(repr=False)
    """hexadecimal digits, the same at every host of the tree"""
    listen: tuple[str, int] = ("0.0.0.0", DEFAULT_PORT)
    name: str = "tree"
    """name of the tree in the store"""
    plain: bool = False
    """no encryption, neither to the dispatchers nor between hosts"""
    threshold_ms: float | None = None
    """one-way latency below which hosts are in one cluster"""
    max_members: int | None = None
    max_children: int | None = None
    demotion: str | None = None
    """never, slowest or largest_latency"""
    patience_ms: float | None = None
    delay_ms: float | None = None
    """bound on a host's one-way delay from the source, the sum of its edges' latencies, of streams whose
    source names none; None: none"""
    review_s: float | None = None
    """seconds in which each host measures its latencies again once; 0: never"""
    max_hosts: int = 4096
    """most connections at once"""

    def __post_init__(self) -> None:
        """Raises ValueError that names the option, its value and the cure."""
        if not is_token(self.token):
            raise ValueError(f"the token: {TOKEN_RULE}")
        if self.threshold_ms is not None and not self.threshold_ms >= 0:
            raise ValueError(f"--threshold-ms {self.threshold_ms:g}: write 0 or more")
        check_delay(self.delay_ms)
        if self.review_s is not None and not (self.review_s == 0 or 0.1 <= self.review_s <= _MOST):
            raise ValueError(f"--review-seconds {self.review_s:g}: write 0.1 to {_MOST}, or 0 for never")
        for option, value in (
            ("--max-members", self.max_members),
            ("--max-children", self.max_children),
            ("--max-hosts", self.max_hosts),
            ("--patience-ms", self.patience_ms),
        ):
            if value is not None and not 1 <= value <= _MOST:
                raise ValueError(f"{option} {value:g}: write a number from 1 to {_MOST}")

    @property
    def patience(self) -> float:
        """Seconds of silence after which a host is gone."""
        return 3.0 if self.patience_ms is None else self.patience_ms / 1000

    def policy(self) -> str:
        """The policy as the dispatchers read it, JSON."""
        given = {
            "threshold": _nanos(self.threshold_ms),
            "max_members": self.max_members,
            "max_children": self.max_children,
            "demotion": self.demotion,
            "patience": _nanos(self.patience_ms),
            "delay_bound": _nanos(self.delay_ms),
            "review": None if self.review_s is None else _nanos(1000 * self.review_s),
        }
        return json.dumps({key: value for key, value in given.items() if value is not None})


def _nanos(milliseconds: float | None) -> int | None:
    return None if milliseconds is None else round(milliseconds * 1e6)
