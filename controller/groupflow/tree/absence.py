"""The time that a tree waits for an absent source."""

import time


class Absence:
    """Absence of the source, at the process that runs the root's dispatcher."""

    def __init__(self, patience: float) -> None:
        """`patience`: seconds that the source may be absent."""
        self._patience = patience
        self._since: float | None = None
        self._seen: str | None = None
        """the root whose source this process has seen, since it runs the root's dispatcher"""

    def lasts_too_long(self, root: str, source_is_here: bool) -> bool:
        """To be asked repeatedly. A source that this process never saw has twice the time: it looks for this
        process, and may try stopped processes first."""
        now = time.monotonic()
        if source_is_here:
            self._seen, self._since = root, None
            return False
        self._since = now if self._since is None else self._since
        return now >= self._since + self._patience * (1 if self._seen == root else 2)

    def is_not_ours(self) -> None:
        """Ends the watch: another process runs the root's dispatcher, or there is no tree."""
        self._seen = self._since = None
