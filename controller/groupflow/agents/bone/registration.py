"""A hub or a rim at a controller: what gfagent holds is reported, and the bound ordered of it."""

import json
from contextlib import AbstractAsyncContextManager

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.bone.options import HubOptions
from groupflow.agents.controller_link import BOUND_OF, ReportingKind, Standing, registered

_BACKLOG = 4096
"""bytes of orders not yet read by gfagent: with more, none is given"""


def bone_registered(agent: AgentProcess, url: str | None) -> AbstractAsyncContextManager[None]:
    """Keeps a hub or a rim registered during the block; it must take orders if there is a controller."""
    kind: ReportingKind = "hub" if isinstance(agent.options, HubOptions) else "rim"
    bound: int | None = None

    def order() -> None:
        """Orders the bound that holds; the answer is an event with the files held."""
        if agent.data_in.transport.get_write_buffer_size() < _BACKLOG:
            agent.data_in.write(json.dumps({BOUND_OF[kind]: bound}).encode() + b"\n")

    def look() -> Standing | None:
        order()
        ready, holds = agent.latest.get("ready"), agent.latest.get("holds")
        if ready is None or holds is None:
            return None
        refused = agent.latest.get("order_refused")
        return Standing(
            at=f"http://{ready.text('http')}/",
            holds={"files": holds.integer("files"), "bytes": holds.integer("bytes")},
            bound=holds.integer("bound"),
            problem=refused.text("text") if refused and refused.time > holds.time else None,
        )

    def obey(wanted: int | None) -> None:
        nonlocal bound
        if wanted != bound:
            bound = wanted
            order()

    return registered(url, kind, agent.options.name, look, obey)
