"""The prompt of a running network: Mininet's verbs, and those of groupflow."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false
# (Mininet has no types.)

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from groupflow import needs, units
from groupflow.agents.agent_process import AgentProcess, find_program
from groupflow.agents.events import Event
from groupflow.agents.options import RecvOptions, SendOptions
from groupflow.errors import Error, InvalidError, Kind, UsageError
from groupflow.files import variants
from groupflow.lab import links
from groupflow.lab.console import Console
from groupflow.lab.controller_process import ControllerProcess, SessionAccess
from groupflow.lab.host import GroupHost
from groupflow.lab.named import Running, Supervision, joined
from groupflow.model.topology import Topology
from groupflow.processes import GROUPFLOW, Daemon, DaemonError

IPERF_SECONDS = 3
_PATIENCE = 60
"""seconds for which a trace waits for a packet where nobody could press Ctrl-C"""
_DPCTL = ("stats", "link", "queue", "port", "depose")

_NO_CONTROLLER = (
    "groupflow's controller does not run here; leave out --no-controller, and programs of your own (--p4)"
)


class Prompt(Console):
    """Reads commands until `exit`."""

    prompt = "groupflow> "

    def __init__(self, up: Running, supervision: Supervision, folder: Path) -> None:
        """Files that arrive go to `folder`."""
        self._network = up.network
        self._controller = up.controller
        self._supervision = supervision
        self._folder = folder
        self._receiving: dict[int, dict[str, Daemon]] = {}
        """receivers by session and host"""
        self._received = 0
        self._up = up
        super().__init__(up.network.mininet)

    def precmd(self, line: str) -> str:
        """Before each command, waits for a controller that was started again. No switch is waited for."""
        self._supervision.look()
        if self._supervision.has_restarted and self._controller is not None:
            self._supervision.has_restarted = False
            with suppress(DaemonError):
                self._controller.wait_answering()
        return super().precmd(line)

    def do_link(self, line: str) -> None:
        """link NODE NODE CHANGE ... or link LINK CHANGE ...: change links while they run: down, up,
        rate=1mbit, delay=20ms, loss=0.01, queue=100; a LINK is s1-s2, or one of several by its interface"""
        chosen, change = links.asked(self._network.topology, self.words(line))
        for link in chosen:
            self._network.links.change(link, change)

    def do_links(self, _: str) -> None:
        """links: show each link as it is now"""
        self._groupflow("net", "set")

    def do_switch(self, line: str) -> None:
        """switch SWITCH start|stop: end a switch's process, or start it again with its program and entries"""
        name, command = words if len(words := self.words(line)) == 2 else ("", "")
        switch = self._network.switches.get(name)
        if switch is None or command not in ("start", "stop"):
            raise UsageError(
                f"write: switch s1 stop, or start; switches are {', '.join(self._network.switches)}"
            )
        if (command == "start") is switch.daemon.alive:
            raise InvalidError(f"{name} {'runs' if switch.daemon.alive else 'does not run'} already")
        if command == "stop":
            switch.stop()
        print(f"{name}: stopped" if command == "stop" else self._up.start_switch(name))

    def do_dpctl(self, line: str) -> None:
        """dpctl COMMAND: run one of gfswitch's commands at each switch: stats, link, queue, port, depose"""
        if line.split()[:1] not in [[each] for each in _DPCTL]:
            raise UsageError(f"write one of: dpctl {', dpctl '.join(_DPCTL)}")
        super().do_dpctl(line)

    def do_send(self, line: str) -> None:
        """send HOST FILE [HOST ... | SESSION]: send a file from a host to others (to all when none is named),
        or to a session that hosts have joined"""
        print(self._send(*transfer(self.words(line), self._network.topology)))

    def do_recv(self, line: str) -> None:
        """recv SESSION HOST [HOST ...]: let hosts join a session, and receive while the prompt goes on"""
        number, hosts = receivers(self.words(line), self._network.topology)
        self._receive(self._controlled().access(number), hosts, f"session{number}")
        print(f"{' '.join(hosts)}: joined; files are {self._folder}/HOST-session{number}")

    def do_trace(self, line: str) -> None:
        """trace [SWITCH] [OPTION ...]: show the way of packets through a switch, or through all; options are
        those of `groupflow switch trace`: --dropped, --next 3, --match ipv4.dst=10.0.2.1"""
        try:
            self._groupflow(
                "switch", "trace", *self.words(line), seconds=None if self.isatty() else _PATIENCE
            )
        except subprocess.TimeoutExpired:
            raise Error(f"no such packet came within {_PATIENCE} s") from None

    def do_iperf(self, line: str) -> None:
        """iperf [HOST HOST]: throughput of TCP from one host to another, over some seconds"""
        self._iperf("TCP", self.words(line))

    def do_iperfudp(self, line: str) -> None:
        """iperfudp [RATE HOST HOST]: throughput of UDP that is sent at a rate like 10M, over some seconds"""
        words = self.words(line) or ["10M"]
        if not re.fullmatch(r"\d+(\.\d+)?[kKmMgG]?", words[0]):  # iperf3 takes it for no limit
            raise UsageError("write: iperfudp 10M h1 h2")
        self._iperf("UDP", words[1:], "-u", "-b", words[0])

    def _iperf(self, protocol: str, words: list[str], *options: str) -> None:
        hosts = self._network.hosts
        ends = [name for name in hosts if name not in variants.agents(self._network.topology)]
        one, other = words if len(words) == 2 else (ends[0], ends[-1])
        if len(words) not in (0, 2) or not {one, other} <= hosts.keys():
            write = "iperf h1 h2" if protocol == "TCP" else "iperfudp 10M h1 h2"
            raise UsageError(f"write: {write}; hosts are {', '.join(hosts)}")
        rate = iperf(hosts[one], hosts[other], *options)
        print(f"{protocol} from {one} to {other}: {units.show_rate(rate)}")

    def do_sessions(self, _: str) -> None:
        """sessions: list the sessions"""
        self._groupflow("session", "list")

    def do_status(self, _: str) -> None:
        """status: the network, its links and the controller's view of it, on one page"""
        self._groupflow("net", "show")

    def do_groupflow(self, line: str) -> None:
        """groupflow COMMAND: run a command for this network, e.g. groupflow switch list"""
        self._groupflow(*self.words(line))

    def _groupflow(self, *words: str, seconds: float | None = None) -> None:
        environment = dict(os.environ)
        if self._controller is not None:
            environment["GROUPFLOW_API"] = self._controller.url
        elif words[:1] != ("net",) and words[:2] != ("switch", "trace"):
            raise Error(_NO_CONTROLLER)
        self.run_program([*GROUPFLOW, *words], env=environment, timeout=seconds)

    def refuse(self, text: str) -> None:
        """Tells of an error, unless the supervision told of the same end."""
        if self._supervision.is_news(text) or " (pid " not in text:
            super().refuse(text)

    def _receive(self, session: SessionAccess, hosts: Sequence[str], name: str) -> None:
        """Lets hosts join a session, which then receive into files HOST-NAME."""
        program = str(find_program("gfagent"))
        for host in hosts:
            self._received += 1  # a log that others write to would give their reasons for this one's end
            options = RecvOptions(session=session.id, name=host, output=self._folder / f"{host}-{name}")
            receiver = Daemon(
                f"{host} (gfagent recv)",
                [*self._network.hosts[host].launcher(), program, *options.arguments()],
                self._folder / f"{host}-recv{self._received}.log",
                environment={"GROUPFLOW_TOKEN": session.token},
                may_end=True,
            )
            self._network.start_daemon(receiver).wait_ready(partial(joined, receiver))
            self._receiving.setdefault(session.id, {})[host] = receiver

    def _send(self, sender: str, file: Path, to: Sequence[str]) -> str:
        controller = self._controlled()
        known = int(to[0]) if to[0].isdecimal() else None
        session = controller.create_session() if known is None else controller.access(known)
        try:
            if known is None:
                self._receive(session, to, file.name)
            complete = self._carry(session, sender, file)
        finally:
            if known is None:
                controller.api.delete_session(session.id)
            receiving = self._receiving.pop(session.id, {})
            for receiver in receiving.values():
                self._network.forget_daemon(receiver)
        rate = units.show_rate(complete.measured("goodput_bps"))
        return (
            f"session {session.id}: {complete.integer('bytes')} bytes to {' '.join(receiving)} "
            f"in {complete.number('seconds'):.2f} s, {rate}; files are in {self._folder}"
        )

    def _carry(self, session: SessionAccess, sender: str, file: Path) -> Event:
        """One transfer, until the receivers have their files. Returns the sender's last event."""
        receiving = self._receiving.get(session.id)
        if not receiving:
            raise Error(f"nobody receives session {session.id}; write: recv {session.id} HOST")
        options = SendOptions(
            session=session.id, token=session.token, name=sender, file=file, members=len(receiving)
        )

        async def send() -> Event:
            async with AgentProcess(options, launcher=self._network.hosts[sender].launcher()) as agent:
                return await agent.finish()

        complete = asyncio.run(send())
        lost = complete.texts("lost")
        for host, receiver in receiving.items():
            if host not in lost:
                receiver.wait_ready(lambda receiver=receiver: not receiver.alive)
                receiver.check()
        if lost:
            text = f"session {session.id}: complete without {', '.join(lost)}: lost on the way"
            raise Error(text, Kind.LOST)
        return complete

    def _controlled(self) -> ControllerProcess:
        if self._controller is None:
            raise Error(_NO_CONTROLLER)
        return self._controller


def iperf(client: GroupHost, server: GroupHost, *options: str) -> float:
    """Throughput between two hosts in bit/s, of TCP unless `options` of iperf3 differ. Raises Error.

    Mininet's own `iperf` waits for ever with versions of iperf that do not report empty connections.
    """
    needs.programs("iperf3")
    listening = [*server.launcher(), "iperf3", "-s", "-1", "--forceflush"]
    command = ["iperf3", "-c", str(server.spec.ip), "-t", str(IPERF_SECONDS), "-J"]
    command += ["--connect-timeout", "3000", *options]
    with TemporaryDirectory() as logs, Daemon("iperf3 -s", listening, Path(logs) / "log") as serving:
        try:
            serving.wait_ready(lambda: "listening" in serving.output())
            done = client.run(command, timeout=4 * IPERF_SECONDS)
            return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"])
        except (DaemonError, subprocess.TimeoutExpired, ValueError, KeyError):
            raise Error(f"iperf3: {client.name} does not reach {server.name}") from None


def transfer(words: Sequence[str], topology: Topology) -> tuple[str, Path, tuple[str, ...]]:
    """Sender, file, and receivers or session of a `send` command. Raises Error."""
    if len(words) < 2:
        raise UsageError("write: send h1 FILE, or send h1 FILE h2 h3")
    sender, path, *receivers = words
    file = Path(path).expanduser()
    if file.is_dir():
        raise InvalidError(f"{path}: it is a folder; name a file to send, such as a tar archive of it")
    if not file.is_file():
        raise InvalidError(f"{path}: no such file; name a file to send")
    agents = variants.agents(topology)
    if len(receivers) == 1 and receivers[0].isdecimal() and sender in topology.hosts:
        return sender, file.resolve(), (receivers[0],)
    receivers = receivers or [each for each in topology.hosts if each != sender and each not in agents]
    if not receivers:
        raise InvalidError(f"{topology.name} has no host that could receive; name one")
    _check_hosts((sender, *receivers), topology)
    return sender, file.resolve(), tuple(receivers)


def receivers(words: Sequence[str], topology: Topology) -> tuple[int, tuple[str, ...]]:
    """Session and hosts of a `recv` command. Raises Error."""
    session, *hosts = words or [""]
    if not session.isdecimal() or not hosts:
        raise UsageError("write: recv 7 h2 h3; `groupflow session create 7` makes session 7")
    _check_hosts(hosts, topology)
    return int(session), tuple(hosts)


def _check_hosts(names: Sequence[str], topology: Topology) -> None:
    if unknown := [name for name in names if name not in topology.hosts]:
        raise InvalidError(f"no host {unknown[0]}; hosts are {', '.join(topology.hosts)}")
    if len({*names}) < len(names):
        raise InvalidError("a host is named twice; name each once")
