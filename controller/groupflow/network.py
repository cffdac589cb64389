"""A network of real programs from Python: started, used and ended, as `groupflow net up` does it.

with groupflow.Network("star") as net:
    print(net["h1"].run("ping -c 1 h2").stdout)
    print(net.send("h1", "big.iso", "h2", "h3").slowest)
    net.link("h1", "s1", rate="1mbit", loss="1%")
    print(net.iperf("h1", "h2"))
"""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from groupflow.agents.arguments import check
from groupflow.api import Client
from groupflow.errors import Error, InvalidError
from groupflow.files import variants
from groupflow.files.topology import load
from groupflow.lab import registry
from groupflow.lab.own_program import check_program
from groupflow.model.topology import Host, Topology
from groupflow.p4rt.connection import ask
from groupflow.processes import GROUPFLOW, Daemon, DaemonError

if TYPE_CHECKING:
    from groupflow.lab.transfer import Transfer

_START_SECONDS = 60.0
_END_SECONDS = 20.0


@dataclass(frozen=True)
class Node:
    """A host, or the place of a switch: programs run in it."""

    name: str
    entry: registry.Entry
    """of its network"""
    spec: Host | None
    """of a host, as in the topology"""

    @property
    def ip(self) -> str:
        return self._ip(self.name)

    def run(
        self, command: str | Sequence[str], timeout: float | None = None, *, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program to its end; a text is a shell's, in which names of hosts stand for addresses.

        Raises Error if it ends with another status than 0, unless `check` is False.
        """
        done = subprocess.run(
            self._words(command), capture_output=True, text=True, timeout=timeout, check=False,
            env=self._environment(),
        )  # fmt: skip
        if check and done.returncode:
            last = (f"{done.stdout}\n{done.stderr}".strip().splitlines() or ["no output"])[-1]
            raise Error(f"{self.name}: {command}: exit status {done.returncode}: {last}")
        return done

    def start(self, command: str | Sequence[str]) -> subprocess.Popen[str]:
        """Starts a program, which ends with the network at the latest; its stdout is a pipe."""
        return subprocess.Popen(
            self._words(command), stdout=subprocess.PIPE, text=True, env=self._environment()
        )

    def launcher(self) -> tuple[str, ...]:
        """Words before a command that run it here, such as for `groupflow.Session(launcher=...)`."""
        return self.entry.launcher(self.name)

    def _ip(self, host: str) -> str:
        return self.entry.addresses[host].partition("/")[0]

    def _words(self, command: str | Sequence[str]) -> list[str]:
        if not isinstance(command, str):
            return self.entry.command(self.name, command, self._environment()["PATH"])
        names = "|".join(map(re.escape, self.entry.addresses))
        script = re.sub(rf"(?<!\S)({names})(?!\S)", lambda name: self._ip(name[1]), command)
        return [*self.launcher(), "sh", "-c", script]

    def _environment(self) -> dict[str, str]:
        """With groupflow's programs on PATH."""
        path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
        return {**os.environ, "PATH": path, "GROUPFLOW_NAME": self.name}


class Network:
    """A running network: switches, hosts, agents and a controller. It needs root, as all of `net up`.

    `net["h1"]` is a host, `net["s1"]` the place of a switch. Several may run at once, under different names.
    """

    def __init__(
        self,
        topology: Topology | str | Path,
        *,
        name: str | None = None,
        p4: str | Path | None = None,
        controller: bool = True,
        switch: registry.SwitchKind = "gfswitch",
        pcap: str | Path | None = None,
        out: str | Path | None = None,
    ) -> None:
        """`topology`: one that groupflow.Topology made, a file, or a name like "star". The others are options
        of `groupflow net up`. Nothing runs before `with` or `start()`. Raises InvalidError."""
        check("topology", Topology | str | Path, topology)
        check("switch", registry.SwitchKind, switch)
        check("name", str | None, name)
        if p4 is not None:
            check_program(Path(p4), "p4=")
        self.topology = topology if isinstance(topology, Topology) else load(topology)
        self.name = name or self.topology.name
        registry.check_name(self.name, "name=")
        self.folder = Path(out or Path("out/net") / self.name)
        """logs and received files"""
        self._file = None if isinstance(topology, Topology) else str(topology)
        options = {"name": self.name, "p4": p4, "switch": switch, "pcap": pcap, "out": self.folder}
        self._options = [f"--{key}={value}" for key, value in options.items() if value is not None]
        self._options += [] if controller else ["--no-controller"]
        self._stack = ExitStack()
        self._entry: registry.Entry | None = None
        self._nodes: dict[str, Node] = {}
        self.hosts: dict[str, Node] = {}

    def start(self) -> Self:
        """Starts the network. Call from the main thread; the network ends with this process at the latest.
        Raises Error."""
        from groupflow.lab.network import check_rights

        if self._entry is not None:
            raise InvalidError(f"{self.name} is started already")
        check_rights()
        with ExitStack() as stack:
            place = Path(stack.enter_context(TemporaryDirectory()))
            if self._file is None:
                (place / "topology.yaml").write_text(variants.render(self.topology))
            file = self._file or str(place / "topology.yaml")
            command = [*GROUPFLOW, "net", "up", file, *self._options]
            daemon = Daemon(f"network {self.name}", command, place / "log")
            stack.callback(self._end, daemon)
            daemon.start()
            try:
                daemon.wait_ready(lambda: daemon.pid in _running(), _START_SECONDS)
            except DaemonError as error:  # what `net up` says of its options, in this program's words
                said = re.sub("^.*?groupflow(?: net up)?: |; see groupflow .*$", "", str(error))
                raise Error(re.sub("--([a-z0-9]+) ?", r"\1=", said)) from None
            self._entry = entry = _running()[daemon.pid]
            self.hosts = {name: Node(name, entry, self.topology.hosts[name]) for name in entry.hosts}
            self._nodes = {name: Node(name, entry, None) for name in entry.switches} | self.hosts
            self._stack = stack.pop_all()
        return self

    def stop(self) -> None:
        """Ends the network, and all programs in it."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __getitem__(self, name: str) -> Node:
        if name not in self._nodes:
            known = ", ".join(self._nodes) or "none before it is started"
            raise InvalidError(f"no node {name} in {self.name}; nodes are {known}")
        return self._nodes[name]

    @property
    def api(self) -> Client:
        """The controller's sessions and members. Raises Error where none runs."""
        if self._entry is None or self._entry.api is None:
            raise Error(f"{self.name} has no controller; start it, and leave out controller=False and p4=")
        return Client(self._entry.api)

    def send(
        self, sender: str, file: str | Path, *receivers: str, rate: int | None = None, **settings: Any
    ) -> "Transfer":
        """Sends a file in a session of its own, to all other hosts where none is named; `settings` are the
        session's (`api.create_session`). Raises Error if a receiver has not all of it.

        In the result, `slowest` and `seconds("h2")` are times, `tracks["h2"]` what h2 got.
        """
        from groupflow.lab.controller_process import SessionAccess
        from groupflow.lab.transfer import Transfer

        agents = variants.agents(self.topology)
        names = receivers or [name for name in self.topology.hosts if name not in {sender, *agents}]
        if len({sender, *names}) <= len(names):
            raise InvalidError("a host is named twice; name each once")
        outputs = {self[name].name: self.folder / f"{name}-{Path(file).name}" for name in names}
        with self.api as api:
            session = api.create_session(**settings)
            access = SessionAccess(session.id, session.tokens.join)
            transfer = Transfer(cast(Any, self), access, self[sender].name, Path(file), outputs, rate)
            try:
                # This thread cannot run a loop of events beside one that runs already, as in a notebook.
                with ThreadPoolExecutor(1) as thread:
                    thread.submit(asyncio.run, transfer.run()).result()
            finally:
                api.delete_session(session.id)
        if errors := [f"{name}: {track.error}" for name, track in transfer.tracks.items() if track.error]:
            raise Error("; ".join(errors))
        return transfer

    def iperf(self, client: str, server: str, *options: str) -> float:
        """Throughput in bit/s of iperf3, of TCP where its `options` name nothing else. Raises Error."""
        from groupflow.lab.prompt import iperf

        return iperf(cast(Any, self[client]), cast(Any, self[server]), *options)

    def link(self, one: str, other: str, state: Literal["up", "down"] | None = None, **changes: str) -> None:
        """Changes the link between two nodes: `net.link("h1", "s1", rate="1mbit", delay="5ms", loss="1%")`,
        `net.link("s1", "s2", "down")`. Raises Error."""
        from groupflow.lab.links import links_of

        try:
            link = self.topology.link_between(one, other)
        except KeyError:
            raise InvalidError(f"no link between {one} and {other}") from None
        change = ",".join(filter(None, (state, *(f"{key}={value}" for key, value in changes.items()))))
        links_of(self._up).change(link, change)

    def stats(self, switch: str) -> dict[str, Any]:
        """Counters, queues and drops of a switch, as `gfswitch stats --json` has them."""
        from groupflow.lab.links import links_of

        if self._up.switch != "gfswitch":
            raise Error(f"{switch} is {self._up.switch}, which has no counters of its own")
        if switch not in self._up.switches:
            known = ", ".join(self._up.switches)
            raise InvalidError(f"no switch {switch} in {self.name}; switches are {known}")
        return ask(links_of(self._up).sockets / f"{switch}.sock", {"op": "stats"})

    def check(self) -> None:
        """Raises Error if the network has ended."""
        if self._entry is not None and not Path(f"/proc/{self._entry.pid}").exists():
            raise Error(f"{self.name} has ended; see {self.folder}")

    @property
    def _up(self) -> registry.Entry:
        if self._entry is None:
            raise InvalidError(f"{self.name} is not started")
        return self._entry

    def _end(self, daemon: Daemon) -> None:
        from groupflow.lab.named import end

        entry, self._entry = self._entry, None
        if entry is not None and daemon.alive:
            end(entry, _END_SECONDS, lambda: daemon.alive)
        daemon.stop()
        self._nodes = {}


def _running() -> dict[int, registry.Entry]:
    return {each.pid: each for each in registry.running_networks()}
