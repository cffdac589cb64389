"""`python -m experiments.nats.publisher URL`: publishes stdin, each message with its place in the stream."""

# pyright: reportUnknownMemberType=false
# (nats-py is typed in part.)

import asyncio
import sys

import nats

from experiments.nats.subscriber import SUBJECT

MESSAGE = 16 << 10
"""most bytes of a message, as in a block of the tree"""
PLACE = 8
"""bytes before the message: its place in the stream"""


async def main(url: str) -> None:
    """Publishes to the end of stdin."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    client = await nats.connect(url)
    done = 0
    while chunk := await reader.read(MESSAGE):
        await client.publish(SUBJECT, done.to_bytes(PLACE) + chunk)
        done += len(chunk)
    await client.flush()
    await client.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
