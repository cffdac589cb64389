"""The paper's simulation: Fig. 5, Table I, and a point of its figures 6 to 12."""

import math
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal, TypeAlias

from groupflow.sim.model import Variant

Method: TypeAlias = Literal["unicast", "n2n", "e2e", "group", "members"]
METHODS: tuple[Method, ...] = ("unicast", "n2n", "e2e")
"""the paper's"""
SPLIT: tuple[Method, ...] = ("n2n", "e2e")
BEYOND: tuple[Method, ...] = ("group", "members")
"""a group session on P4 switches with cache agents, end to end and strict, as a session is unless told
otherwise; and TCP from member to member, as in Fig. 1"""
NAMES: dict[Method, str] = {
    "unicast": "Unicast",
    "n2n": "Node-Node",
    "e2e": "End-End",
    "group": "P4 group session",
    "members": "Through members",
}

MEGABIT = 10**6
LINK_BPS = 100 * MEGABIT
PACKET_BYTES = 1500
FRAME_BYTES = PACKET_BYTES + 14
MSS = PACKET_BYTES - 40
GROUP_PAYLOAD = 1448
"""payload of a full packet of a group session, whose frame is as long as TCP's"""
MESSAGE_BYTES = 5_000_000
SECONDS = 100.0
D = 0.1
"""diffusion coefficient, where flows are under diffusion-type flow control"""
LOADS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
HIGH_LOADS = LOADS[2:]
"""loads of studies of overload"""
MEMBERS = (1, 5)
"""members of networks b, c and d in Fig. 6; for other figures the paper gives no number, and 5 are taken"""
DELAYS_MS = (10, 100)
SEEDS = 5
SENDERS = ("ma1", "mb1", "mc1", "md1")
WINDOW = 10_000
"""packets: no limit, as the paper gives none"""

QUICK_SECONDS = 10.0
QUICK_LOADS = (0.2, 0.6, 1.0)
QUICK_SEEDS = 2
QUICK_SECONDS_BEYOND = 5.0
"""and one seed, of methods beyond the paper's: P4 switches take longer"""

MESSAGE_PACKETS = math.ceil(MESSAGE_BYTES / MSS)
TRANSMISSION_S = MESSAGE_PACKETS * FRAME_BYTES * 8 / LINK_BPS
"""tr, the time that the frames of a message take at the links' rate"""


def is_near(member: str) -> bool:
    """Whether a member's network is at SA1, and not at SA2."""
    return member[1] in "ab"


@dataclass(frozen=True)
class Case:
    """One point of a figure."""

    method: Method
    load: float
    senders: Literal[1, 2, 4] = 1
    members: int = 5
    """members of each of the networks b, c and d, with one sender"""
    delay_ms: int = 10
    """delay of the link between the split agents"""
    tcp: Variant = "sack"
    agent_pps: int | None = None
    """packets that an agent handles in a second; None: any number"""
    routers: int = 0
    """P4 switches between the split agents; their links share the delay, and the last one is narrow"""
    diffusion: float | None = None
    """D of the flow control on those switches; None: TCP alone"""
    each_message: bool = False
    """whether each message has connections of its own, instead of all messages those of their stream"""

    @property
    def period_ns(self) -> int:
        """tr + ti, of load = tr / (tr + ti)."""
        return round(TRANSMISSION_S / self.load * 1e9)

    def entry(self, source: str) -> str:
        """The node that sends on a sender's link: its output buffer, or the sender itself."""
        return f"{source}out" if source in self.buffered else source

    @property
    def sources(self) -> tuple[str, ...]:
        return SENDERS[: self.senders]

    def receivers(self, source: str) -> tuple[str, ...]:
        """With one sender all members of the other networks, else member 1 of each other network."""
        if self.senders == 1:
            return tuple(f"m{network}{n}" for network in "bcd" for n in range(1, self.members + 1))
        return tuple(member for member in SENDERS if member != source)

    def overlay(self, source: str) -> dict[str, str]:
        """Of each member, the one that sends to it over TCP, as in Fig. 1: the source sends to two members,
        the second of these to a third, and so on, those on the source's side first."""
        side = is_near(source)
        first, *others = sorted(self.receivers(source), key=lambda member: is_near(member) != side)
        return {first: source} | {member: sender for sender, member in pairwise((source, *others))}

    @property
    def buffered(self) -> tuple[str, ...]:
        """Hosts with an output buffer before their links: those that send."""
        relays = (self.overlay(source).values() for source in self.sources if self.method == "members")
        return tuple(dict.fromkeys((*self.sources, *chain.from_iterable(relays))))


@dataclass(frozen=True)
class Run:
    """One simulation."""

    case: Case
    seed: int
    seconds: float

    @property
    def cost(self) -> float:
        """A number about proportional to the packets that the run moves."""
        case = self.case
        links = 2 + 3 * case.members if case.senders == 1 else 5 * case.senders
        if case.method == "unicast":
            # The sender's link is full, and bounds the packets whatever the number of copies.
            return self.seconds * min(1.0, case.load * len(case.receivers("ma1"))) * 4 * case.senders
        of_p4 = 20 if case.method == "group" else 1
        return self.seconds * case.load * (links + 2 * case.routers) * of_p4


def usual_loads(quick: bool) -> tuple[float, ...]:
    """Loads at which the figures have points."""
    return QUICK_LOADS if quick else LOADS


def high_loads(quick: bool) -> tuple[float, ...]:
    """Loads at which studies of overload have points."""
    return QUICK_LOADS[1:] if quick else HIGH_LOADS
