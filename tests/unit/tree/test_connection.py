"""A host's connection to the dispatchers."""

import asyncio
import ssl

import pytest

from groupflow.tree.connection import Connection, Identity, address_of, gives_way, listen


@pytest.mark.parametrize("encrypted", [False, True])
async def test_who_is_let_go_is_told_nothing_more(encrypted: bool) -> None:
    accepted: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(Connection(reader, writer))

    server = await listen(("127.0.0.1", 0), accept, Identity.make().context() if encrypted else None)
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(*address_of(server), ssl=trusting if encrypted else None)
    connection = await accepted
    connection.send({"alive": True})
    assert await reader.readline() == b'{"alive": true}\n'
    connection.writer.transport.abort()
    connection.send({"alive": True})
    connection.writer.close()  # as who serves it does in the end
    connection.send({"alive": True})
    connection.refuse("ended", "the source has left")
    assert await reader.read() == b""
    writer.close()
    server.close()


async def test_a_refusal_is_the_last_line() -> None:
    accepted: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(Connection(reader, writer))

    server = await listen(("127.0.0.1", 0), accept, None)
    reader, writer = await asyncio.open_connection(*address_of(server))
    connection = await accepted
    connection.refuse("ended", "the source has left")
    connection.send({"alive": True})
    connection.writer.close()
    assert (await reader.read()).splitlines() == [
        b'{"refused": {"code": "ended", "text": "the source has left"}}'
    ]
    writer.close()
    server.close()


def test_the_oldest_of_the_source_with_most_gives_way() -> None:
    assert gives_way({}) is None
    assert gives_way({1: "a", 2: "b", 3: "b", 4: "c"}) == 2
    assert gives_way({1: "a", 2: "b"}) == 1
