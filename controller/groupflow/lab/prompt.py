"""The prompt of a running network: Mininet's verbs, and those of groupflow."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false
# (Mininet has no types.)

import asyncio
import json
import shutil
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from mininet.cli import CLI

from groupflow.endpoint.agent_process import AgentProcess
from groupflow.endpoint.errors import AgentError, ClientError
from groupflow.endpoint.events import Event
from groupflow.endpoint.options import RecvOptions, SendOptions
from groupflow.lab.controller_process import ControllerError, ControllerProcess, SessionAccess
from groupflow.lab.gfswitch import ControlError
from groupflow.lab.host import GroupHost
from groupflow.lab.network import Network, NetworkError
from groupflow.network import variants
from groupflow.network.topology import Topology

IPERF_SECONDS = 3


class PromptError(Exception):
    """A command that cannot be run. One line with the cure."""


class Prompt(CLI):
    """Reads commands until `exit`."""

    prompt = "groupflow> "

    def __init__(self, network: Network, controller: ControllerProcess | None, folder: Path) -> None:
        """Files that arrive go to `folder`."""
        self._network = network
        self._controller = controller
        self._folder = folder
        super().__init__(network.mininet)

    def do_link(self, line: str) -> None:
        """link NODE NODE CHANGE: change a link while it runs: down, up, rate=1mbit, delay=20ms, loss=0.01"""
        words = line.split()
        if len(words) != 3:
            self._refuse("write: link s1 s2 down")
            return
        try:
            self._network.change_link(*words)
        except (KeyError, NetworkError, ControlError) as error:
            known = f"no link between {words[0]} and {words[1]}; `links` lists them"
            self._refuse(known if isinstance(error, KeyError) else str(error))

    def do_send(self, line: str) -> None:
        """send HOST FILE [HOST ...]: send a file from a host to others (all of them when none is named)"""
        try:
            print(asyncio.run(self._send(*transfer(line, self._network.topology))))
        except (PromptError, ControllerError, AgentError, ClientError) as error:
            self._refuse(str(error))

    def do_iperf(self, line: str) -> None:
        """iperf HOST HOST: throughput of TCP from one host to another, over some seconds"""
        hosts = self._network.hosts
        words = line.split()
        if len(words) != 2 or not set(words) <= hosts.keys():
            self._refuse(f"write: iperf h1 h2; hosts are {', '.join(hosts)}")
            return
        try:
            rate = iperf(hosts[words[0]], hosts[words[1]])
        except PromptError as error:
            self._refuse(str(error))
            return
        print(f"TCP from {words[0]} to {words[1]}: {rate / 1e6:.1f} Mbit/s")

    def do_iperfudp(self, line: str) -> None:
        """iperfudp is Mininet's, and waits for ever here"""
        self._refuse("write: h1 iperf3 -u -b 1M -c ADDRESS, with iperf3 -s -D running on the other host")

    def do_dpctl(self, line: str) -> None:
        """dpctl is for OpenFlow switches"""
        self._refuse("these switches speak P4Runtime; write: ctl switches list")

    def do_sessions(self, _: str) -> None:
        """sessions: list the sessions"""
        self._ctl("sessions", "list")

    def do_status(self, _: str) -> None:
        """status: the controller's view of the network, on one page"""
        self._ctl("status")

    def do_ctl(self, line: str) -> None:
        """ctl COMMAND: run `groupflow ctl COMMAND` for this network, e.g. ctl switches list"""
        self._ctl(*line.split())

    def _ctl(self, *words: str) -> None:
        if self._controller is None:
            self._refuse("the network runs without a controller; leave out --no-controller")
            return
        api = ("--api", self._controller.url)
        subprocess.run([sys.executable, "-m", "groupflow.cli.main", "ctl", *api, *words], check=False)

    def _refuse(self, text: str) -> None:
        print(f"groupflow: {text}", file=sys.stderr)

    async def _send(self, sender: str, file: Path, receivers: tuple[str, ...]) -> str:
        if self._controller is None:
            raise PromptError("sessions need a controller; leave out --no-controller")
        session = self._controller.create_session()
        try:
            complete = await self._carry(session, sender, file, receivers)
        finally:
            self._controller.delete(f"/sessions/{session.id}")
        rate = complete.integer("goodput_bps") / 1e6
        return (
            f"session {session.id}: {complete.integer('bytes')} bytes to {' '.join(receivers)} "
            f"in {complete.number('seconds'):.2f} s, {rate:.1f} Mbit/s; files are in {self._folder}"
        )

    async def _carry(
        self, session: SessionAccess, sender: str, file: Path, receivers: tuple[str, ...]
    ) -> Event:
        """One transfer, to its end. Returns the sender's last event. Raises AgentError, ClientError."""
        hosts = self._network.hosts
        async with AsyncExitStack() as stack:
            receiving: list[AgentProcess] = []
            for name in receivers:
                options = RecvOptions(
                    session=session.id, token=session.token, name=name,
                    output=self._folder / f"{name}-{file.name}",
                )  # fmt: skip
                agent = AgentProcess(options, launcher=hosts[name].launcher())
                receiving.append(await stack.enter_async_context(agent))
            sending = SendOptions(
                session=session.id, token=session.token, name=sender, file=file, members=len(receivers)
            )
            agent = AgentProcess(sending, launcher=hosts[sender].launcher())
            complete = await (await stack.enter_async_context(agent)).finish()
            for each in receiving:
                await each.finish()
        return complete


def iperf(client: GroupHost, server: GroupHost) -> float:
    """Throughput of TCP between two hosts, bit/s. Raises PromptError.

    Mininet's own `iperf` waits for ever with versions of iperf that do not report empty connections.
    """
    if shutil.which("iperf3") is None:
        raise PromptError("iperf3 is not on PATH; install Debian's package iperf3")
    listening = [*server.launcher(), "iperf3", "-s", "-1", "--forceflush"]
    errors = subprocess.DEVNULL
    with subprocess.Popen(listening, stdout=subprocess.PIPE, stderr=errors, text=True) as serving:
        try:
            assert serving.stdout is not None
            while "listening" not in (told := serving.stdout.readline()) and told:
                pass
            command = ["iperf3", "-c", str(server.spec.ip), "-t", str(IPERF_SECONDS), "-J"]
            done = client.run([*command, "--connect-timeout", "3000"], timeout=4 * IPERF_SECONDS)
            return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"])
        except (subprocess.TimeoutExpired, ValueError, KeyError):
            raise PromptError(f"iperf3: {client.name} does not reach {server.name}") from None
        finally:
            serving.terminate()


def transfer(line: str, topology: Topology) -> tuple[str, Path, tuple[str, ...]]:
    """Sender, file and receivers of a `send` command. Raises PromptError."""
    words = line.split()
    if len(words) < 2:
        raise PromptError("write: send h1 FILE, or send h1 FILE h2 h3")
    sender, path, *receivers = words
    file = Path(path)
    if not file.is_file():
        raise PromptError(f"{path}: no such file; name a file to send")
    agents = variants.agents(topology)
    receivers = receivers or [each for each in topology.hosts if each != sender and each not in agents]
    if unknown := [each for each in (sender, *receivers) if each not in topology.hosts]:
        raise PromptError(f"no host {unknown[0]}; hosts are {', '.join(topology.hosts)}")
    if sender in receivers or len({*receivers}) < len(receivers):
        raise PromptError("a host is named twice; name each once")
    return sender, file.resolve(), tuple(receivers)
