"""Clients that send to a server which tunes them, in virtual time: the policies of
`groupflow.control.gather` on simulated hosts.

A client's stream is greedy. It goes over as many TCP connections (stripes) as the policy says; a stripe that
is closed sends no new bytes, one that is opened starts slowly. The server measures as a real one does:
bytes in sequence, round trips by the timestamps that come back, packets that were missing when later ones
came.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from groupflow.control.gather.model import ROUND_S, Client, Limits, Policy, Reading, Setting
from groupflow.sim.model import SECOND, Flow, Scenario, TcpTraffic
from groupflow.sim.runner import Progress, build

if TYPE_CHECKING:
    from groupflow._native import NativeSim

ROUND_NS = round(ROUND_S * SECOND)
KERNEL_WINDOW = 4 << 20
"""bytes that a receiver advertises where the kernel decides: more than any of these networks holds"""
_STEP_MS = 100
_NOTHING = Setting(None, 1)
"""the setting of a client that has been given none"""


@dataclass(frozen=True)
class Sender:
    """A client of the server, and its host."""

    client: Client
    host: str
    start_s: float = 0.0
    stop_s: float = float("inf")


@dataclass(frozen=True)
class Gathering:
    """The server, its clients, and the policy that tunes them."""

    senders: tuple[Sender, ...]
    server: str
    """the server's host"""
    traffic: TcpTraffic
    """settings of every stripe"""
    limits: Limits
    policy: Policy[Any]
    stretches: Sequence[tuple[float, str, str, int]] = ()
    """links that become longer: time of the change (s), both nodes, and the delay after it (ns)"""


@dataclass(frozen=True)
class Round:
    """Measurements of a client in a round, and its setting for the next one."""

    end_s: float
    client: str
    reading: Reading
    setting: Setting


@dataclass
class _Stream:
    """The state of a client from round to round."""

    open: set[int] = field(default_factory=set[int])
    used: set[int] = field(default_factory=set[int])
    totals: dict[int, tuple[int, int, int]] = field(default_factory=dict[int, tuple[int, int, int]])
    setting: Setting = _NOTHING
    rtt: float | None = None
    timeout: float | None = None


def stripe(client: str, number: int) -> str:
    """The flow name of one of a client's connections."""
    return f"{client}-{number}"


def with_stripes(scenario: Scenario, gathering: Gathering) -> Scenario:
    """The scenario with all connections that clients may have."""
    traffic = replace(gathering.traffic, receive_window=KERNEL_WINDOW, on_demand=True)
    stripes = tuple(
        Flow(stripe(sender.client.name, number), sender.host, gathering.server, traffic)
        for sender in gathering.senders
        for number in range(gathering.limits.connections)
    )
    return replace(scenario, flows=(*scenario.flows, *stripes))


def run(
    scenario: Scenario, gathering: Gathering, progress: Callable[[Progress], None] | None = None
) -> tuple[list[Round], int]:
    """Runs to the end. Returns rounds of all clients by time, and packet hops. Raises ScenarioError."""
    sim = build(with_stripes(scenario, gathering))
    server = _Server(sim, gathering)
    rounds: list[Round] = []
    now_ns = 0
    server.tune(0.0)
    while now_ns < scenario.duration_ns:
        until_ns = min(now_ns + ROUND_NS, scenario.duration_ns)
        while now_ns < until_ns:
            now_ns, hops, _ = sim.step(_STEP_MS, until_ns)
            if progress is not None:
                progress(Progress(scenario.name, now_ns, scenario.duration_ns, hops, 0.0))
        rounds += server.tune(now_ns / SECOND)
    return rounds, sim.hops()


class _Server:
    """Measures the clients, asks the policy, and applies its settings."""

    def __init__(self, sim: "NativeSim", gathering: Gathering) -> None:
        self._sim = sim
        self._gathering = gathering
        self._streams = {sender.client.name: _Stream() for sender in gathering.senders}
        self._state: Any = None
        self._stretches = sorted(gathering.stretches)
        self._mss = replace(gathering.traffic, receive_window=KERNEL_WINDOW).mss

    def tune(self, now_s: float) -> list[Round]:
        """Ends a round and begins the next one."""
        while self._stretches and self._stretches[0][0] <= now_s:
            _, a, b, delay_ns = self._stretches.pop(0)
            self._sim.lengthen_link(a, b, delay_ns)
        here: list[Client] = []
        readings: dict[str, Reading] = {}
        for sender in self._gathering.senders:
            name = sender.client.name
            reading = self._read(name)  # of every client: bytes in flight of one that left still arrive
            if sender.start_s <= now_s < sender.stop_s:
                here.append(sender.client)
                readings[name] = reading
            elif self._streams[name].open:
                self._close(name)
        self._state, settings = self._gathering.policy.tune(
            self._state, here, readings, self._gathering.limits
        )
        for client in here:
            self._set(client.name, settings[client.name])
        return [Round(now_s, c.name, readings[c.name], settings[c.name]) for c in here]

    def _read(self, client: str) -> Reading:
        stream = self._streams[client]
        trips: list[int] = []
        timeouts: list[int] = []
        news = [0, 0, 0]
        for number in sorted(stream.used):
            *totals, trip, timeout = self._sim.read_receiver(stripe(client, number))
            before = stream.totals.get(number, (0, 0, 0))
            news = [new + now - then for new, now, then in zip(news, totals, before, strict=True)]
            stream.totals[number] = (totals[0], totals[1], totals[2])
            if number in stream.open:
                trips += [] if trip is None else [trip]
                timeouts += [] if timeout is None else [timeout]
        delivered, arrived, missing = news
        stream.rtt = _mean_s(trips, stream.rtt)
        stream.timeout = _mean_s(timeouts, stream.timeout)
        return Reading(
            throughput=delivered * 8 / ROUND_S,
            rtt=stream.rtt,
            window=stream.setting.window,
            connections=len(stream.open),
            loss=missing / (arrived + missing) if missing else 0.0,
            timeout=stream.timeout,
        )

    def _set(self, client: str, setting: Setting) -> None:
        stream = self._streams[client]
        stream.setting = setting
        wanted = set(range(setting.connections))
        for number, window in enumerate(_windows(setting, self._mss)):
            self._sim.set_receive_window(stripe(client, number), window)
        for number in sorted(wanted - stream.open):
            self._sim.resume_flow(stripe(client, number))
        for number in sorted(stream.open - wanted):
            self._sim.pause_flow(stripe(client, number))
        stream.open = wanted
        stream.used |= wanted

    def _close(self, client: str) -> None:
        stream = self._streams[client]
        for number in sorted(stream.open):
            self._sim.pause_flow(stripe(client, number))
        stream.open = set()
        stream.setting = _NOTHING


def _windows(setting: Setting, mss: int) -> list[int]:
    """Windows of the stripes: a client's buffer in whole segments, as equal as possible."""
    if setting.window is None:
        return [KERNEL_WINDOW] * setting.connections
    each, more = divmod(setting.window // mss, setting.connections)
    return [mss * (each + (number < more)) for number in range(setting.connections)]


def _mean_s(times_ns: Sequence[int], before: float | None) -> float | None:
    return sum(times_ns) / len(times_ns) / SECOND if times_ns else before
