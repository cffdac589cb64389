"""A controlled flow as it is stored."""

from dataclasses import dataclass, field

from pydantic import TypeAdapter

from groupflow.control.sessions.model import Codec
from groupflow.model.flow import FlowRequest

PROTOCOLS = {"tcp": 6, "udp": 17}


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
