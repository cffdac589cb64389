"""A clustered tree on loopback under random faults, while a stream runs:

    python -m tests.soak.tree --seed 4 --seconds 60 --hosts 30

Hosts join, also several at once, leave, are killed and stand still for seconds; so does the process of the
dispatchers, which comes back from the store at its address. No host that stays may get nothing for long or
end early, none may lack or double a byte or begin where it should not, and no process may end by itself. The
seed decides what is done, not when the machine gets to it.
"""

import argparse
import asyncio
import logging
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError
from groupflow.agents.events import Event
from groupflow.tree.options import TreeRecvOptions, TreeSendOptions
from tests.soak import stream
from tests.soak.dispatchers import Dispatchers

log = logging.getLogger("soak")

RATE = 250_000
"""bytes a second"""
STUCK_S = 30.0
"""time without a new byte that is a fault"""
FAREWELL_S = 60.0
"""time from the end of the stream to that of the last host"""
QUIET_S = 5.0
"""time before the end in which no host joins or stands still, as it might be back only after the end"""
PAUSE_S = (0.2, 4.0)
BETWEEN_S = (0.1, 1.2)
BURST = 6
FAULTS = {
    "kill": 3,
    "leave": 2,
    "come": 6,
    "burst": 1,
    "pause": 2,
    "kill_dispatchers": 2,
    "pause_dispatchers": 1,
}
"""weight of each fault among the others"""


@dataclass(eq=False)
class Member:
    """A host that receives."""

    agent: AgentProcess
    output: Path
    from_start: bool
    expected: bool = True
    """the host has to stay to the end"""
    paused: bool = False
    bytes: int = 0
    since: float = field(default_factory=time.monotonic)
    """time since when it has no new byte"""
    is_at_fault: bool = False
    """the fault has been reported"""

    @property
    def name(self) -> str:
        return self.agent.options.name

    @property
    def runs(self) -> bool:
        return self.agent.returncode is None and self.expected


class Soak:
    """One run."""

    def __init__(self, stack: AsyncExitStack, folder: Path, seed: int, seconds: float, hosts: int) -> None:
        self.faults: list[str] = []
        self.members: list[Member] = []
        self._stack = stack
        self._folder = folder
        self._random = random.Random(seed)
        self._token = secrets.token_hex(16)
        self._seconds = seconds
        self._hosts = hosts
        self._dispatchers: Dispatchers
        self._started = 0
        self._pauses: set[asyncio.Task[None]] = set()
        self._end = 0.0

    async def run(self) -> None:
        """Runs the soak. Raises an error for any fault of the programs: TimeoutError, AgentError."""
        await self._serve()
        options = TreeSendOptions(name="source", members=4, **self._common())
        source = await self._agent(options, piped_input=True)
        await asyncio.gather(*(self._join(from_start=True) for _ in range(self._hosts // 2)))
        self._end = time.monotonic() + self._seconds
        feed = asyncio.create_task(stream.write(source.data_in, seconds=self._seconds, rate=RATE))
        while not feed.done():
            await asyncio.sleep(self._random.uniform(*BETWEEN_S))
            if source.returncode is not None and time.monotonic() < self._end:
                raise RuntimeError(f"the source has ended: {source.latest.get('error')}")
            if feed.done():
                break
            self._watch()
            if time.monotonic() < self._end - 1:
                (fault,) = self._random.choices(list(FAULTS), list(FAULTS.values()))
                await getattr(self, f"_{fault}")()
        length = await feed
        await asyncio.gather(*self._pauses)
        log.info(
            "the stream has ended bytes=%d hosts=%d", length, sum(each.expected for each in self.members)
        )
        await asyncio.gather(
            self._finish("source", source),
            *(self._finish(each.name, each.agent) for each in self.members if each.expected),
        )
        self._check(length)

    def _common(self) -> dict[str, Any]:
        to, pin = self._dispatchers.address, self._dispatchers.pin
        return {"to": to, "tls_pin": pin, "token": self._token}

    def _number(self) -> int:
        self._started += 1
        return self._started

    async def _serve(self, port: int = 0) -> None:
        started = await Dispatchers(self._folder, self._token, self._number()).start(port)
        self._stack.push_async_callback(started.kill)
        self._dispatchers = started

    async def _join(self, *, from_start: bool = False) -> None:
        name = f"host{self._number()}"
        output, start = self._folder / f"{name}.bin", "start" if from_start else "now"
        options = TreeRecvOptions(name=name, output=output, start=start, **self._common())
        self.members.append(Member(await self._agent(options), output, from_start))

    async def _agent(
        self, options: TreeSendOptions | TreeRecvOptions, *, piped_input: bool = False
    ) -> AgentProcess:
        """An agent with a file of its events."""
        events = self._stack.enter_context((self._folder / f"{options.name}.log").open("w", buffering=1))

        def write(event: Event) -> None:
            if event.name != "progress":
                print(f"{event.time:.3f} {event.name} {dict(event.fields)}", file=events)

        return await self._stack.enter_async_context(
            AgentProcess(options, on_event=write, piped_input=piped_input)
        )

    def _some(self) -> list[Member]:
        """Hosts that may be disturbed."""
        return [member for member in self.members if member.runs and not member.paused]

    def _is_quiet(self) -> bool:
        return time.monotonic() > self._end - QUIET_S

    async def _kill(self) -> None:
        if len(some := self._some()) > self._hosts / 3:
            member = self._random.choice(some)
            log.info("kill %s", member.name)
            member.expected = False
            member.agent.signal(signal.SIGKILL)

    async def _leave(self) -> None:
        if len(some := self._some()) > self._hosts / 3:
            member = self._random.choice(some)
            log.info("leave %s", member.name)
            member.expected = False
            member.agent.signal(signal.SIGTERM)

    async def _come(self, number: int = 1) -> None:
        number = min(number, self._hosts - len(self._some()))
        if number > 0 and not self._is_quiet():
            log.info("join %d", number)
            await asyncio.gather(*(self._join() for _ in range(number)))

    async def _burst(self) -> None:
        await self._come(BURST)

    async def _pause(self) -> None:
        if self._is_quiet() or not (some := self._some()):
            return
        member, seconds = self._random.choice(some), self._random.uniform(*PAUSE_S)
        log.info("pause %s %.1f s", member.name, seconds)
        member.paused = True
        member.agent.signal(signal.SIGSTOP)

        def go_on() -> None:
            member.paused, member.since = False, time.monotonic()
            member.agent.signal(signal.SIGCONT)

        self._after(seconds, go_on)

    async def _kill_dispatchers(self) -> None:
        dead = self._dispatchers
        if dead.attends:
            log.info("kill %s, and begin again", dead.name)
            await dead.kill()
            await self._serve(dead.port)

    async def _pause_dispatchers(self) -> None:
        still, seconds = self._dispatchers, self._random.uniform(*PAUSE_S)
        if still.attends:
            log.info("pause %s %.1f s", still.name, seconds)
            still.pause()
            self._after(seconds, still.go_on)

    def _after(self, seconds: float, work: Callable[[], None]) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds)
            work()

        task = asyncio.create_task(wait())
        self._pauses.add(task)
        task.add_done_callback(self._pauses.discard)

    def _fault(self, message: str) -> None:
        log.error("FAULT %s", message)
        self.faults.append(message)

    def _watch(self) -> None:
        """Watches the hosts while the stream runs."""
        if self._dispatchers.has_ended:
            raise RuntimeError(f"{self._dispatchers.name} ended by itself")
        now = time.monotonic()
        for member in self.members:
            if not member.expected or member.is_at_fault:
                continue
            progress = member.agent.latest.get("progress")
            held = progress.integer("bytes") if progress else 0
            if held != member.bytes or member.paused:
                member.bytes, member.since = held, now
            if member.agent.returncode is not None:
                member.is_at_fault = True
                self._fault(f"{member.name} ended with {member.agent.returncode} at byte {held}")
            elif now > member.since + STUCK_S:
                member.is_at_fault = True
                self._fault(f"{member.name} has had nothing for {STUCK_S:.0f} s, at byte {held}")

    async def _finish(self, name: str, agent: AgentProcess) -> None:
        try:
            await asyncio.wait_for(agent.finish(), FAREWELL_S)
        except TimeoutError:
            self._fault(f"{name} has not ended {FAREWELL_S:.0f} s after the stream")
        except AgentError as error:
            self._fault(f"{name}: {error}")

    def _check(self, length: int) -> None:
        """Checks all outputs, also of hosts that were killed or left, which have a correct part."""
        for member in self.members:
            offset, end = 0 if member.from_start else None, length if member.expected else None
            part = member.output.with_name(f"{member.output.name}.part")
            if fault := stream.fault(part if part.exists() else member.output, offset=offset, end=end):
                self._fault(f"{member.name}: {fault}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the stream")
    parser.add_argument("--hosts", type=int, default=30, help="at most")
    return parser.parse_args()


async def _run(options: argparse.Namespace) -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="groupflow-soak-"))
    async with AsyncExitStack() as stack:
        soak = Soak(stack, folder, options.seed, options.seconds, options.hosts)
        try:
            await soak.run()
        except (RuntimeError, ConnectionError) as error:
            soak.faults.append(str(error))
            log.error("FAULT %s", error)
    _tidy(folder, keep=bool(soak.faults))
    return soak.faults


def _tidy(folder: Path, *, keep: bool) -> None:
    for output in folder.glob("*.bin*"):
        output.unlink()
    if keep:
        log.info("what the processes said: %s", folder)
    else:
        shutil.rmtree(folder)


def main() -> int:
    """Exit code 0: no fault."""
    options = _options()
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)7d ms %(message)s", stream=sys.stdout)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    faults = asyncio.run(_run(options))
    log.info("seed=%d faults=%d", options.seed, len(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
