"""The cases, for real packets and for netsim, and the figures that compare them."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from experiments.common.beside import apart
from groupflow.agents.bone.options import Method, Repair
from groupflow.files import variants
from groupflow.model.topology import Topology

HUB, RIMS = "hub", ("r1", "r2", "r3")
RATE_BPS = 900_000
"""rate of the hub's packets with all headers: a tenth less than the link carries"""
PACKET = 1000
PER_ROUND = 64
JOIN_MS, RESULT_MS, GRACE_MS = 1000, 1000, 200
"""waits of the hub; a round trip is half a second"""
HEADERS, SESSION_HEADER = 14 + 20 + 8 + 22, 24
"""bytes of a frame besides its payload, and bytes that a session adds"""

Where: TypeAlias = Literal["kernel", "netsim"]


@dataclass(frozen=True)
class Case:
    """The method of sending a file."""

    method: Method
    repair: Repair

    @property
    def title(self) -> str:
        return f"{self.method}, {self.repair}"

    @property
    def interval_ns(self) -> int:
        """Time from one packet to the next, as `gfagent bone-hub --rate` computes it."""
        session = 0 if self.method == "unicast" else SESSION_HEADER
        return (PACKET + HEADERS + session) * 8 * 10**9 // RATE_BPS


@dataclass(frozen=True)
class Plan:
    """The file, the cases, and the number of runs."""

    cases: tuple[Case, ...]
    size: int
    """bytes of the file"""
    real_runs: int
    """runs of each case"""
    simulated_runs: int
    seed: int


@dataclass(frozen=True)
class Transfer:
    """One transfer of the file, as its hub saw it."""

    where: Where
    case: Case
    seconds: float
    """time from the first signal until the hub knew the end"""
    again: float
    """bytes sent again over the file's bytes; of unicast, those to all rims"""
    rounds: int
    complete: int
    """rims that reported the whole file"""


@dataclass(frozen=True)
class Comparison:
    """A quantity of a case, as the mean over its runs."""

    case: Case
    quantity: str
    kernel: float
    netsim: float
    runs: int
    """number of runs on real packets"""
    spread: float
    """standard deviation of netsim's runs"""

    @property
    def difference(self) -> float:
        return apart(self.kernel, self.netsim)

    @property
    def plausible(self) -> bool:
        """Whether so few runs of netsim's could have this mean: it is within two standard errors."""
        return abs(self.kernel - self.netsim) <= 2 * self.spread / self.runs**0.5


ALL = tuple(Case(method, repair) for method in get_args(Method) for repair in get_args(Repair))
FEW = (Case("scheduled", "go-back-n"), Case("scheduled", "selective"), Case("unicast", "selective"))


def full(seed: int) -> Plan:
    return Plan(ALL, size=200_000, real_runs=5, simulated_runs=100, seed=seed)


def quick(seed: int) -> Plan:
    return Plan(FEW, size=60_000, real_runs=1, simulated_runs=20, seed=seed)


def topology() -> Topology:
    return variants.named("satellite")


def again(case: Case, size: int, sent: int) -> float:
    """The share of a file's bytes that was sent again."""
    return sent / size - (len(RIMS) if case.method == "unicast" else 1)
