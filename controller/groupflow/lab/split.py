"""Split agents: `gfagent split` in the agents' hosts of a running network."""

from collections.abc import Iterable
from pathlib import Path

from groupflow.agents.agent_process import find_program
from groupflow.data import RUN_FOLDER
from groupflow.files import variants
from groupflow.lab.network import Network
from groupflow.model.session import DEFAULT_PREFIX
from groupflow.processes import Daemon


def start(network: Network, folder: Path, *, hosts: Iterable[str] | None = None) -> dict[str, Daemon]:
    """Starts agents in the hosts of all cache agents, or in `hosts`, until the network ends. By host.

    Logs go to `folder`. Raises DaemonError, MissingError.
    """
    found: dict[str, Daemon] = {}
    for name in sorted(variants.agents(network.topology) if hosts is None else hosts):
        host = network.hosts[name]
        # The session's address is an address of this host: packets need not be changed.
        host.run_script(f"ip route replace local {DEFAULT_PREFIX} dev lo")
        command = [*host.launcher(), str(find_program("gfagent")), "split", "--json", "--name", name]
        command += ["--addr", str(host.spec.ip), "--control", str(RUN_FOLDER / f"{name}.split.sock")]
        agent = Daemon(f"{name} (gfagent split)", command, folder / f"{name}-split.log")
        found[name] = network.start_daemon(agent)
    for agent in found.values():
        wait_ready(agent)
    return found


def wait_ready(agent: Daemon) -> None:
    """Returns when an agent listens. Raises DaemonError."""
    agent.wait_ready(lambda: '"event":"ready"' in agent.output())
