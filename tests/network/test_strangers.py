"""Another user of this machine: what it may not reach, and may not read."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from groupflow.agents.agent_process import find_program
from groupflow.store.sqlite import SqliteStore
from tests.support.tokens import token_file
from tests.support.waiting import until

NOBODY = 65534
ASK = """
import socket, sys
with socket.socket(socket.AF_UNIX) as at:
    at.settimeout(10)
    at.connect(sys.argv[1])
    at.sendall(b'{"op": "stats"}\\n')
    print(at.recv(4096))
"""


@pytest.fixture
def folder() -> Generator[Path]:
    """A folder into which everybody may look."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def program(*words: str) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


async def ask(path: Path, user: int) -> str:
    """The answer that a process of that user gets at a control socket, or the error that ended it."""
    process = await asyncio.create_subprocess_exec(
        "/usr/bin/python3", "-c", ASK, str(path), user=user, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd="/", env={},
    )  # fmt: skip
    said, error = await process.communicate()
    return (said or error.splitlines()[-1]).decode().strip()


async def test_control_sockets_are_for_their_owner(folder: Path) -> None:
    switch, split = folder / "switch.sock", folder / "split.sock"
    gfswitch = ("--no-p4", "--control-socket", str(switch), "--", "--grpc-server-addr", "none")
    gfagent = ("split", "--name", "sa1", "--addr", "127.0.7.1", "--peer-port", "0", "--control", str(split))
    with ExitStack() as stack:
        before = os.umask(0)  # the programs inherit it: only they themselves keep others out
        try:
            stack.enter_context(program(str(find_program("gfswitch")), *gfswitch))
            stack.enter_context(program(str(find_program("gfagent")), *gfagent))
        finally:
            os.umask(before)
        for path in (switch, split):
            await until(path.exists, f"{path} is there")
            assert path.stat().st_mode & 0o777 == 0o600
            assert (await ask(path, 0)).startswith("b'{")
            assert "PermissionError" in await ask(path, NOBODY)
            path.chmod(0o666)  # whoever gets past the file's mode is known by the kernel's word
            heard = await ask(path, NOBODY)
            assert heard == "b''" or "BrokenPipeError" in heard or "ConnectionResetError" in heard, heard
            assert (await ask(path, 0)).startswith("b'{"), "the owner is served on"


def modes_of(folder: Path) -> dict[str, int]:
    return {each.name: each.stat().st_mode & 0o777 for each in folder.iterdir()}


async def test_the_store_is_its_owners(folder: Path) -> None:
    path = folder / "store.db"
    path.touch(0o644)
    before = os.umask(0)
    try:
        store = await SqliteStore.open(path)
        await store.get("a")
        await store.close()
        again = await SqliteStore.open(path)
        modes = modes_of(folder)
        await again.close()
    finally:
        os.umask(before)
    assert modes and set(modes.values()) == {0o600}, modes


async def test_no_token_is_in_a_command_line() -> None:
    """`groupflow session recv` waits for a controller in vain, and has started a gfagent."""
    token = "decafbad"
    words = (
        sys.executable,
        "-m",
        "groupflow.cli.main",
        "session",
        "recv",
        "7",
        "--output",
        "/dev/null",
        "--iface",
        "lo",
    )

    def command_lines() -> list[str]:
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        return [line.replace(b"\0", b" ").decode(errors="replace") for line in lines]

    with program(*words, "--token-file", token_file(token)):
        # Not `setpriv ... gfagent recv`, which is not yet tied to its parent's life.
        runs = re.compile(r"\S*gfagent recv ").match
        await until(lambda: any(map(runs, command_lines())), "gfagent runs")
        assert not [line for line in command_lines() if token in line]
    refused = subprocess.run([*words, "--token", token], capture_output=True, text=True)  # noqa: ASYNC221
    assert refused.returncode == 2 and "it takes a file, no token" in refused.stderr, refused
    assert token not in refused.stderr
