"""Parts that the examples share: a tree's address, a tree for a demo, and the end of a program."""

import argparse
import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groupflow.errors import Error, foreseen
from groupflow.store.interface import MemoryStore
from groupflow.tree.options import DispatchOptions
from groupflow.tree.service import Dispatch


class ExampleError(Error):
    """One line: cause; cure."""


@dataclass(frozen=True)
class Tree:
    """Address of a tree's dispatchers, and the secrets with which a host joins."""

    to: str
    """IP:PORT of the dispatchers"""
    tls_pin: str
    """SHA-256 of the tree's certificate, by which hosts identify the dispatchers"""
    token: str = field(repr=False)
    """token by which the dispatchers identify hosts"""


def add_tree_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", required=True, metavar="IP:PORT", help="address of `groupflow tree serve`")
    known = os.environ.get("GROUPFLOW_TLS_PIN")
    parser.add_argument(
        "--tls-pin", metavar="HEX", default=known, required=known is None,
        help="the fingerprint that it prints (or $GROUPFLOW_TLS_PIN)",
    )  # fmt: skip
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="file with the tree's token (or $GROUPFLOW_TOKEN)"
    )


def tree_of(args: argparse.Namespace) -> Tree:
    token = args.token_file.read_text().strip() if args.token_file else os.environ.get("GROUPFLOW_TOKEN", "")
    return Tree(args.to, args.tls_pin, token)


@asynccontextmanager
async def dispatchers(host: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[tuple[Tree, Dispatch]]:
    """Runs the service of `groupflow tree serve` in this process."""
    token = secrets.token_hex(16)
    async with Dispatch(DispatchOptions(token=token, listen=(host, port)), MemoryStore()) as service:
        identity = service.forest.identity
        assert identity is not None
        yield Tree(f"{host}:{service.port}", identity.pin, token), service


def stopped() -> asyncio.Event:
    """An event set by the first Ctrl-C (or SIGTERM), to end a stream; the second ends the program."""
    event, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        event.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    return event


def parser(description: str | None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def run(main: Coroutine[Any, Any, None]) -> int:
    """Runs a program. Its exit code: 0, 130 after Ctrl-C, or 1 with one line that says why."""
    try:
        asyncio.run(main)
    except KeyboardInterrupt:
        return 130
    except (Error, OSError, ExceptionGroup) as error:
        known = foreseen(error)
        if known is None:
            raise
        print(f"error: {known}", file=sys.stderr)
        return 1
    return 0
