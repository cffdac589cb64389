"""Results of a run of the demo. `Report.to_json` is out/demo/report.json."""

from dataclasses import asdict, dataclass, field

from groupflow.lab.measure import LinkUse, SwitchHealth


@dataclass(frozen=True)
class Sample:
    seconds: float
    """time since the sender's first packet"""
    bytes: int


@dataclass(frozen=True)
class ReceiverResult:
    name: str
    ok: bool
    """whether the file is complete, with the sender's SHA-256"""
    seconds: float | None
    """from the sender's first packet to the last byte in this receiver's file; None: never"""
    goodput_bps: int
    repaired_packets: int
    sha256: str = ""
    error: str = ""
    """why the receiver is not `ok`"""
    series: tuple[Sample, ...] = ()


@dataclass(frozen=True)
class AgentResult:
    name: str
    cache_peak_bytes: int
    """most bytes held at once that some branch had not acknowledged"""
    repairs: int
    repairs_unicast: int
    repairs_multicast: int
    requests: int
    """repair requests received"""


@dataclass(frozen=True)
class SenderResult:
    name: str
    seconds: float
    """time from its first packet to the last byte acknowledged by the whole group"""
    packets: int
    retransmitted: int
    nacks: int
    """repair requests that no cache could answer"""


@dataclass(frozen=True)
class Baseline:
    """The same topology with one TCP connection for each receiver."""

    file_bytes: int
    seconds: float
    """time until the last receiver had the whole file"""
    receiver_seconds: dict[str, float]
    links: tuple[LinkUse, ...]
    health: tuple[SwitchHealth, ...]
    congestion_control: str = "cubic"
    note: str = ""

    @property
    def cpu_bound(self) -> bool:
        return any(switch.cpu_bound for switch in self.health)

    def to_json(self) -> dict[str, object]:
        return {
            "file_bytes": self.file_bytes,
            "seconds": round(self.seconds, 3),
            "links": [link.to_json() for link in self.links],
            "receiver_seconds": {name: round(s, 3) for name, s in self.receiver_seconds.items()},
            "cpu_bound": self.cpu_bound,
            "congestion_control": self.congestion_control,
            "note": self.note,
        }


@dataclass(frozen=True)
class Parameters:
    """Parameters of the run; rates in bit/s, loss as a fraction."""

    topology: str
    file: str
    file_bytes: int
    sha256: str
    members: int
    mode: str
    policy: str
    switch: str
    loss: float
    rate_bps: int
    """rate of the network's links; with BMv2, of the sender"""
    delay_ms: float
    """delay of the link between the split agents"""
    started: str
    """date and time, ISO 8601"""


@dataclass(frozen=True)
class Report:
    parameters: Parameters
    receivers: tuple[ReceiverResult, ...]
    sender: SenderResult | None
    links: tuple[LinkUse, ...]
    agents: tuple[AgentResult, ...]
    health: tuple[SwitchHealth, ...]
    baseline: Baseline | None
    ideal_seconds: float
    """file size over link rate, plus the longest path's delay"""
    notes: tuple[str, ...] = field(default=())
    """remarks that a reader needs to judge the figures"""

    @property
    def cpu_bound(self) -> bool:
        return any(switch.cpu_bound for switch in self.health)

    @property
    def cpu_bound_at_all(self) -> bool:
        """Whether a switch was CPU-bound, in the transfer or in the TCP baseline."""
        return self.cpu_bound or (self.baseline is not None and self.baseline.cpu_bound)

    @property
    def slowest_seconds(self) -> float | None:
        """Time when the last receiver was complete; None: some never were."""
        times = [receiver.seconds for receiver in self.receivers]
        return max((time for time in times if time is not None), default=None) if None not in times else None

    def problems(self) -> list[str]:
        """Reasons why this run failed, one line each; empty if it did not."""
        found = [f"{receiver.name}: {receiver.error}" for receiver in self.receivers if not receiver.ok]
        found += _cpu_problems(self.health, "the transfer")
        if self.baseline is not None:
            found += _cpu_problems(self.baseline.health, "the TCP baseline")
        return found

    def to_json(self) -> dict[str, object]:
        parameters = self.parameters
        return {
            "file_bytes": parameters.file_bytes,
            "mode": parameters.mode,
            "loss": parameters.loss,
            "switch": parameters.switch,
            "receivers": [_receiver_json(receiver) for receiver in self.receivers],
            "links": [link.to_json() for link in self.links],
            "agents": [asdict(agent) for agent in self.agents],
            "baseline": self.baseline.to_json() if self.baseline else None,
            "cpu_bound": self.cpu_bound_at_all,
            "sender": asdict(self.sender) if self.sender else None,
            "seconds": self.slowest_seconds,
            "ideal_seconds": round(self.ideal_seconds, 3),
            "parameters": asdict(parameters),
            "switches": [asdict(switch) for switch in self.health],
            "problems": self.problems(),
            "notes": list(self.notes),
        }


def _receiver_json(receiver: ReceiverResult) -> dict[str, object]:
    form = asdict(receiver)
    form["seconds"] = None if receiver.seconds is None else round(receiver.seconds, 3)
    form["series"] = [[round(sample.seconds, 3), sample.bytes] for sample in receiver.series]
    return form


def _cpu_problems(health: tuple[SwitchHealth, ...], when: str) -> list[str]:
    return [
        f"CPU-bound: {switch.name} could not keep its schedule during {when} ({switch.detail}); "
        "lower RATE or MEMBERS, or end other programs"
        for switch in health
        if switch.cpu_bound
    ]
