"""The connected hosts of a tree's dispatchers, by name, and the news for them."""

import json
from typing import Any

from groupflow.tree.connection import Connection
from groupflow.tree.forest import Forest, Told


class Hosts(dict[str, Connection]):
    def say_alive(self) -> None:
        for host in tuple(self.values()):
            host.say({"alive": True})

    def tell_source(self, forest: Forest) -> None:
        """Sends the source the number of hosts in the tree when it has changed."""
        source = self.get(forest.source or "")
        if source is not None and source.welcome and source.counted != forest.attached:
            source.counted = forest.attached
            source.say({"hosts": source.counted})

    def addressed(self, told: Told) -> list[tuple[Connection, dict[str, Any]]]:
        """Messages with the connections of their hosts, if connected. To be called before the next event."""
        return [
            (host, {"cluster": cluster, "joins": host.joins, **json.loads(message)})
            for cluster, name, message in told
            if (host := self.get(name)) is not None and host.welcome
        ]
