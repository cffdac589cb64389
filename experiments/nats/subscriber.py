"""`python -m experiments.nats.subscriber URL`: writes received messages to stdout, each after its length."""

# pyright: reportUnknownMemberType=false
# (nats-py is typed in part.)

import asyncio
import sys

import nats
from nats.aio.msg import Msg

SUBJECT = "stream"


async def main(url: str) -> None:
    """Runs until it is stopped. Its first line says that it is subscribed."""
    out = sys.stdout.buffer

    async def on_message(message: Msg) -> None:
        out.write(len(message.data).to_bytes(4) + message.data)
        out.flush()

    client = await nats.connect(url)
    await client.subscribe(SUBJECT, cb=on_message)
    await client.flush()
    out.write(b"ready\n")
    out.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
