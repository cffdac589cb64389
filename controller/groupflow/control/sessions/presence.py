"""The time when each member and agent was last heard. They report every half second."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Heard:
    """The last report of a member or an agent."""

    at: float
    """on the monotonic clock, seconds"""
    next: int = 0
    """receiver: the packet it acknowledges next, 0: not known; sender: the packet it will send; cache agent:
    KiB it holds"""
    repairs: int = 0
    source: int = 0
    """receiver: the stream that it follows"""
    since: float = 0.0
    """when `next` last changed"""


class Presence(Generic[K]):
    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._heard: dict[K, Heard] = {}

    def hear(
        self, who: K, next_: int | None = None, repairs: int | None = None, source: int | None = None
    ) -> None:
        """Notes a sign of life, and what it says; None: it does not say."""
        now, former = self.clock(), self._heard.get(who, Heard(0))
        said = {"next": next_, "repairs": repairs, "source": source}
        heard = replace(former, at=now, **{key: value for key, value in said.items() if value is not None})
        moved = (heard.next, heard.source) != (former.next, former.source) or not former.since
        self._heard[who] = replace(heard, since=now) if moved else heard

    def excuse(self, who: K, seconds: float) -> None:
        """Counts `who` as heard `seconds` from now, because no report can be expected before."""
        former = self._heard.get(who, Heard(0))
        self._heard[who] = replace(former, at=max(former.at, self.clock() + seconds))

    def forget(self, who: K) -> None:
        self._heard.pop(who, None)

    def last(self, who: K) -> Heard | None:
        return self._heard.get(who)

    def age(self, who: K) -> float | None:
        """Seconds since `who` was heard."""
        heard = self._heard.get(who)
        return None if heard is None else round(max(0.0, self.clock() - heard.at), 3)

    def silent(self, seconds: float) -> Iterator[K]:
        """Members or agents not heard for that number of seconds."""
        deadline = self.clock() - seconds
        return iter([who for who, heard in self._heard.items() if heard.at < deadline])
