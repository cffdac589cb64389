"""How long a tree waits for its source."""

import time


class Absence:
    """Of the source, at the process that runs its root's dispatcher."""

    def __init__(self, patience: float) -> None:
        """`patience`: seconds."""
        self._patience = patience
        self._since: float | None = None
        self._seen: str | None = None
        """the root whose source was here, as long as this process runs its dispatcher"""

    def lasts_too_long(self, root: str, source_is_here: bool) -> bool:
        """To be asked again and again. A source that was never here has twice as long: it looks for this
        process, and may come upon others first that stand still."""
        now = time.monotonic()
        if source_is_here:
            self._seen, self._since = root, None
            return False
        self._since = now if self._since is None else self._since
        return now >= self._since + self._patience * (1 if self._seen == root else 2)

    def is_not_ours(self) -> None:
        """Another process runs the root's dispatcher, or there is no tree."""
        self._seen = self._since = None
