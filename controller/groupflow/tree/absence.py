"""The time that a tree waits for an absent source."""

import time


class Absence:
    """Absence of the source."""

    def __init__(self, patience: float) -> None:
        """`patience`: seconds that the source may be absent."""
        self._patience = patience
        self._since: float | None = None
        self._seen: str | None = None
        """the root whose source this process has seen"""

    def lasts_too_long(self, root: str, source_is_here: bool) -> bool:
        """To be asked repeatedly. A source that this process never saw has twice the time: it has to notice
        that the former process is gone."""
        now = time.monotonic()
        if source_is_here:
            self._seen, self._since = root, None
            return False
        self._since = now if self._since is None else self._since
        return now >= self._since + self._patience * (1 if self._seen == root else 2)

    def end(self) -> None:
        """Ends the watch: there is no tree, or this process begins again."""
        self._seen = self._since = None
