"""`groupflow agent`: all that caches, splits or places, and its bounds, over the controller's REST API."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from groupflow import units
from groupflow.cli.common import Common, Row, answered, call, listed
from groupflow.cli.frame import Given, one_of
from groupflow.errors import UsageError
from groupflow.model.agent import AgentBounds
from groupflow.model.fields import Help, Range, Size
from groupflow.model.values import SessionId

COLUMNS = (
    *("kind", "name", "switch", "at", "state", "streams", "members", "files"),
    *("held", "bound", "repairs", "heard", "problem"),
)


def list_all(common: Common) -> None:
    """List all agents and the bytes that they hold."""
    listed(common, call(common, "GET", "/agents"), COLUMNS, row)


def change(
    common: Common,
    kind: Annotated[Literal["cache", "hub", "rim", "dispatcher"], Help("kind of the agent")],
    name: Annotated[str, Help("name of the agent")],
    *,
    bounds: Annotated[Row, Given(AgentBounds, clearable=("bytes", "rate", "hosts"), changes=True)],
) -> None:
    """Set an agent's bound, which outlives the agent."""
    if not bounds:
        raise UsageError("nothing to set; give --bytes, --rate or --hosts")
    body = {"kind": kind, "name": name, "bounds": bounds}
    found = call(common, "PUT", "/agents/bounds", body=body)
    answered(common, found, {"agent": f"{kind} {name}", "bound": _bound_text({"bounds": found})})


def row(agent: Row) -> Row:
    """An agent for people: the bytes or hosts that it holds, and its bound."""
    return agent | agent["holds"] | {"held": _held(agent), "bound": _bound_text(agent)}


def _held(agent: dict[str, Any]) -> int | None:
    hosts, held = agent["holds"]["hosts"], agent["holds"]["bytes"]
    return held if hosts is None else hosts


def _bound_text(agent: dict[str, Any]) -> str:
    bounds = agent["bounds"]
    if bounds["rate_bps"] is not None:
        return units.format_rate(bounds["rate_bps"])
    if bounds["hosts"] is not None:
        return units.counted(bounds["hosts"], "host")
    each = " a stream" if agent.get("kind") == "cache" else ""
    return "its own" if bounds["bytes"] is None else f"{bounds['bytes']} bytes{each}"


def place(
    common: Common,
    *,
    topology: Annotated[str | None, Help("the network; no controller is needed", "FILE")] = None,
    session: Annotated[SessionId | None, Help("a session of a running controller, with its members")] = None,
    sender: Annotated[tuple[str, ...], Help("host that sends to all members", "HOST")] = (),
    member: Annotated[tuple[str, ...], Help("host that receives", "HOST")] = (),
    agents: Annotated[int, Help("the most agents", "N"), Range(0)],
    candidate: Annotated[tuple[str, ...], Help("switch to choose from (default: all)", "SWITCH")] = (),
    size: Annotated[Size, Help("size of the transfer")] = 5_000_000,
) -> None:
    """Choose the switches where a session's agents cost least."""
    chosen = one_of(topology=topology, session=session)
    if chosen == "topology" and (common.api or common.net):
        raise UsageError("--api and --net belong to --session; leave them out")
    if chosen == "session":
        if sender or member:
            raise UsageError("--sender and --member belong to --topology; leave them out")
        params = {"agents": agents, "size_bytes": size, "candidates": list(candidate)}
        found = call(common, "GET", f"/sessions/{session}/placement", params=params)
    else:
        if not sender or not member:
            raise UsageError("--topology needs --sender and --member; give both")
        from groupflow.files.topology import load
        from groupflow.placement import choose

        network, among = load(topology or ""), list(candidate) or None
        found = asdict(choose(network, list(sender), list(member), agents, candidates=among, size_bytes=size))
    pairs = {
        "agents": list(found["agents"]),
        "link bytes": found["link_bytes"],
        "completion time": f"{found['seconds']:.6g} s",
    }
    answered(common, found, pairs, ("", found["connections"], ("sender", "start", "end")))
