"""The parts that the services of one controller share."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from groupflow.control.caching import Caching
from groupflow.control.events import Events
from groupflow.control.sessions.admission import Options
from groupflow.control.sessions.fabric import Fabric
from groupflow.control.sessions.post import Post
from groupflow.store.interface import Store


@dataclass(frozen=True)
class Shared:
    fabric: Fabric
    store: Store
    post: Post
    caching: Caching
    events: Events
    options: Options
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time


class Service:
    """A service of the controller, which uses what all of them share."""

    def __init__(self, shared: Shared) -> None:
        self._fabric = shared.fabric
        self._topology = shared.fabric.topology
        self._store = shared.store
        self._post = shared.post
        self._caching = shared.caching
        self._events = shared.events
        self._clock = shared.clock
        self._wall = shared.wall
