"""A network without a controller, and one that cannot start."""

import socket
from pathlib import Path

import pytest

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError
from groupflow.agents.options import RecvOptions
from groupflow.files import variants
from groupflow.lab.network import running
from groupflow.processes import DaemonError


def test_a_network_whose_port_is_taken(tmp_path: Path) -> None:
    topology = variants.named("star")
    taken = topology.switches["s1"].grpc_address
    refused = pytest.raises(DaemonError, match="port 9561 is in use")
    with socket.create_server(taken), refused, running(topology, tmp_path):
        pass


async def test_no_controller_answers(tmp_path: Path) -> None:
    topology = variants.named("star")
    with running(topology, tmp_path) as network:
        options = RecvOptions(session=7, name="h2", output=tmp_path / "out", join_timeout=1)
        async with AgentProcess(options, launcher=network.hosts["h2"].launcher()) as agent:
            with pytest.raises(AgentError) as late:
                await agent.wait_for("joined")
            assert late.value.code == "join_timeout"
