"""Reads the YAML list of clients that may send, their wants, and the resources that the server divides.

    link: 10mbit
    buffer: 100000 bytes
    clients:
      - {name: cam1, target: 1mbit, priority: 1, token: c0ffee}
      - {name: cam2, target: 500kbit, minimum: 100kbit, token: decade}

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from groupflow import units
from groupflow.control.gather.model import Limits
from groupflow.errors import InvalidError
from groupflow.files import forms
from groupflow.files.forms import Form, refuse
from groupflow.model.client import DEFAULT_CONNECTIONS, Client, ClientName, Connections
from groupflow.model.fields import FiniteRate, Size
from groupflow.model.session import Minimum, Priority

NOTHING = Limits(0, DEFAULT_CONNECTIONS)
LEAST_BUFFER = NOTHING.segment
"""bytes of a client: one connection"""


TOKEN = "^[0-9a-fA-F]{1,255}$"


@dataclass(frozen=True)
class Registered:
    """A client that may send."""

    client: Client
    token_sha256: str = field(repr=False)
    """recognizes the client's token (`token_hash`)"""


@dataclass(frozen=True)
class ClientList:
    """All clients that may send, and the resources that are divided among them."""

    clients: tuple[Registered, ...] = ()
    limits: Limits = NOTHING
    link: int = 0
    """bit/s of the server's link"""


class ClientForm(Form):
    name: ClientName
    target: FiniteRate
    minimum: Minimum = None
    priority: Priority = 0
    token: str = Field(repr=False, pattern=TOKEN, description="1 to 255 hexadecimal digits, in quotes")


class ClientListForm(Form):
    """Clients of `groupflow gather`."""

    link: FiniteRate
    buffer: Size
    connections: Connections = DEFAULT_CONNECTIONS
    clients: list[ClientForm] = forms.some("- {name: cam1, target: 1mbit, token: c0ffee}")


def load(path: Path) -> ClientList:
    """Raises InvalidError."""
    return parse(forms.load_text(path, InvalidError), str(path))


def parse(text: str, source: str) -> ClientList:
    """Raises InvalidError."""
    with forms.naming(source, InvalidError):
        written = forms.read_yaml(text)
        forms.refuse_other("list of clients", written, source)
        form = forms.validate(ClientListForm, written)
        clients: dict[str, Registered] = {}
        for place, each in enumerate(form.clients):
            client = Client(each.name, each.target, each.priority, each.minimum)
            check_client(client, form.link, f"clients[{place}].target", f"clients[{place}].minimum")
            if client.name in clients:
                refuse(f"clients[{place}].name", f"{client.name!r} is there twice; rename one")
            clients[client.name] = Registered(client, token_hash(each.token))
        check_buffer(form.buffer, len(clients))
    return ClientList(tuple(clients.values()), Limits(form.buffer, form.connections), form.link)


def token_hash(token: str) -> str:
    """SHA-256 of a token's digits in lower case: enough to recognize the token, and not the secret itself."""
    return hashlib.sha256(token.lower().encode()).hexdigest()


def check_client(client: Client, link: int, target_key: str, minimum_key: str) -> None:
    """Raises forms.Refused, naming the key."""
    target = units.format_rate(client.target)
    if client.target > link:
        refuse(target_key, f"{target} is beyond the link's {units.format_rate(link)}; write less")
    if client.minimum is not None and client.minimum > client.target:
        minimum = units.format_rate(client.minimum)
        refuse(minimum_key, f"{minimum} is above the target, {target}; write less")


def check_buffer(buffer: int, clients: int) -> None:
    """Raises forms.Refused if the buffer is too small for all clients."""
    least = LEAST_BUFFER * clients
    if buffer < least:
        refuse("buffer", f"{buffer} bytes are too few for {clients} clients; write {least} bytes or more")
