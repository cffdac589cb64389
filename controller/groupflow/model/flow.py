"""Flows under diffusion-type flow control as users describe them: packets, and parameters of the control."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

from groupflow import units
from groupflow.model.fields import Help, Port, Range

Kind: TypeAlias = Literal["flow", "session", "link"]
Protocol: TypeAlias = Literal["tcp", "udp"]


@dataclass(frozen=True, kw_only=True)
class FlowSettings:
    """The packets between two hosts that are the flow, and the parameters of the control."""

    protocol: Annotated[Protocol | None, Help("protocol of the flow; none: any")] = None
    src_port: Annotated[Port | None, Help("port of the sending host; none: any", "PORT")] = None
    dst_port: Annotated[Port | None, Help("port of the receiving host; none: any", "PORT")] = None
    d: Annotated[str, Help("diffusion coefficient D, a decimal or a fraction", "NUMBER")] = "0.1"
    alpha: Annotated[str, Help("flow intensity multiplier, from 1 to 2", "NUMBER")] = "1"
    external: Annotated[
        bool, Help("whether the sending host shapes its packets to the rate that it hears (eq. 9)")
    ] = False
    packet_bytes: Annotated[
        int, Help("size of a nominal packet, in which rates are counted", "BYTES"), Range(64, 9216)
    ] = 1514
    measure: Annotated[
        bool, Help("whether the delays of the links are measured first; otherwise those of the topology hold")
    ] = field(default=True, compare=False)


@dataclass(frozen=True, kw_only=True)
class FlowRequest(FlowSettings):
    """A flow between hosts, a session's stream, or a link as a whole."""

    kind: Annotated[Kind, Help("kind of what is controlled")]
    src: Annotated[str | None, Help("flow: the sending host; link: the switch at its near end", "NODE")] = (
        None
    )
    dst: Annotated[str | None, Help("flow: the receiving host; link: the switch at its far end", "NODE")] = (
        None
    )
    session: Annotated[int | None, Help("number of the session", "SESSION")] = None
    source: Annotated[
        int | None, Help("member that sends the stream; none: the session's only sender", "MEMBER")
    ] = None

    @property
    def d_value(self) -> Fraction:
        """Raises UnitError."""
        return units.parse_number(self.d, "D")

    @property
    def alpha_value(self) -> Fraction:
        """Raises UnitError."""
        return units.parse_number(self.alpha, "alpha")

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
