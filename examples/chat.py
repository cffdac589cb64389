"""A chat: participants send lines to a room, and the room's tree brings all lines to all, in one order.

A tree has one source. So the room is the source: a writer sends it lines over a connection of its own, and a
reader is a host of its tree. All of it on this machine:

    python examples/chat.py demo

In several terminals, or on several hosts; the room prints what participants write instead of the dots:

    python examples/chat.py room --listen 10.0.0.1
    python examples/chat.py join ann --to 10.0.0.1:26495 --tls-pin ... --room 10.0.0.1:26496

Ctrl-D or Ctrl-C leaves. When the room ends, the chat is over.
"""

import asyncio
import hmac
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from common import Tree, add_tree_arguments, dispatchers, line, parser, run, stopped, tree_of, typed
from groupflow import TreeSession
from groupflow.tree.questions import connect


@asynccontextmanager
async def room(host: str, port: int) -> AsyncGenerator[tuple[Tree, str]]:
    """The dispatchers, the source, and at the next port a server for writers."""
    async with (
        dispatchers(host, port) as (tree, service),
        TreeSession(tree.to, role="sender", tls_pin=tree.tls_pin, token=tree.token, members=0) as source,
    ):

        async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, ValueError):  # the writer is gone, or its line is longer than `limit`
                token, name = await line(reader), await line(reader)
                if name and hmac.compare_digest(str(token).encode(), tree.token.encode()):
                    await say(source, f"* {name} is here")
                    try:
                        while (text := await line(reader)) is not None:
                            await say(source, f"{name}: {text}")
                    finally:
                        if server.is_serving():
                            await say(source, f"* {name} has left")
            writer.close()

        identity = service.forest.identity
        context = identity.context() if identity else None
        server = await asyncio.start_server(hear, host, port and port + 1, limit=4096, ssl=context)
        yield tree, f"{host}:{server.sockets[0].getsockname()[1]}"
        server.close()
        await say(source, "* the room closes")


async def say(source: TreeSession, text: str) -> None:
    # A newline on both sides: a reader that joins in the middle of a line leaves out all before the first.
    await source.send(f"\n{text}\n".encode())


async def join(
    tree: Tree, where: str, name: str, lines: AsyncIterator[str], show: Callable[[str], None]
) -> None:
    """Shows the lines from now on, and sends `lines`; until these end, or the room does."""
    async with TreeSession(tree.to, role="receiver", tls_pin=tree.tls_pin, token=tree.token) as session:
        _, writer = await connect(where, tree.tls_pin)
        hearing = asyncio.create_task(read(session, show))
        writing = asyncio.create_task(write(writer, [tree.token, name], lines))
        try:
            done, _ = await asyncio.wait({hearing, writing}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await task
        finally:
            hearing.cancel()
            writing.cancel()
            writer.close()


async def read(session: TreeSession, show: Callable[[str], None]) -> None:
    begun, rest = False, b""
    async for chunk in session.stream():
        *whole, rest = (rest + chunk).split(b"\n")
        for text in whole if begun else whole[1:]:
            if text:
                show(text.decode(errors="replace"))
        begun = begun or bool(whole)


async def write(writer: asyncio.StreamWriter, first: list[str], lines: AsyncIterator[str]) -> None:
    writer.writelines(f"{text}\n".encode() for text in first)
    async for text in lines:
        writer.write(f"{text}\n".encode())
        await writer.drain()


async def serve(host: str, port: int) -> None:
    stop = stopped()
    async with room(host, port) as (tree, where):
        print(
            f"join NAME --to {tree.to} --tls-pin {tree.tls_pin} --room {where}"
            f" with GROUPFLOW_TOKEN={tree.token}",
            flush=True,
        )
        await stop.wait()


async def demo() -> None:
    scripts = {"ann": ["hello", "who is here?"], "bob": ["me", "and I"], "eve": ["good morning"]}
    all_are_here = asyncio.Barrier(len(scripts))

    async def script(name: str) -> AsyncIterator[str]:
        await all_are_here.wait()
        for text in scripts[name]:
            yield text
            await asyncio.sleep(0.3)

    async with room("127.0.0.1", 0) as (tree, where), asyncio.TaskGroup() as tasks:
        for name in scripts:
            tasks.create_task(
                join(tree, where, name, script(name), lambda text, name=name: print(f"{name} | {text}"))
            )


def main() -> int:
    arguments = parser(__doc__)
    commands = arguments.add_subparsers(dest="command", required=True)
    listen, member = commands.add_parser("room"), commands.add_parser("join")
    commands.add_parser("demo")
    listen.add_argument("--listen", default="127.0.0.1", metavar="IP", help="(default: %(default)s)")
    listen.add_argument("--port", type=int, default=26495, help="with the next port (default: %(default)s)")
    member.add_argument("name")
    add_tree_arguments(member)
    member.add_argument("--room", required=True, metavar="IP:PORT", help="the address that the room prints")
    args = arguments.parse_args()
    match args.command:
        case "room":
            return run(serve(args.listen, args.port))
        case "join":
            show = partial(print, flush=True)
            return run(join(tree_of(args), args.room, args.name, typed(), show))
        case _:
            return run(demo())


if __name__ == "__main__":
    sys.exit(main())
