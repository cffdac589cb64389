"""Services that follow the sessions: those that carry their TCP connections."""

from typing import Protocol

from groupflow.control.sessions.fabric import Fabric, Installation


class Follower(Protocol):
    """The service that carries sessions' TCP connections, and must know of every change."""

    def changed(self, number: int) -> Installation:
        """Follows a session that is new, changed, or gone."""
        ...

    async def settled(self, number: int) -> list[str]:
        """Waits until every agent of a session knows its last change. Returns refusals, one line each."""
        ...


class Followers(list[Follower]):
    """All of them, as one."""

    def __init__(self, fabric: Fabric) -> None:
        super().__init__()
        self._fabric = fabric

    def changed(self, number: int) -> Installation:
        installed = self._fabric.nothing()
        for follower in self:
            installed |= follower.changed(number)
        return installed

    async def settled(self, number: int) -> list[str]:
        return [problem for follower in self for problem in await follower.settled(number)]
