"""The examples, run as their docstrings say."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from groupflow.store.interface import MemoryStore
from groupflow.tree.options import DispatchOptions
from groupflow.tree.service import Dispatch
from tests.support.tokens import token_file

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
TOKEN = "c0ffee"
PIPE = asyncio.subprocess.PIPE
FILE_BYTES = 3 << 20


class Program:
    """A running example. Its output is read as it comes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout
        async for line in self.process.stdout:
            self.lines.append(line.decode().rstrip())

    async def ended(self) -> int:
        async with asyncio.timeout(30):
            await self._reading
            return await self.process.wait()

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                assert self.process.returncode is None, self.lines
                await asyncio.sleep(0.01)

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        await self.ended()


@asynccontextmanager
async def example(name: str, *words: str) -> AsyncGenerator[Program]:
    """stdout and stderr are one."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLES / name),
        *words,
        stdin=PIPE,
        stdout=PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    program = Program(process)
    try:
        yield program
    finally:
        await program.stop()


async def outcome(name: str, *words: str) -> tuple[int, list[str]]:
    async with example(name, *words) as program:
        return await program.ended(), program.lines


@asynccontextmanager
async def tree() -> AsyncGenerator[tuple[str, ...]]:
    """Dispatchers, and the examples' options for them."""
    options = DispatchOptions(token=TOKEN, listen=("127.0.0.1", 0))
    async with Dispatch(options, MemoryStore()) as service:
        assert service.forest.identity
        pin = service.forest.identity.pin
        yield "--to", f"127.0.0.1:{service.port}", "--tls-pin", pin, "--token-file", token_file(TOKEN)


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    path = tmp_path / "sent.bin"
    path.write_bytes(os.urandom(FILE_BYTES))
    return path


def contents(path: Path) -> bytes:
    return path.read_bytes()


@pytest.mark.slow
async def test_a_file_comes_to_all_hosts(tmp_path: Path, sent: Path) -> None:
    copies = [tmp_path / name for name in "ab"]
    async with tree() as where:
        receiving = [
            asyncio.create_task(outcome("file_distribution.py", "receive", str(copy), *where))
            for copy in copies
        ]
        code, said = await outcome("file_distribution.py", "send", str(sent), *where, "--hosts", "2")
        assert code == 0 and said[0].startswith(f"sent {sent}, SHA-256 "), said
        for copy, (code, said) in zip(copies, await asyncio.gather(*receiving), strict=True):
            assert code == 0 and f"received {copy}, {FILE_BYTES} bytes" in said[0], said
            assert contents(copy) == contents(sent)


async def test_the_file_demo(sent: Path) -> None:
    code, said = await outcome("file_distribution.py", "demo", str(sent), "--hosts", "3")
    assert code == 0 and sum("SHA-256 is right" in line for line in said) == 3, said


async def test_a_file_that_differs_is_not_given_its_name(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    async with tree() as where:
        receiving = asyncio.create_task(outcome("file_distribution.py", "receive", str(copy), *where))
        command = (sys.executable, "-m", "groupflow.cli.main", "tree", "send", *where)
        sender = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stderr=PIPE)
        await asyncio.wait_for(sender.communicate(b"data, and no digest of it: " + bytes(32)), 30)
        code, said = await receiving
    assert code == 1 and said == [f"error: {copy}: its SHA-256 differs from the sender's; receive it again"]
    assert not copy.exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("file_distribution.py", "demo", "/nope"), "error: [Errno 2] No such file"),
        (
            ("video.py", "show", "--to", "nowhere", "--tls-pin", "0" * 64, "--token-file", token_file("ab")),
            "error: ",
        ),
    ],
)
async def test_what_cannot_be_is_said_in_one_line(words: tuple[str, ...], text: str) -> None:
    code, said = await outcome(*words)
    assert code == 1 and len(said) == 1 and said[0].startswith(text), said


@pytest.mark.parametrize("name", ["file_distribution.py", "video.py"])
async def test_help_has_an_example(name: str) -> None:
    code, said = await outcome(name, "--help")
    assert code == 0 and any(f"python examples/{name}" in line for line in said)


def counts(lines: list[str]) -> list[tuple[int, ...]]:
    """Shown, late, skipped of each second."""
    found = (re.search(r"shown (\d+) late (\d+) skipped (\d+)", line) for line in lines)
    return [tuple(map(int, match.groups())) for match in found if match]


@pytest.mark.slow
async def test_a_viewer_that_is_held_up_goes_on_with_fresh_frames_and_others_do_not_notice() -> None:
    async with (
        tree() as where,
        example("video.py", "show", *where) as held,
        example("video.py", "show", *where) as other,
        example("video.py", "send", *where) as source,
    ):
        await held.until(lambda: counts(held.lines))
        await other.until(lambda: counts(other.lines))
        held.process.send_signal(signal.SIGSTOP)
        before = len(other.lines)
        await other.until(lambda: len(other.lines) >= before + 5)
        held.process.send_signal(signal.SIGCONT)
        # It skips, and then shows what it gets at once.
        await held.until(lambda: any(skipped for _, _, skipped in counts(held.lines)))
        fresh = len(held.lines) + 1
        await held.until(
            lambda: any(shown >= 20 and not late for shown, late, _ in counts(held.lines[fresh:]))
        )
        source.process.send_signal(signal.SIGINT)
        assert [await program.ended() for program in (source, held, other)] == [0, 0, 0]
        sent = int(source.lines[-1].split()[1])
        held_up, at_ease = counts(held.lines), counts(other.lines)
        assert sum(skipped for _, _, skipped in at_ease) == 0
        assert sum(skipped for _, _, skipped in held_up) >= 25
        # Frames have come whole: their numbers make sense.
        for each in (held_up, at_ease):
            assert sent - 25 <= sum(map(sum, each)) <= sent
