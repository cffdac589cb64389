"""A controlled flow as a request, and as it is stored."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

from groupflow.control.diffusion.coefficients import parse_number
from groupflow.control.sessions.model import Codec

Kind: TypeAlias = Literal["flow", "session", "link"]
Protocol: TypeAlias = Literal["tcp", "udp"]
PROTOCOLS = {"tcp": 6, "udp": 17}
DEFAULT_D, DEFAULT_ALPHA = "0.1", "1"
DEFAULT_PACKET_BYTES = 1514
"""size of the packets in which a link's packets/s are counted; the traffic manager's default, too"""


@dataclass(frozen=True)
class FlowRequest:
    """A request for the control of a flow: the packets, and the control's parameters."""

    kind: Kind
    src: str | None = None
    """flow: the sending host; link: the switch at its near end"""
    dst: str | None = None
    """flow: the receiving host; link: the switch at its far end"""
    protocol: Protocol | None = None
    src_port: int | None = None
    dst_port: int | None = None
    session: int | None = None
    source: int | None = None
    """session: the sender's member id; None: its only sender"""
    d: str = DEFAULT_D
    alpha: str = DEFAULT_ALPHA
    external: bool = False
    """the sending host shapes its packets to eq. 9's rate"""
    packet_bytes: int = DEFAULT_PACKET_BYTES

    @property
    def d_value(self) -> Fraction:
        return parse_number(self.d, "D")

    @property
    def alpha_value(self) -> Fraction:
        return parse_number(self.alpha, "alpha")

    @property
    def name(self) -> str:
        """The flow's name in messages."""
        if self.kind == "session":
            return f"session {self.session} of {self.source}"
        if self.kind == "link":
            return f"link {self.src}-{self.dst}"
        ports = [f"{self.src}", f"{self.dst}"]
        for at, port in enumerate((self.src_port, self.dst_port)):
            ports[at] += f":{port}" if port is not None else ""
        return f"{ports[0]} to {ports[1]}" + (f" {self.protocol}" if self.protocol else "")


@dataclass(frozen=True)
class FlowRecord:
    """A controlled flow, as stored."""

    flow: int
    request: FlowRequest
    delays: dict[str, int] = field(default_factory=dict[str, int])
    """measured link delays in ns, by the names of the two switches"""


FLOWS = Codec("diffusion", TypeAdapter(FlowRecord))


def link_key(one: str, other: str) -> str:
    return "-".join(sorted((one, other)))
