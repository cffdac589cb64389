"""`groupflow flow`: flows under diffusion-type flow control, over the controller's REST API."""

import sys
from typing import Annotated, TypeAlias

from groupflow.cli.common import Common, Row, answered, call, listed, print_json, print_table
from groupflow.cli.frame import Given, one_of
from groupflow.errors import UsageError
from groupflow.model.fields import Help
from groupflow.model.flow import FlowSettings
from groupflow.model.values import SessionId

FLOW_COLUMNS = ("flow", "kind", "name", "d", "alpha", "path", "warning")
HOP_COLUMNS = ("switch", "to", "port", "queue", "delay", "delay_from", "d_i", "d_i_error", "period")

Flow: TypeAlias = Annotated[int, Help("number of the controlled flow", "FLOW")]


def list_all(common: Common) -> None:
    """List the controlled flows."""
    listed(common, call(common, "GET", "/diffusion"), FLOW_COLUMNS, _row)


def show(common: Common, flow: Flow) -> None:
    """Show a flow and its hops."""
    _print_flow(common, call(common, "GET", f"/diffusion/{flow}"))


def create(
    common: Common,
    *,
    flow: Annotated[
        tuple[str, str] | None, Help("control the packets from one host to another", "HOST")
    ] = None,
    session: Annotated[SessionId | None, Help("control the stream of a session, down its tree")] = None,
    link: Annotated[
        tuple[str, str] | None, Help("control all packets from one switch to the next", "SWITCH")
    ] = None,
    source: Annotated[
        int | None, Help("member that sends in the session (default: the only sender)", "MEMBER")
    ] = None,
    settings: Annotated[Row, Given(FlowSettings)],
) -> None:
    """Control a flow, a session or a link."""
    kind = one_of(flow=flow, session=session, link=link)
    rule = next((name for name in ("protocol", "src_port", "dst_port") if name in settings), None)
    if kind != "flow" and rule:
        raise UsageError(f"--{rule.replace('_', '-')} belongs to --flow; leave it out")
    if kind != "session" and source is not None:
        raise UsageError("--source belongs to --session; leave it out")
    body = {"kind": kind, **settings}
    if kind == "session":
        body |= {"session": session} | ({} if source is None else {"source": source})
    else:
        body["src"], body["dst"] = flow or link or ("", "")
    found = call(common, "POST", "/diffusion", body)
    if found["warning"]:
        print(f"groupflow: warning: {found['warning']}", file=sys.stderr)
    _print_flow(common, found)


def delete(common: Common, flow: Flow) -> None:
    """End the control of a flow."""
    call(common, "DELETE", f"/diffusion/{flow}")


def delays(common: Common) -> None:
    """Measure the delays of the links between switches."""
    found = call(common, "GET", "/diffusion/delays")
    if common.json:
        print_json(found)
    else:
        print_table([{"link": name, "delay": delay} for name, delay in found.items()], ("link", "delay"))


def _row(flow: Row) -> Row:
    return flow | {"path": " ".join(f"{hop['switch']}>{hop['to']}" for hop in flow["hops"])}


def _print_flow(common: Common, flow: Row) -> None:
    pairs = {name: value for name, value in flow.items() if name != "hops"}
    hops = [{k: round(v, 4) if isinstance(v, float) else v for k, v in hop.items()} for hop in flow["hops"]]
    answered(common, flow, pairs, ("", hops, HOP_COLUMNS))
