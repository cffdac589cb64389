"""A tree that meets an island of P4 switches, whose replication takes the stream on, and the other way."""

import asyncio
import hashlib
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError
from groupflow.agents.options import RecvOptions, SendOptions
from groupflow.files import variants
from groupflow.lab.measure import link_bytes, usage
from groupflow.lab.trees import address, served
from groupflow.processes import until
from groupflow.tree.island import Island
from groupflow.tree.options import TreeRecvOptions, TreeSendOptions
from tests.network.harness import MIB, Lab, MakeLab
from tests.support.tokens import token_file

OUTSIDE = "mb1"
"""host of the dispatchers and of a host of the tree"""
BOTH = "ma1"
INSIDE = ("mc1", "mc2", "md1")
SIZE = 4 * MIB
RATE = 20_000_000


@pytest.fixture
def lab(make_lab: MakeLab) -> Any:
    with make_lab(variants.with_rate(variants.with_members(variants.named("fig5"), 2), RATE)) as lab:
        yield lab


@asynccontextmanager
async def a_tree(lab: Lab) -> AsyncGenerator[dict[str, Any]]:
    """Access to a tree, for its hosts."""
    token = secrets.token_hex(16)
    async with served(lab.network.hosts[OUTSIDE].launcher(), token, plain=False) as tree:
        yield {"to": address(lab.network, OUTSIDE), "token": token, "tls_pin": tree.pin}


@asynccontextmanager
async def the_island(lab: Lab, receiving: Any, sending: Any) -> AsyncGenerator[Island]:
    async with Island(receiving, sending, launcher=lab.network.hosts[BOTH].launcher()) as island:
        yield island


@asynccontextmanager
async def outside(lab: Lab, options: Any, *, piped: bool = False) -> AsyncGenerator[AgentProcess]:
    launcher = lab.network.hosts[OUTSIDE].launcher()
    async with AgentProcess(options, launcher=launcher, piped_input=piped) as agent:
        yield agent


def received(receiver: AgentProcess) -> int:
    progress = receiver.latest.get("progress")
    return progress.integer("bytes") if progress else 0


async def command(lab: Lab, *words: str) -> tuple[int, str]:
    """Runs `groupflow` in the host that is in both. Returns its exit code and its messages."""
    program = (sys.executable, "-m", "groupflow.cli.main", *words)
    process = await asyncio.create_subprocess_exec(
        *lab.network.hosts[BOTH].launcher(), *program, stdout=PIPE, stderr=STDOUT
    )
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, said.decode()


async def test_the_switches_of_an_island_replicate_a_trees_stream(lab: Lab) -> None:
    file, session = lab.file(SIZE), lab.session()
    async with lab.caches(), a_tree(lab) as common, lab.receiving(session, INSIDE) as receivers:
        words = [
            "--to",
            common["to"],
            "--token-file",
            token_file(common["token"]),
            "--tls-pin",
            common["tls_pin"],
        ]
        words += [
            "--session",
            str(session.id),
            "--session-token-file",
            token_file(session.token),
            "--members",
            "3",
        ]
        before = link_bytes(lab.network)
        async with outside(lab, TreeSendOptions(name=OUTSIDE, file=file, **common)) as source:
            code, said = await command(lab, "tree", "island", *words)
            assert code == 0 and f"session {session.id}: complete, {SIZE} bytes" in said, said
            assert "from the tree: in the tree as host" in said and "Traceback" not in said
            await asyncio.wait_for(source.finish(), 60)
            for receiver in receivers.values():
                await asyncio.wait_for(receiver.finish(), 60)
        used = usage(lab.topology, before, link_bytes(lab.network), SIZE)
    sent = hashlib.sha256(file.read_bytes()).digest()
    assert {hashlib.sha256(lab.output(session, name).read_bytes()).digest() for name in INSIDE} == {sent}
    copies = {(use.source, use.target): use.copies for use in used}
    # Three members are behind both.
    assert 1.0 <= copies["s1", "s2"] <= 1.1 and 1.0 <= copies[BOTH, "s1"] <= 1.1


async def test_a_session_in_an_island_is_a_trees_source(lab: Lab) -> None:
    file, session = lab.file(SIZE), lab.session()
    copy = lab.folder / "outside.bin"
    async with lab.caches(), a_tree(lab) as common:
        receiving = RecvOptions(session=session.id, token=session.token, name=BOTH, start="start")
        sending = TreeSendOptions(name=BOTH, **common)
        hearing = TreeRecvOptions(name=OUTSIDE, output=copy, start="start", **common)
        async with (
            the_island(lab, receiving, sending) as island,
            outside(lab, hearing) as receiver,
            lab.sender(session, INSIDE[0], file, 1) as sender,
        ):
            await asyncio.wait_for(sender.finish(), 60)
            await asyncio.wait_for(island.finish(), 60)
            await asyncio.wait_for(receiver.finish(), 60)
    assert copy.read_bytes() == file.read_bytes()


async def test_a_tree_that_breaks_off_is_no_whole_stream_in_the_island(lab: Lab) -> None:
    session = lab.session()
    async with lab.caches(), a_tree(lab) as common:
        receiving = TreeRecvOptions(name=BOTH, start="start", **common)
        sending = SendOptions(session=session.id, token=session.token, name=BOTH)
        async with (
            lab.receiver(session, INSIDE[0]) as receiver,
            the_island(lab, receiving, sending) as island,
            outside(lab, TreeSendOptions(name=OUTSIDE, **common), piped=True) as source,
        ):
            source.data_in.write(bytes(MIB))
            assert await until(lambda: received(receiver) > 0, 30)
            source.signal(signal.SIGKILL)
            with pytest.raises(AgentError, match="source has left"):
                await asyncio.wait_for(island.finish(), 60)
            await AgentProcess.stop_all((island.receiving, island.sending))
            with pytest.raises(AgentError):
                await asyncio.wait_for(receiver.finish(), 60)
    assert not lab.output(session, INSIDE[0]).exists()
