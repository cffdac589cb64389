"""A stream of frames with a deadline: a host that falls behind skips late data, and others do not notice.

All of it on this machine, for 10 seconds:

    python examples/video.py demo --seconds 10

On several, or in several terminals: `groupflow tree serve` with $GROUPFLOW_TOKEN prints a fingerprint.
With that in GROUPFLOW_TLS_PIN:

    python examples/video.py show --to 10.0.0.1:26495         # on each host; Ctrl-Z holds it up, fg goes on
    python examples/video.py send --to 10.0.0.1:26495

Latencies are from one host's clock to another's, so a difference between clocks is part of them.
"""

import asyncio
import struct
import sys
import time
from dataclasses import dataclass, field

from common import Tree, add_tree_arguments, dispatchers, parser, run, stopped, tree_of
from groupflow import TreeSession

RATE = 25
"""frames a second"""
FRAME = 20_000
"""bytes of each"""
HEADER = struct.Struct(">QQ")
"""the frame's number, and its time of sending in Unix nanoseconds"""
CACHE = 2 * RATE * FRAME
"""a host holds 2 s; a child that is half of it behind, or more, skips"""
DEADLINE_MS = 200
"""age above which a frame is not shown"""


async def send(tree: Tree, seconds: float) -> None:
    stop, count = stopped(), 0
    async with TreeSession(
        tree.to, role="sender", tls_pin=tree.tls_pin, token=tree.token,
        slow="skip", align=FRAME, cache=CACHE,
    ) as session:  # fmt: skip
        began = time.monotonic()
        while not stop.is_set() and count < seconds * RATE:
            await session.send(HEADER.pack(count, time.time_ns()).ljust(FRAME, b"\0"))
            count += 1
            await asyncio.sleep(began + count / RATE - time.monotonic())
    print(f"sent {count} frames", flush=True)


@dataclass
class Counts:
    """Counts of a second."""

    shown: int = 0
    late: int = 0
    skipped: int = 0
    latencies_ms: list[float] = field(default_factory=list[float])

    def line(self) -> str:
        of_shown = sorted(self.latencies_ms)
        median = f"{of_shown[len(of_shown) // 2]:.1f}" if of_shown else "-"
        return f"shown {self.shown} late {self.late} skipped {self.skipped} latency_ms {median}"


async def show(tree: Tree, name: str) -> None:
    """Receives frames and counts them. Late frames are left out by the tree (skipped) or here (late)."""
    counts, expected, told = Counts(), None, time.monotonic()
    async with TreeSession(
        tree.to, role="receiver", tls_pin=tree.tls_pin, token=tree.token,
        slow="skip", align=FRAME, cache=CACHE,
    ) as session:  # fmt: skip
        async for frame in session.records():
            number, sent = HEADER.unpack_from(frame)
            latency_ms = (time.time_ns() - sent) / 1e6
            counts.skipped += number - (number if expected is None else expected)
            expected = number + 1
            if latency_ms > DEADLINE_MS:
                counts.late += 1
            else:
                counts.shown += 1
                counts.latencies_ms.append(latency_ms)
            if time.monotonic() >= told + 1:
                print(f"{name}: {counts.line()}", flush=True)
                counts, told = Counts(), time.monotonic()
    print(f"{name}: {counts.line()}\n{name}: the stream has ended", flush=True)


async def demo(seconds: float, viewers: int) -> None:
    async with dispatchers() as (tree, _), asyncio.TaskGroup() as tasks:
        for number in range(1, viewers + 1):
            tasks.create_task(show(tree, f"viewer {number}"))
        await send(tree, seconds)


def main() -> int:
    arguments = parser(__doc__)
    commands = arguments.add_subparsers(dest="command", required=True)
    for name in ("send", "show", "demo"):
        command = commands.add_parser(name)
        if name != "demo":
            add_tree_arguments(command)
        if name != "show":
            command.add_argument("--seconds", type=float, default=3600.0, help="(default: %(default)g)")
    args = arguments.parse_args()
    match args.command:
        case "send":
            return run(send(tree_of(args), args.seconds))
        case "show":
            return run(show(tree_of(args), "viewer"))
        case _:
            return run(demo(args.seconds, viewers=3))


if __name__ == "__main__":
    sys.exit(main())
