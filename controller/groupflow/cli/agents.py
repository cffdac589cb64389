"""`groupflow agent`: all that caches, splits or places, and its bounds, over the controller's REST API."""

from typing import Annotated, Any, Literal

from groupflow import units
from groupflow.cli.common import Common
from groupflow.cli.frame import Given
from groupflow.cli.rest import Row, answered, call, listed
from groupflow.errors import UsageError
from groupflow.model.agent import AgentBounds
from groupflow.model.fields import Help

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
        return f"{bounds['hosts']} hosts"
    each = " a stream" if agent.get("kind") == "cache" else ""
    return "its own" if bounds["bytes"] is None else f"{bounds['bytes']} bytes{each}"
