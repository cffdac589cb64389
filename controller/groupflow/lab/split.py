"""Split agents: `gfagent split` in the agents' hosts of a running network."""

from collections.abc import Iterable
from pathlib import Path

from groupflow.agents.agent_process import find_program
from groupflow.control.sessions.requests import DEFAULT_PREFIX
from groupflow.data import RUN_FOLDER
from groupflow.files import variants
from groupflow.lab.network import Network
from groupflow.processes import Daemon


class SplitAgentProcess(Daemon):
    """One agent, which may be killed and started again."""

    def __init__(self, network: Network, host: str, folder: Path) -> None:
        """The log goes to `folder`."""
        self.host = host
        here = network.hosts[host]
        command = [*here.launcher(), str(find_program("gfagent")), "split", "--json", "--name", host]
        command += ["--addr", str(here.spec.ip), "--control", str(RUN_FOLDER / f"{host}.split.sock")]
        super().__init__(f"{host} (gfagent split)", command, folder / f"{host}-split.log")

    def wait_until_ready(self) -> None:
        """Returns when the agent listens. Raises DaemonError."""
        self.wait_ready(lambda: '"event":"ready"' in self.output())


def start(
    network: Network, folder: Path, *, hosts: Iterable[str] | None = None
) -> dict[str, SplitAgentProcess]:
    """Starts agents in the hosts of all cache agents, or in `hosts`, until the network ends. By host.

    Raises DaemonError, ProgramNotFoundError.
    """
    found: dict[str, SplitAgentProcess] = {}
    for host in sorted(variants.agents(network.topology) if hosts is None else hosts):
        # The session's address is an address of this host: packets need not be changed.
        network.hosts[host].run_script(f"ip route replace local {DEFAULT_PREFIX} dev lo")
        found[host] = SplitAgentProcess(network, host, folder)
        network.start_daemon(found[host])
    for agent in found.values():
        agent.wait_until_ready()
    return found
