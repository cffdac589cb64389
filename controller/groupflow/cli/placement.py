"""`groupflow agent place`: the best switches for a session's agents."""

from dataclasses import asdict
from typing import Annotated, Any

from groupflow.cli.common import Common, print_pairs, print_table
from groupflow.cli.frame import one_of
from groupflow.cli.rest import call, print_json
from groupflow.errors import UsageError
from groupflow.model.fields import Help, Range, Size
from groupflow.model.values import SessionId


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
    more: dict[str, Any] = {"size_bytes": size}
    if chosen == "topology" and (common.api or common.net):
        raise UsageError("--api and --net belong to --session; leave them out")
    if chosen == "session":
        if sender or member:
            raise UsageError("--sender and --member belong to --topology; leave them out")
        params = {"agents": agents, **more} | ({"candidates": list(candidate)} if candidate else {})
        found = call(common, "GET", f"/sessions/{session}/placement", params=params)
    else:
        if not sender or not member:
            raise UsageError("--topology needs --sender and --member; give both")
        found = _computed(topology or "", list(sender), list(member), agents, list(candidate) or None, more)
    if common.json:
        print_json(found)
    else:
        _print(found)


def _computed(
    topology: str,
    senders: list[str],
    members: list[str],
    agents: int,
    candidates: list[str] | None,
    more: dict[str, Any],
) -> dict[str, Any]:
    from groupflow.files.topology import load
    from groupflow.placement import choose

    return asdict(choose(load(topology), senders, members, agents, candidates=candidates, **more))


def _print(found: dict[str, Any]) -> None:
    print_pairs(
        {
            "agents": list(found["agents"]),
            "link bytes": found["link_bytes"],
            "completion time": f"{found['seconds']:.6g} s",
        }
    )
    print()
    print_table(found["connections"], ("sender", "start", "end"))
