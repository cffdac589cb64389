"""Sends replies and notices to hosts, as packet-outs of their switches."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from groupflow._native import Address, Alive, Delegated, Joined, Left, Notice, Refused, Unknown, build_reply
from groupflow.control.sessions.fabric import Fabric
from groupflow.control.sessions.model import Member, NoticeKind, Session
from groupflow.model.topology import Host

Reply: TypeAlias = Joined | Refused | Alive | Unknown | Notice | Delegated | Left
REPEATS = 3
"""Keepalives of a member at which a notice is sent again, since it may be lost; the member hears it once."""


@dataclass
class _Sent:
    """The last notice to a member about another."""

    notice: Notice
    source: int
    left: int = REPEATS


class Post:
    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._sent: dict[tuple[int, int], dict[int, _Sent]] = {}
        """by session and member, and by the member that a notice is about"""

    def send(
        self,
        host: Host,
        udp_port: int,
        reply: Reply,
        *,
        session: int,
        source: int = 0,
        member: int = 0,
        request_id: int = 0,
    ) -> None:
        to = Address(host.gateway_mac, host.mac, str(host.gateway), str(host.ip), udp_port)
        self._fabric.send(host, build_reply(to, session, source, member, request_id, reply))

    def notify(
        self, session: Session, to: Iterable[Member], what: NoticeKind, name: str, *, about: int = 0
    ) -> None:
        """Tells members about an event of the member `about`, or (0) of all of them.

        `name` is the name of that member or switch: agents compare it, and put it into their errors.
        """
        receivers = len(session.receivers)
        for member in to:
            if not member.udp_port:
                continue
            rate = self._fabric.rate(session, member.id) if member.role == "sender" else 0
            notice = Notice(what=what, about=about, text=name[:200], receivers=receivers, rate=rate)
            source = member.id if member.role == "sender" else about
            self._send(member, notice, source)
            if about:
                self._sent.setdefault((session.id, member.id), {})[about] = _Sent(notice, source)

    def _send(self, member: Member, notice: Notice, source: int) -> None:
        host = self._fabric.topology.hosts[member.host]
        self.send(host, member.udp_port, notice, session=member.session, source=source, member=member.id)

    def repeat(self, member: Member) -> None:
        """Sends a member its last notices again, each a few times."""
        last = self._sent.pop((member.session, member.id), {})
        for sent in last.values():
            self._send(member, sent.notice, sent.source)
            sent.left -= 1
        if still := {about: sent for about, sent in last.items() if sent.left}:
            self._sent[member.session, member.id] = still

    def forget(self, member: Member) -> None:
        """Repeats nothing to a member that has left."""
        self._sent.pop((member.session, member.id), None)

    def tell_others(self, session: Session, member: Member, what: NoticeKind) -> None:
        """Tells senders about a receiver, and receivers about a sender; a listener needs no notice."""
        others = [
            other
            for other in session.members.values()
            if other.id != member.id and "listener" not in (member.role, other.role)
        ]
        if member.role == "receiver":
            others = [other for other in others if other.role == "sender"]
        self.notify(session, others, what, member.name, about=member.id)

    def introduce_sources(self, session: Session, member: int, known: int) -> None:
        """Tells a receiver of the streams that its JOINED did not name."""
        for source in session.sources if member in session.receivers else ():
            if source != known:
                to, name = [session.members[member]], session.members[source].name
                self.notify(session, to, "joined", name, about=source)
