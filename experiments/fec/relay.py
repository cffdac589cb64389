"""A relay between clients and a server: of its TCP connections one at a time stalls.

`relay.py IP:PORT IP:PORT SECONDS PERIOD` listens at the first address and forwards to the second. Every
PERIOD seconds the next connection in turn stalls for SECONDS: nothing is read from it, and its window
closes. SECONDS 0: no stalls.
"""

import asyncio
import socket
import sys

from groupflow.units import parse_address

BUFFER = 4096
"""bytes of a connection's receive buffer, so that a stalled connection holds little"""


class Relay:
    def __init__(self, to: tuple[str, int]) -> None:
        self._to = to
        self._gates: list[asyncio.Event] = []

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forwards in both directions until one of them ends."""
        gate = asyncio.Event()
        gate.set()
        self._gates.append(gate)
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._to, limit=BUFFER)
            await asyncio.gather(_copy(reader, far_writer, gate), _copy(far_reader, writer, gate))
        except OSError:
            writer.close()
        finally:
            self._gates.remove(gate)

    async def hold(self, seconds: float, period: float) -> None:
        """Stalls one connection after the other, for ever."""
        turn = 0
        while True:
            await asyncio.sleep(period - seconds)
            if not self._gates:
                continue
            turn += 1
            gate = self._gates[turn % len(self._gates)]
            gate.clear()
            await asyncio.sleep(seconds)
            gate.set()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event) -> None:
    while chunk := await reader.read(BUFFER):
        await gate.wait()
        writer.write(chunk)
        await writer.drain()
    writer.write_eof()


async def main() -> None:
    listen, to = map(parse_address, sys.argv[1:3])
    seconds, period = map(float, sys.argv[3:5])
    relay = Relay(to)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)  # inherited by accepted connections
    listener.bind(listen)
    server = await asyncio.start_server(relay.accept, sock=listener, limit=BUFFER)
    print("ready", flush=True)
    async with server:
        if seconds > 0:
            await relay.hold(seconds, period)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
