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
    """receiver: the packet it expects; sender: the packet it will send; cache agent: KiB it holds"""
    repairs: int = 0


class Presence(Generic[K]):
    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._heard: dict[K, Heard] = {}

    def hear(self, who: K, next_: int | None = None, repairs: int | None = None) -> None:
        former = self._heard.get(who, Heard(0))
        self._heard[who] = Heard(
            self.clock(),
            former.next if next_ is None else next_,
            former.repairs if repairs is None else repairs,
        )

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
        """Members or agents not heard for so many seconds."""
        deadline = self.clock() - seconds
        return iter([who for who, heard in self._heard.items() if heard.at < deadline])
