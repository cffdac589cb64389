"""Hosts that serve others die, one after the other, while the stream runs: the time that hosts below them get
no new byte, and whether a byte is lost or doubled."""

import asyncio
import secrets
import signal
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from groupflow.agents.agent_process import AgentProcess
from groupflow.lab.network import Network
from groupflow.lab.trees import Dispatchers, Source, Subscriber, address, finish, served
from groupflow.processes import until
from groupflow.study import RunFailedError
from groupflow.tree.options import TreeRecvOptions, TreeSendOptions

SOURCE = "h1"
SUBSCRIBERS = ("h2", "h3", "h4", "h2", "h3", "h4", "h2", "h3", "h4")
"""hosts of the star; several in each, which take children at ports of their own"""
CHILDREN = 2
RATE_BPS = 4_000_000
LIMIT_S = 1.0
"""time that a repair must stay below"""
Death: TypeAlias = Literal["killed", "silent", "head"]
"""`killed`: the kernel closes its connections at once. `silent`: as when its machine has lost its power; it
is stopped, and others notice its silence. `head`: the head of one of several clusters is killed."""
_SMALL_CLUSTERS = ("--max-members", "4")
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Repair:
    """The repair after one host's death."""

    orphans: int
    seconds: float
    """the longest time that one of the hosts below it had no new byte"""
    death: Death


async def measure(
    network: Network, kills: int, death: Death = "killed", *, plain: bool = False
) -> list[Repair]:
    """Kills hosts one after the other. Raises RunFailedError, ClientError."""
    async with AsyncExitStack() as stack:
        token = secrets.token_hex(16)
        words = _SMALL_CLUSTERS if death == "head" else ()
        service = await stack.enter_async_context(
            served(network.hosts[SOURCE].launcher(), token, plain=plain, words=words)
        )
        pin = service.pin
        to = address(network, SOURCE)
        source = AgentProcess(
            TreeSendOptions(
                name=SOURCE, to=to, token=token, tls_pin=pin, children=CHILDREN, members=len(SUBSCRIBERS)
            ),
            launcher=network.hosts[SOURCE].launcher(),
            piped_input=True,
        )
        await stack.enter_async_context(source)
        subscribers: list[Subscriber] = []
        for number, host in enumerate(SUBSCRIBERS):
            options = TreeRecvOptions(
                name=f"{host}-{number}", to=to, token=token, tls_pin=pin, children=CHILDREN, start="start"
            )
            subscriber = Subscriber(options, network.hosts[host].launcher())
            subscribers.append(await stack.enter_async_context(subscriber))
        return await _kill(source, subscribers, kills, service, death)


async def _kill(
    source: AgentProcess, subscribers: list[Subscriber], kills: int, service: Dispatchers, death: Death
) -> list[Repair]:
    repairs: list[Repair] = []
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        reading = {each: tasks.create_task(each.read()) for each in subscribers}
        stream = Source(source.data_in)
        writing = tasks.create_task(stream.write(RATE_BPS, stop))
        for _ in range(kills):
            await _settled(list(reading))
            victim = await _victim(list(reading), service, death)
            orphans = [each for each in reading if each.host in victim.children]
            if not orphans:
                raise RunFailedError(
                    f"the hosts below {victim.options.name} have left: there is nothing to repair"
                )
            task = reading.pop(victim)
            at = time.monotonic()
            victim.signal(signal.SIGSTOP if death == "silent" else signal.SIGKILL)
            seconds = await _served_again(orphans, at)
            repairs.append(Repair(len(orphans), seconds, death))
            victim.signal(signal.SIGKILL)
            await task
        stop.set()
        await asyncio.wait_for(source.finish(), _PATIENCE_S)
        await writing
        for each, task in reading.items():
            await asyncio.wait_for(finish(each, task), _PATIENCE_S)
            if each.received != stream.sent:
                raise RunFailedError(f"{each.options.name} has {each.received} of {stream.sent} bytes")
    return repairs


async def _victim(subscribers: list[Subscriber], service: Dispatchers, death: Death) -> Subscriber:
    """The host that serves most others; the head of a cluster, if a head is to die."""
    heads = await service.heads() if death == "head" else None
    able = [each for each in subscribers if each.children and (heads is None or each.host in heads)]
    if not able:
        raise RunFailedError("no host serves others: there is nothing to repair")
    return max(able, key=lambda each: len(each.children))


async def _settled(subscribers: list[Subscriber]) -> None:
    """Waits until all receive, with up-to-date reports of their children."""
    since = time.monotonic()
    if not await until(lambda: all(_is_steady(each, since) for each in subscribers), _PATIENCE_S):
        raise RunFailedError("not all hosts receive the stream")


def _is_steady(subscriber: Subscriber, since: float) -> bool:
    """Whether bytes came for a second from `since` on, with a progress event of the last of that second."""
    arrivals = subscriber.arrivals
    return bool(arrivals) and arrivals[-1].at >= since + 1.0


async def _served_again(orphans: list[Subscriber], at: float) -> float:
    """The longest silence of any orphan, in the two seconds after the kill or until all are served."""

    def served() -> bool:
        last = min(each.arrivals[-1].at for each in orphans)
        return last > at + 0.2 and time.monotonic() > at + 2.0

    if not await until(served, _PATIENCE_S):
        raise RunFailedError("not all hosts whose parent was killed have another")
    return max(_longest_silence(each, at) for each in orphans)


def _longest_silence(subscriber: Subscriber, at: float) -> float:
    """Seconds of silence. Bytes on the way when the parent was killed come within milliseconds."""
    times = [at, *(arrival.at for arrival in subscriber.arrivals if arrival.at > at)]
    return max((later - earlier for earlier, later in pairwise(times)), default=float("inf"))
