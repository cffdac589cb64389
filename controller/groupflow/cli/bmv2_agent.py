"""`groupflow switch bmv2-agent`: the rate agent beside a BMv2 switch."""

import socket
from typing import TYPE_CHECKING, Annotated, Any

from groupflow.cli.common import Common
from groupflow.cli.rest import client
from groupflow.errors import Error, reason
from groupflow.model.fields import Help
from groupflow.model.values import FarAddress

if TYPE_CHECKING:
    from groupflow.api import Client

_ETH_P_ALL = 0x0003
_REFRESH_NS = 500_000_000
"""between two questions to the controller"""


def run(
    common: Common,
    switch: Annotated[str, Help("name of the switch in the topology", "SWITCH")],
    *,
    thrift: Annotated[FarAddress, Help("address of BMv2's Thrift server (--thrift-port)")],
    iface: Annotated[str, Help("far end of the veth pair at BMv2's port 0")],
) -> None:
    """Give BMv2 the ticks and queue rates of diffusion-type flow control, until Ctrl-C."""
    from groupflow.control.diffusion.bmv2_agent import RateAgent
    from groupflow.control.diffusion.thrift_client import ThriftClient

    try:
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        wire.bind((iface, _ETH_P_ALL))
    except OSError as error:
        raise Error(f"--iface {iface}: {reason(error)}; name a veth, as root") from None
    with wire, client(common) as api:
        agent = RateAgent(ThriftClient(*thrift), wire.send)
        print(f"groupflow bmv2-agent ready switch={switch}", flush=True)
        agent.run(lambda: _wanted(switch, api), _REFRESH_NS)


def _wanted(switch: str, api: "Client") -> tuple[list[Any], list[Any]]:
    """The switch's controlled queues and ticks, asked of the controller. Raises Error."""
    from groupflow.control.diffusion.bmv2_agent import RegisterCell, Tick

    body = api.request("GET", f"/diffusion/switches/{switch}")
    cells = [RegisterCell(cell["port"], cell["queue"], cell["line_rate"]) for cell in body["cells"]]
    ticks = [Tick(tick["period_ns"], bytes.fromhex(tick["frame"])) for tick in body["ticks"]]
    return cells, ticks
