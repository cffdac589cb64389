"""Receiver-side tuning for sessions that isolate: targets and priorities divide what a cache agent feeds.

A receiver that is too slow for its stream is fed by its switch's cache agent. Two links carry one copy for
each such receiver: the last one, where several receivers are on one host, and the agent's own. Every other
link carries one copy for all, so that there is nothing to divide. Both links are divided by the controller's
tuning policy, as a server that gathers divides its receive buffer, and the agent paces each receiver by its
share: bytes that it may have waiting (the window W of eq. 1), and their rate (eq. 2).
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from groupflow.control.caching import Receiver, Share
from groupflow.control.gather.buffers import rate_of, window_for
from groupflow.control.gather.clients import check_client
from groupflow.control.gather.gathering import Gathering
from groupflow.control.gather.model import ROUND_S, Client, Limits, Reading, Setting, Settings
from groupflow.control.gather.policies import Rounds
from groupflow.control.sessions.admission import PAYLOAD, USABLE, check_targets, link_rate
from groupflow.control.sessions.manager import SessionManager
from groupflow.control.sessions.model import Member, RefusalError
from groupflow.control.sessions.numbers import Stream
from groupflow.control.sessions.presence import Heard
from groupflow.control.shared import Service, Shared
from groupflow.files.forms import refuse

log = logging.getLogger(__name__)

ANSWER_S = 0.5
"""round trip of both equations, from a request to its answer, with the wait at the agent: what has waited for
longer, a receiver asks for again (TIMEOUT_CAP of transport/src/requests.rs)"""
SAMPLE_S = 1.0
"""least time over which a rate is measured: members report their position every half second"""
REPEAT_ROUNDS = 4
"""rounds after which agents are told their orders again"""
MOST_BYTES = 2**32 - 1
"""of a share, on the wire"""


class Sharing(Service):
    def __init__(self, shared: Shared, manager: SessionManager, gathering: Gathering) -> None:
        super().__init__(shared)
        self.rates: dict[Receiver, float] = {}
        """measured, bit/s of payload"""
        self.problem: str | None = None
        """why the policy's shares are not in effect"""
        self._trees = shared.fabric.trees
        self._manager = manager
        self._gathering = gathering
        self._samples: dict[Receiver, Heard] = {}
        self._links: dict[str, tuple[Rounds, Settings]] = {}
        """by the host that a link leads to: the policy with its memory, and its last settings"""
        self._round = 0

    async def run(self) -> None:
        """A round after the other until cancelled."""
        while True:
            await asyncio.sleep(ROUND_S)
            told = self.problem
            try:
                self.round()
            except Exception as error:
                self.problem = f"a round failed, shares stay as they are ({type(error).__name__}: {error})"
                if self.problem != told:
                    log.error("%s", self.problem, exc_info=error)

    async def change(self, session: int, member: int, **targets: Any) -> None:
        """Changes `target`, `minimum` or `priority` of a receiver.

        Raises RefusalError, Refused or StoreError.
        """
        found = self._manager.get(session)
        receiver = found.members.get(member)
        if receiver is None or receiver.role != "receiver":
            raise RefusalError("bad_request", f"session {session} has no receiver {member}; list its members")
        wanted = replace(receiver, **targets)
        check_targets(self._topology, found.record, receiver.host, receiver.name, None)
        if wanted.target is None:
            for field, name in (("minimum", "minimum_bps"), ("priority", "priority")):
                if targets.get(field):
                    refuse(name, f"{receiver.name} has no target; give it a target too")
            wanted = replace(wanted, minimum=None, priority=0)
        else:
            client = Client(wanted.name, wanted.target, minimum=wanted.minimum)
            most = int(link_rate(self._topology, receiver.host) * USABLE)
            check_client(client, most, "target_bps", "minimum_bps")
        await self._manager.want(wanted)

    def round(self) -> None:
        """Measures, divides, and tells the agents."""
        receivers = list(self._receiving())
        self._measure(receivers)
        links: dict[str, list[Member]] = {}
        for member in receivers:
            links.setdefault(member.host, []).append(member)
            if self._manager.sessions[member.session].isolated_from(member.id):
                agent = self._caching.agents[self._topology.hosts[member.host].switch]
                links.setdefault(agent.host, []).append(member)
        shares: dict[Receiver, Share] = {}
        told, self.problem = self.problem, None
        former, self._links = self._links, {}
        for host, members in links.items():
            settings = self._divide(host, members, former)
            for who, setting in zip(map(_receiver, members), settings, strict=True):
                if setting is not None and setting.window is not None:
                    share = Share(int(rate_of(setting.window, ANSWER_S)), min(setting.window, MOST_BYTES))
                    shares[who] = min(share, shares.get(who, share))
        if self.problem is not None and self.problem != told:
            log.error("%s", self.problem)
        self._order(shares)

    def _receiving(self) -> Iterable[Member]:
        """The receivers of sessions that isolate which have not yet all of a stream, and can be fed."""
        for session in self._manager.sessions.values():
            if session.record.policy == "isolate":
                for member in map(session.members.__getitem__, session.receivers):
                    is_fed = self._topology.hosts[member.host].switch in self._caching.agents
                    if is_fed and not member.complete.issuperset(session.sources):
                        yield member

    def _measure(self, receivers: Iterable[Member]) -> None:
        samples, self._samples = self._samples, {}
        rates, self.rates = self.rates, {}
        for who in map(_receiver, receivers):
            now = self._manager.presence.last(who)
            if now is None or now.next == 0 or now.at > self._manager.presence.clock():
                continue  # no position is known yet, or the time of its report is not
            before = samples.get(who, now)
            seconds = now.at - before.at
            self._samples[who] = before if seconds < SAMPLE_S else now
            if seconds >= SAMPLE_S:
                self.rates[who] = max(0, now.next - before.next) * PAYLOAD * 8 / seconds
            elif who in rates:
                self.rates[who] = rates[who]

    def _divide(
        self, host: str, members: list[Member], former: dict[str, tuple[Rounds, Settings]]
    ) -> list[Setting | None]:
        """The settings of the receivers that share the link of a host; None: the receiver has no share."""
        rate = link_rate(self._topology, host)
        if not rate or all(member.target is None for member in members):
            return [None] * len(members)
        capacity = rate * USABLE
        clients = [_client(member, int(capacity / len(members))) for member in members]
        policy = self._gathering.policies[self._gathering.settings.policy]
        rounds, before = former.get(host, (Rounds(policy), {}))
        if rounds.policy is not policy:
            rounds = Rounds(policy)
        windows = {name: setting.window for name, setting in before.items()}
        readings = {
            one.name: Reading(self.rates.get(_receiver(member), 0.0), ANSWER_S, windows.get(one.name), 1)
            for one, member in zip(clients, members, strict=True)
        }
        buffer = int(window_for(capacity, ANSWER_S))
        limits = Limits(buffer, connections=1, segment=min(PAYLOAD, buffer // len(members)))
        settings, problem = rounds.tune(clients, readings, limits, before)
        if problem is not None:
            self.problem = f"link of {host}: {problem}"
        self._links[host] = rounds, settings
        return [settings.get(client.name) for client in clients]

    def _order(self, shares: dict[Receiver, Share]) -> None:
        """Tells the agents news, and all orders now and then."""
        self._round += 1
        numbers = {session for session, _ in (*shares, *self._caching.shares)}
        self._caching.shares = shares
        for session in filter(None, map(self._manager.sessions.get, numbers)):
            for stream in (Stream(session.id, source) for source in session.sources):
                if stream in self._trees:
                    self._caching.announce(session, stream, self._trees[stream])
        if self._round % REPEAT_ROUNDS == 0:
            self._caching.repeat()


def _receiver(member: Member) -> Receiver:
    return member.session, member.id


def _client(member: Member, part: int) -> Client:
    """A receiver without a target wants an equal part, after all others, and is guaranteed nothing."""
    name = f"{member.session}/{member.id}"
    if member.target is None:
        return Client(name, part, priority=-1, minimum=0)
    return Client(name, member.target, member.priority, member.minimum)
