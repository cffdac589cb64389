"""A controller beside a running network: its process, and its REST API."""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from groupflow.agents import api_token
from groupflow.api import Client
from groupflow.errors import Error
from groupflow.files import variants
from groupflow.lab.links import TOPOLOGY
from groupflow.lab.network import Network
from groupflow.processes import GROUPFLOW, Daemon

_READY_SECONDS = 20.0


@dataclass(frozen=True)
class SessionAccess:
    """A session's id and token, which a host needs to join."""

    id: int
    token: str


class ControllerProcess:
    """`groupflow controller` for a network. `start` returns when every switch is set up."""

    def __init__(
        self,
        network: Network,
        folder: Path,
        port: int | None = None,
        *,
        sockets: Sequence[int] = (),
        record: Path | None = None,
    ) -> None:
        """`port` of the REST API; None: a free one. The store and the log are in `folder`.

        `sockets` are descriptors of listening sockets, at which the API is served as well. `record` is the
        file of a recording.
        """
        self._network = network
        self._record = record
        self._sockets = tuple(sockets)
        folder.mkdir(parents=True, exist_ok=True)
        topology = folder / TOPOLOGY
        topology.write_text(variants.render(network.topology), encoding="utf-8")
        self.url = f"http://127.0.0.1:{port or free_port()}"
        command = [*GROUPFLOW, "controller", "run", "--topology", str(topology)]
        command += ["--store", str(folder / "store.sqlite"), "--listen", self.url.removeprefix("http://")]
        for descriptor in sockets:
            command += ["--listen", f"fd:{descriptor}"]
        if record is not None:
            command += ["--record", str(record)]
        log = folder / "controller.log"
        token = api_token.new()
        self.api = Client(self.url, token=token)
        self.daemon = Daemon(
            "controller", command, log, descriptors=sockets, environment={api_token.VARIABLE: token}
        )

    def start(self) -> Self:
        self._network.start_daemon(self.daemon)
        self.wait_ready()
        return self

    def restart(self) -> None:
        """Starts a controller again that has ended, with its store."""
        self.begin_again()
        self.wait_ready()

    def begin_again(self) -> None:
        """As `restart`, without waiting. The recording so far is kept beside that which begins."""
        if self._record is not None and self._record.exists():
            self._record.rename(self._record.with_suffix(f".{self.daemon.pid}{self._record.suffix}"))
        self.daemon.restart()

    def wait_ready(self) -> None:
        """Returns when the API answers and every switch is reconciled. Raises DaemonError."""
        self.daemon.wait_ready(lambda: self._health() == "ok", _READY_SECONDS)

    def wait_answering(self) -> None:
        """Returns when the API answers, whatever the switches do. Raises DaemonError."""
        self.daemon.wait_ready(lambda: self._health() is not None, _READY_SECONDS)

    def refuse(self) -> None:
        """Makes its addresses refuse connections, where no controller will answer any more."""
        for descriptor in self._sockets:
            with socket.socket(fileno=os.dup(descriptor)) as listening:
                listening.shutdown(socket.SHUT_RDWR)

    def create_session(self, mode: str = "e2e", policy: str = "strict", **more: Any) -> SessionAccess:
        created = self.api.create_session(mode=mode, policy=policy, **more)
        return SessionAccess(created.id, created.tokens.join)

    def access(self, session: int) -> SessionAccess:
        """The access to an existing session."""
        return SessionAccess(session, self.api.tokens(session).join)

    def get(self, path: str) -> object:
        return self.api.request("GET", path)

    def post(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        return self.api.request("POST", path, body)

    def _health(self) -> str | None:
        """The status of the switches; None: the API does not answer."""
        with suppress(Error):
            return self.api.request("GET", "/health")["status"]
        return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
