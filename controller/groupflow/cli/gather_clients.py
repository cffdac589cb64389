"""`groupflow client`, and the settings of `groupflow gather`: receiver-side tuning, over REST."""

import re
import secrets
from pathlib import Path
from typing import Annotated, TypeAlias

from groupflow import units
from groupflow.cli.common import Common, Row, answered, call, listed
from groupflow.cli.frame import Given, token_in
from groupflow.errors import InvalidError, UsageError
from groupflow.model.client import Client, GatherSettings
from groupflow.model.fields import Help

COLUMNS = (
    *("name", "priority", "target", "throughput", "met", "rtt_ms", "loss_ratio"),
    *("window", "advertised", "connections", "wanted", "bytes"),
)

Name: TypeAlias = Annotated[str, Help("name of the client")]


def show(common: Common) -> None:
    """Show the policy, the limits and the server."""
    answered(common, call(common, "GET", "/gather"))


def change_settings(common: Common, *, settings: Annotated[Row, Given(GatherSettings, changes=True)]) -> None:
    """Change the policy and the limits, while clients send."""
    if not settings:
        raise UsageError("nothing to change; give --policy, --link, --buffer or --connections")
    answered(common, call(common, "PATCH", "/gather", body=settings))


def list_all(common: Common) -> None:
    """List clients with their targets and throughputs."""
    listed(common, call(common, "GET", "/gather/clients"), COLUMNS, client_row)


def create(
    common: Common,
    name: Name,
    *,
    targets: Annotated[Row, Given(Client, clearable=("minimum",), required=("target",))],
    token_file: Annotated[
        Path | None,
        Help("file with the client's token (default: a new token, which is printed once)", "FILE"),
    ] = None,
) -> None:
    """Let a client send, and print its token."""
    from groupflow.control.gather.clients import TOKEN, token_hash

    # The token stays here: the controller and the server know only its hash.
    token = token_in(token_file) if token_file else secrets.token_hex(16)
    if not re.fullmatch(TOKEN, token):
        raise InvalidError(f"--token-file {token_file}: no token; write 1 to 255 hexadecimal digits")
    body = {"name": name, "token_sha256": token_hash(token), **targets}
    added = call(common, "POST", "/gather/clients", body=body)
    if token_file is None:
        added["token"] = token
    answered(common, added, {"client": added["name"], "token": "as in the file" if token_file else token})


def change(
    common: Common,
    name: Name,
    *,
    targets: Annotated[Row, Given(Client, clearable=("minimum",), changes=True)],
) -> None:
    """Change the targets of a client while it sends."""
    if not targets:
        raise UsageError("nothing to change; give --target, --minimum or --priority")
    answered(common, call(common, "PATCH", f"/gather/clients/{name}", body=targets))


def delete(common: Common, name: Name) -> None:
    """Let a client send no more, and end its stream."""
    call(common, "DELETE", f"/gather/clients/{name}")


def client_row(client: Row) -> Row:
    """A client's view with rates for people."""
    return client | {
        "target": units.format_rate(client["target_bps"]),
        "throughput": units.show_rate(client["throughput_bps"]),
    }
