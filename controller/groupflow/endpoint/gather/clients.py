"""Reads the YAML list of clients, the target of each, and the link and buffer that they share.

    link: 10mbit
    buffer: 100000 bytes
    clients:
      - {name: cam1, target: 1mbit, priority: 1, token: c0ffee}
      - {name: cam2, target: 500kbit, minimum: 100kbit, token: decade}

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from groupflow.network import units
from groupflow.network.forms import FormReader, Map
from groupflow.tuning.model import Client, Limits

MOST_CONNECTIONS = 64
"""connections of a client; gfagent's default"""
DEFAULT_CONNECTIONS = 16
LEAST_BUFFER = Limits(0).segment
"""bytes of buffer that a client needs at least: one connection"""
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_TOKEN = re.compile(r"[0-9a-fA-F]{1,255}")
_NAME_RULE = "write 1 to 64 letters, digits, '.', '_' or '-', not '.' first"
_KEYS = ("name", "target", "minimum", "priority", "token")


class ClientListError(ValueError):
    """A list of clients that cannot be used: one line naming the file, the key and the cure."""


@dataclass(frozen=True)
class Registered:
    """A client that may send."""

    client: Client
    token: str = field(repr=False)


@dataclass(frozen=True)
class ClientList:
    """The clients that may send, and the link and buffer that are divided among them."""

    clients: tuple[Registered, ...]
    limits: Limits
    link: int
    """bit/s of the server's link"""


def load(path: Path) -> ClientList:
    """Reads a list of clients from a file. Raises ClientListError."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ClientListError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise ClientListError(f"{path}: text: no UTF-8; write it as UTF-8") from None
    return parse(text, str(path))


def parse(text: str, source: str) -> ClientList:
    """Reads a list of clients from YAML text; `source` names it in errors. Raises ClientListError."""
    reader = _Reader(source, ClientListError)
    return reader.clients(reader.yaml(text))


class _Reader(FormReader):
    def clients(self, form: object) -> ClientList:
        root = self.map(form, "", ("link", "buffer", "connections", "clients"))
        link = self._rate(root, "", "link")
        connections = DEFAULT_CONNECTIONS
        if "connections" in root:
            connections = self.integer(root, "", "connections", 1, MOST_CONNECTIONS)
        items = root.get("clients")
        if not isinstance(items, list) or not items:
            self.refuse("clients", "not a list; write `- {name: cam1, target: 1mbit, token: c0ffee}`, ...")
        found: list[Registered] = []
        for number, item in enumerate(cast(list[object], items)):
            key = f"clients[{number}]"
            registered = self._client(key, item, link)
            if any(registered.client.name == other.client.name for other in found):
                self.refuse(f"{key}.name", f"{registered.client.name!r} is there twice; rename one")
            found.append(registered)
        if "buffer" not in root:
            self.refuse("buffer", "missing; write the bytes of all receive buffers, as in '100000 bytes'")
        total = self.quantity(root, "", "buffer", units.parse_bytes, 0)
        if total < LEAST_BUFFER * len(found):
            least = f"{LEAST_BUFFER * len(found)} bytes"
            self.refuse(
                "buffer", f"{total} bytes are too few for {len(found)} clients; write {least} or more"
            )
        return ClientList(tuple(found), Limits(total, connections), link)

    def _client(self, key: str, item: object, link: int) -> Registered:
        form = self.map(item, key, _KEYS)
        name = self._word(form, key, "name", _NAME, _NAME_RULE)
        target = self._rate(form, key, "target")
        if target > link:
            self.refuse(
                f"{key}.target",
                f"{units.format_rate(target)} is beyond the link's {units.format_rate(link)}; write less",
            )
        minimum = self._rate(form, key, "minimum") if "minimum" in form else None
        if minimum is not None and minimum > target:
            self.refuse(
                f"{key}.minimum",
                f"{units.format_rate(minimum)} is above the target, {units.format_rate(target)}; write less",
            )
        priority = self.integer(form, key, "priority", 0, 1000) if "priority" in form else 0
        token = self._word(form, key, "token", _TOKEN, "write 1 to 255 hexadecimal digits, in quotes")
        return Registered(Client(name, target, priority, minimum), token)

    def _rate(self, form: Map, key: str, field: str) -> int:
        where = f"{key}.{field}" if key else field
        if field not in form:
            self.refuse(where, "missing; write a rate with its unit, as in '1mbit'")
        rate = self.quantity(form, key, field, units.parse_rate, None)
        if rate is None:
            self.refuse(where, "'unlimited' is no rate here; write a number with bit, kbit, mbit or gbit")
        return rate

    def _word(self, form: Map, key: str, field: str, pattern: re.Pattern[str], cure: str) -> str:
        value = form.get(field)
        if not isinstance(value, str) or pattern.fullmatch(value) is None:
            said = "missing" if value is None else f"{value!r} will not do"
            # A token must not be shown.
            self.refuse(f"{key}.{field}", f"{'will not do' if field == 'token' and value else said}; {cure}")
        return value
