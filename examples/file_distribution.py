"""A file to many hosts, which pass it on to each other; each checks its SHA-256.

All of it on this machine:

    python examples/file_distribution.py demo data.bin --hosts 4

On several, or in several terminals: `groupflow tree serve` with $GROUPFLOW_TOKEN prints a fingerprint.
With that in GROUPFLOW_TLS_PIN:

    python examples/file_distribution.py receive copy.bin --to 10.0.0.1:26495         # on each host
    python examples/file_distribution.py send data.bin --to 10.0.0.1:26495 --hosts 4
"""

import asyncio
import hashlib
import sys
import tempfile
import time
from pathlib import Path

from common import ExampleError, Tree, add_tree_arguments, dispatchers, parser, run, tree_of
from groupflow import TreeSession

DIGEST = hashlib.sha256().digest_size
"""the last bytes of the stream"""
CHUNK = 256 << 10


async def send(tree: Tree, path: Path, hosts: int) -> None:
    """Sends a file: begins when all hosts have joined, and ends when every host has all of it."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        async with TreeSession(
            tree.to, role="sender", tls_pin=tree.tls_pin, token=tree.token, members=hosts
        ) as session:
            while chunk := await asyncio.to_thread(file.read, CHUNK):
                digest.update(chunk)
                await session.send(chunk)
            await session.send(digest.digest())
    print(f"sent {path}, SHA-256 {digest.hexdigest()}")


async def receive(tree: Tree, path: Path, children: int | None = None) -> None:
    """Receives a file, which gets its name when it is complete and right."""
    digest, held, size, began = hashlib.sha256(), b"", 0, time.monotonic()
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        async with TreeSession(
            tree.to, role="receiver", tls_pin=tree.tls_pin, token=tree.token, start="start",
            children=children,
        ) as session:  # fmt: skip
            async for chunk in session.stream():
                held += chunk
                data, held = held[:-DIGEST], held[-DIGEST:]
                digest.update(data)
                size += await asyncio.to_thread(file.write, data)
    if held != digest.digest():
        raise ExampleError(f"{path}: its SHA-256 differs from the sender's; receive it again")
    part.rename(path)
    seconds = time.monotonic() - began
    print(f"received {path}, {size} bytes in {seconds:.1f} s, SHA-256 is right", flush=True)


async def demo(path: Path, hosts: int) -> None:
    """Runs a tree in which each host serves at most two others, so that not all are below the source."""
    with tempfile.TemporaryDirectory() as folder:
        async with dispatchers() as (tree, _), asyncio.TaskGroup() as tasks:
            for number in range(1, hosts + 1):
                tasks.create_task(receive(tree, Path(folder, f"copy{number}.bin"), children=2))
            await send(tree, path, hosts)


def main() -> int:
    arguments = parser(__doc__)
    commands = arguments.add_subparsers(dest="command", required=True)
    for name in ("send", "receive", "demo"):
        command = commands.add_parser(name)
        command.add_argument("path", type=Path, help="the file")
        if name != "demo":
            add_tree_arguments(command)
        if name != "receive":
            command.add_argument("--hosts", type=int, default=4, help="receivers (default: %(default)s)")
    args = arguments.parse_args()
    match args.command:
        case "send":
            return run(send(tree_of(args), args.path, args.hosts))
        case "receive":
            return run(receive(tree_of(args), args.path))
        case _:
            return run(demo(args.path, args.hosts))


if __name__ == "__main__":
    sys.exit(main())
