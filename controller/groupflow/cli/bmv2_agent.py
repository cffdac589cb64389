"""`groupflow switch bmv2-agent`: the rate agent beside a BMv2 switch."""

import socket
from typing import TYPE_CHECKING, Annotated, Any

from groupflow.cli.common import Common
from groupflow.cli.rest import api_of, check, client, unreachable
from groupflow.errors import Error, reason
from groupflow.model.fields import Help
from groupflow.model.values import FarAddress

if TYPE_CHECKING:
    import httpx

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
    import httpx

    from groupflow.control.diffusion.bmv2_agent import RateAgent
    from groupflow.control.diffusion.thrift_client import ThriftClient

    api = api_of(common)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        try:
            wire.bind((iface, _ETH_P_ALL))
        except OSError as error:
            raise Error(f"--iface {iface}: {reason(error)}; name a veth, as root") from None
        agent = RateAgent(ThriftClient(*thrift), wire.send)
        print(f"groupflow bmv2-agent ready switch={switch}", flush=True)
        try:
            with client(api) as http:
                agent.run(lambda: _wanted(switch, http), _REFRESH_NS)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise unreachable(api, error) from None


def _wanted(switch: str, http: "httpx.Client") -> tuple[list[Any], list[Any]]:
    """The switch's controlled queues and ticks, asked of the controller. Raises Error and httpx.HTTPError."""
    from groupflow.control.diffusion.bmv2_agent import RegisterCell, Tick

    answer = http.get(f"/diffusion/switches/{switch}")
    check(answer)
    body = answer.json()
    cells = [RegisterCell(cell["port"], cell["queue"], cell["line_rate"]) for cell in body["cells"]]
    ticks = [Tick(tick["period_ns"], bytes.fromhex(tick["frame"])) for tick in body["ticks"]]
    return cells, ticks
