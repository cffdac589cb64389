"""The prompt of a running network: Mininet's verbs, and those of groupflow."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false
# (Mininet has no types.)

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from mininet.cli import CLI
from mininet.node import Node

from groupflow import needs, units
from groupflow.agents.agent_process import AgentProcess, find_program
from groupflow.agents.events import Event
from groupflow.agents.options import RecvOptions, SendOptions
from groupflow.errors import Error
from groupflow.files import variants
from groupflow.lab.controller_process import ControllerProcess, SessionAccess
from groupflow.lab.gfswitch import GfSwitch
from groupflow.lab.host import GroupHost
from groupflow.lab.named import Running, Supervision, joined
from groupflow.model.topology import Topology
from groupflow.processes import Daemon, DaemonError

IPERF_SECONDS = 3

_NO_CONTROLLER = (
    "groupflow's controller does not run here; leave out --no-controller, and programs of your own (--p4)"
)


class Prompt(CLI):
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
        super().__init__(up.network.mininet)

    def precmd(self, line: str) -> str:
        """Before each command, waits for a controller that was started again. No switch is waited for."""
        self._supervision.look()
        if self._supervision.has_restarted and self._controller is not None:
            self._supervision.has_restarted = False
            with suppress(DaemonError):
                self._controller.wait_answering()
        return super().precmd(line)

    def waitForNode(self, node: Node) -> None:  # noqa: N802 (Mininet's name)
        """Prints a command's output until it ends. The next lines of a file of commands are not its input."""
        if self.isatty():
            super().waitForNode(node)
            return
        while node.waiting:
            print(node.monitor(), end="", flush=True)

    def do_xterm(self, line: str, term: str = "xterm") -> None:
        """xterm HOST ...: a terminal at each host, where there is a display"""
        if os.environ.get("DISPLAY"):
            super().do_xterm(line, term)
        else:
            self._refuse("no display: log in with ssh -X, or write commands after a host's name: h1 ip addr")

    def do_link(self, line: str) -> None:
        """link NODE NODE CHANGE: change a link while it runs: down, up, rate=1mbit, delay=20ms, loss=0.01"""
        words = line.split()
        if len(words) != 3:
            self._refuse("write: link s1 s2 down")
            return
        try:
            self._network.change_link(*words)
        except (KeyError, Error) as error:
            known = f"no link between {words[0]} and {words[1]}; `links` lists them"
            self._refuse(known if isinstance(error, KeyError) else str(error))

    def do_send(self, line: str) -> None:
        """send HOST FILE [HOST ... | SESSION]: send a file from a host to others (to all when none is named),
        or to a session that hosts have joined"""
        try:
            print(self._send(*transfer(line, self._network.topology)))
        except Error as error:
            self._refuse(str(error))

    def do_recv(self, line: str) -> None:
        """recv SESSION HOST [HOST ...]: let hosts join a session, and receive while the prompt goes on"""
        try:
            number, hosts = receivers(line, self._network.topology)
            self._receive(self._controlled().access(number), hosts, f"session{number}")
            print(f"{' '.join(hosts)}: joined; files are {self._folder}/HOST-session{number}")
        except Error as error:
            self._refuse(str(error))

    def do_trace(self, line: str) -> None:
        """trace SWITCH [OPTION ...]: show the way of packets, until Ctrl-C; options are those of
        `groupflow switch trace`: --dropped, --next 3, --match ipv4.dst=10.0.2.1"""
        name, *options = line.split() or [""]
        switch = self._network.switches.get(name)
        if not isinstance(switch, GfSwitch):
            self._refuse(f"write: trace s1; gfswitches are {', '.join(self._network.switches)}")
            return
        with suppress(KeyboardInterrupt):
            command = [str(find_program("gfswitch")), "trace", "--socket", str(switch.socket_path), *options]
            subprocess.run(command, check=False)

    def do_iperf(self, line: str) -> None:
        """iperf [HOST HOST]: throughput of TCP from one host to another, over some seconds"""
        self._iperf("TCP", line.split())

    def do_iperfudp(self, line: str) -> None:
        """iperfudp [RATE HOST HOST]: throughput of UDP that is sent at a rate like 10M, over some seconds"""
        words = line.split() or ["10M"]
        self._iperf("UDP", words[1:], "-u", "-b", words[0])

    def _iperf(self, protocol: str, words: list[str], *options: str) -> None:
        hosts = self._network.hosts
        ends = [name for name in hosts if name not in variants.agents(self._network.topology)]
        one, other = words if len(words) == 2 else (ends[0], ends[-1])
        if len(words) not in (0, 2) or not {one, other} <= hosts.keys():
            write = "iperf h1 h2" if protocol == "TCP" else "iperfudp 10M h1 h2"
            self._refuse(f"write: {write}; hosts are {', '.join(hosts)}")
            return
        try:
            rate = iperf(hosts[one], hosts[other], *options)
        except Error as error:
            self._refuse(str(error))
            return
        print(f"{protocol} from {one} to {other}: {units.show_rate(rate)}")

    def do_sessions(self, _: str) -> None:
        """sessions: list the sessions"""
        self._groupflow("session", "list")

    def do_status(self, _: str) -> None:
        """status: the controller's view of the network, on one page"""
        self._groupflow("controller", "show")

    def do_groupflow(self, line: str) -> None:
        """groupflow COMMAND: run a command for this network, e.g. groupflow switch list"""
        self._groupflow(*line.split())

    def _groupflow(self, *words: str) -> None:
        if self._controller is None:
            self._refuse(_NO_CONTROLLER)
            return
        command = (sys.executable, "-m", "groupflow.cli.main", "--api", self._controller.url)
        subprocess.run([*command, *words], check=False)

    def _refuse(self, text: str) -> None:
        print(f"groupflow: {text}", file=sys.stderr)

    def _receive(self, session: SessionAccess, hosts: Sequence[str], name: str) -> None:
        """Lets hosts join a session, which then receive into files HOST-NAME."""
        program = str(find_program("gfagent"))
        for host in hosts:
            options = RecvOptions(session=session.id, name=host, output=self._folder / f"{host}-{name}")
            receiver = Daemon(
                f"{host} (gfagent recv)",
                [*self._network.hosts[host].launcher(), program, *options.arguments()],
                self._folder / f"{host}-recv.log",
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
                controller.delete(f"/sessions/{session.id}")
            receiving = self._receiving.pop(session.id, {})
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
        for receiver in receiving.values():
            receiver.wait_ready(lambda receiver=receiver: not receiver.alive)
            receiver.check()
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


def transfer(line: str, topology: Topology) -> tuple[str, Path, tuple[str, ...]]:
    """Sender, file, and receivers or session of a `send` command. Raises Error."""
    words = line.split()
    if len(words) < 2:
        raise Error("write: send h1 FILE, or send h1 FILE h2 h3")
    sender, path, *receivers = words
    file = Path(path)
    if not file.is_file():
        raise Error(f"{path}: no such file; name a file to send")
    agents = variants.agents(topology)
    if len(receivers) == 1 and receivers[0].isdecimal() and sender in topology.hosts:
        return sender, file.resolve(), (receivers[0],)
    receivers = receivers or [each for each in topology.hosts if each != sender and each not in agents]
    if unknown := [each for each in (sender, *receivers) if each not in topology.hosts]:
        raise Error(f"no host {unknown[0]}; hosts are {', '.join(topology.hosts)}")
    if sender in receivers or len({*receivers}) < len(receivers):
        raise Error("a host is named twice; name each once")
    return sender, file.resolve(), tuple(receivers)


def receivers(line: str, topology: Topology) -> tuple[int, tuple[str, ...]]:
    """Session and hosts of a `recv` command. Raises Error."""
    session, *hosts = line.split() or [""]
    if not session.isdecimal() or not hosts:
        raise Error("write: recv 7 h2 h3; `groupflow session create 7` makes session 7")
    if unknown := [name for name in hosts if name not in topology.hosts]:
        raise Error(f"no host {unknown[0]}; hosts are {', '.join(topology.hosts)}")
    return int(session), tuple(hosts)
