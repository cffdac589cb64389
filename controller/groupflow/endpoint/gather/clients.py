"""Reads the YAML list of clients that may send, their wants, and the resources that the server divides.

    link: 10mbit
    buffer: 100000 bytes
    clients:
      - {name: cam1, target: 1mbit, priority: 1, token: c0ffee}
      - {name: cam2, target: 500kbit, minimum: 100kbit, token: decade}

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from groupflow.network import forms, units
from groupflow.network.forms import FINITE_RATE, Bytes, FiniteRate, Form, number, refuse
from groupflow.tuning.model import Client, Limits

MOST_CONNECTIONS = 64
"""of a client; gfagent's default"""
DEFAULT_CONNECTIONS = 16
LEAST_BUFFER = Limits(0).segment
"""bytes of a client: one connection"""


class ClientListError(ValueError):
    """A list of clients that cannot be used: one line naming the file, the key and the cure."""


@dataclass(frozen=True)
class Registered:
    """A client that may send."""

    client: Client
    token: str = field(repr=False)


@dataclass(frozen=True)
class ClientList:
    """All clients that may send, and the resources that are divided among them."""

    clients: tuple[Registered, ...]
    limits: Limits
    link: int
    """bit/s of the server's link"""


class ClientForm(Form):
    name: str = Field(
        pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$",
        description="1 to 64 letters, digits, '.', '_' or '-', not '.' first",
    )
    target: FiniteRate
    minimum: Annotated[int | None, FINITE_RATE] = None
    priority: int = number(0, 1000, 0)
    token: str = Field(
        repr=False, pattern="^[0-9a-fA-F]{1,255}$", description="1 to 255 hexadecimal digits, in quotes"
    )


class ClientListForm(Form):
    """Clients of `groupflow gather`."""

    link: FiniteRate
    buffer: Bytes
    connections: int = number(1, MOST_CONNECTIONS, DEFAULT_CONNECTIONS)
    clients: list[ClientForm] = forms.some("- {name: cam1, target: 1mbit, token: c0ffee}")


def load(path: Path) -> ClientList:
    """Raises ClientListError."""
    return parse(forms.load_text(path, ClientListError), str(path))


def parse(text: str, source: str) -> ClientList:
    """Raises ClientListError."""
    with forms.naming(source, ClientListError):
        form = forms.parse(ClientListForm, text)
        names: set[str] = set()
        for place, client in enumerate(form.clients):
            _check(f"clients[{place}]", client, form.link)
            if client.name in names:
                refuse(f"clients[{place}].name", f"{client.name!r} is there twice; rename one")
            names.add(client.name)
        least = LEAST_BUFFER * len(names)
        if form.buffer < least:
            few = f"{form.buffer} bytes are too few for {len(names)} clients"
            refuse("buffer", f"{few}; write {least} bytes or more")
    clients = (
        Registered(Client(each.name, each.target, each.priority, each.minimum), each.token)
        for each in form.clients
    )
    return ClientList(tuple(clients), Limits(form.buffer, form.connections), form.link)


def _check(key: str, client: ClientForm, link: int) -> None:
    target = units.format_rate(client.target)
    if client.target > link:
        refuse(f"{key}.target", f"{target} is beyond the link's {units.format_rate(link)}; write less")
    if client.minimum is not None and client.minimum > client.target:
        minimum = units.format_rate(client.minimum)
        refuse(f"{key}.minimum", f"{minimum} is above the target, {target}; write less")
