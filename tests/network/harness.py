"""A controlled network for a test, and its operations: send, receive, wait, compare."""

import asyncio
import hashlib
import json
import random
import subprocess
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError
from groupflow.agents.events import Event
from groupflow.agents.options import CacheOptions, RecvOptions, SendOptions, Start
from groupflow.files import variants
from groupflow.lab.controller_process import ControllerProcess, SessionAccess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import Network, running
from groupflow.lab.registry import SwitchKind
from groupflow.model.topology import Topology

MIB = 1 << 20
ROOT = Path(__file__).parents[2]
NOBODY = (
    *("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)
"""Runs a command as nobody, who may read a checkout of root's all the same."""
_Result = TypeVar("_Result")
FRAME, PAYLOAD = 1514, 1448
"""bytes of a full frame, and of the file in it"""


@dataclass
class Lab:
    """A running network, controlled; cache agents come with `caches`."""

    network: Network
    controller: ControllerProcess
    folder: Path

    @property
    def topology(self) -> Topology:
        return self.network.topology

    def receivers(self, sender: str = "ma1") -> list[str]:
        agents = variants.agents(self.topology)
        return [name for name in self.topology.hosts if name != sender and name not in agents]

    def session(self, mode: str = "e2e", policy: str = "strict", **more: object) -> SessionAccess:
        return self.controller.create_session(mode, policy, **more)

    def file(self, size: int, seed: int = 1) -> Path:
        """A file of repeatable random bytes."""
        path = self.folder / f"sent-{size}-{seed}.bin"
        path.write_bytes(random.Random(seed).randbytes(size))
        return path

    def cache(self, host: str) -> AgentProcess:
        return AgentProcess(CacheOptions(name=host), launcher=self.network.hosts[host].launcher())

    def receiver(
        self,
        session: SessionAccess,
        host: str,
        *,
        start: Start = "now",
        output: Path | None = None,
        source: int | None = None,
        token: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> AgentProcess:
        options = RecvOptions(
            session=session.id,
            token=session.token if token is None else token,
            name=host,
            output=output or self.output(session, host),
            start=start,
            source=source,
        )
        return AgentProcess(options, launcher=self.network.hosts[host].launcher(), on_event=on_event)

    def unread(self, session: SessionAccess, host: str) -> AgentProcess:
        """A receiver whose output nobody reads: it answers polls, and acknowledges no more than it has room
        for."""
        options = RecvOptions(session=session.id, token=session.token, name=host, start="start")
        return AgentProcess(options, launcher=self.network.hosts[host].launcher())

    def sender(
        self,
        session: SessionAccess,
        host: str,
        file: Path,
        members: int,
        *,
        on_event: Callable[[Event], None] | None = None,
    ) -> AgentProcess:
        options = SendOptions(session=session.id, token=session.token, name=host, file=file, members=members)
        return AgentProcess(options, launcher=self.network.hosts[host].launcher(), on_event=on_event)

    def output(self, session: SessionAccess, host: str) -> Path:
        return self.folder / f"received-{session.id}-{host}.bin"

    @asynccontextmanager
    async def caches(self) -> AsyncGenerator[dict[str, AgentProcess]]:
        """Starts every cache agent of the topology, and waits until all have joined."""
        async with AsyncExitStack() as stack:
            agents = {
                name: await stack.enter_async_context(self.cache(name))
                for name in sorted(variants.agents(self.topology))
            }
            for agent in agents.values():
                await agent.wait_for("joined")
            yield agents

    @asynccontextmanager
    async def receiving(
        self, session: SessionAccess, names: Iterable[str]
    ) -> AsyncGenerator[dict[str, AgentProcess]]:
        """Receivers, all joined."""
        async with AsyncExitStack() as stack:
            agents = {name: await stack.enter_async_context(self.receiver(session, name)) for name in names}
            for agent in agents.values():
                await agent.wait_for("joined")
            yield agents

    @asynccontextmanager
    async def transfer(
        self,
        session: SessionAccess,
        file: Path,
        *,
        sender: str = "ma1",
        receivers: Iterable[str] | None = None,
    ) -> AsyncGenerator["Transfer"]:
        """The file on its way from `sender` to all `receivers` (default: all), after all have joined."""
        names = list(self.receivers(sender) if receivers is None else receivers)
        async with AsyncExitStack() as stack:
            receiving = await stack.enter_async_context(self.receiving(session, names))
            sending = await stack.enter_async_context(self.sender(session, sender, file, len(names)))
            stack.push_async_callback(AgentProcess.stop_all, (sending, *receiving.values()))
            yield Transfer(self, session, file, sending, receiving)


MakeLab: TypeAlias = Callable[[Topology], AbstractContextManager[Lab]]
"""builds a network for one test, which may break it"""


@dataclass
class Transfer:
    """One file on its way. A test may disturb it, then reads `outcome`."""

    lab: Lab
    session: SessionAccess
    file: Path
    sender: AgentProcess
    receivers: dict[str, AgentProcess]

    async def until(self, share: float, seconds: float = 30.0) -> None:
        """Waits until every receiver has this share of the file."""
        size = self.file.stat().st_size

        def far_enough() -> bool:
            return all(received(agent) >= share * size for agent in self.receivers.values())

        await eventually(far_enough, seconds, f"every receiver has {share:.0%} of the file")

    async def outcome(self, seconds: float = 60.0) -> "Outcome":
        """Waits until all agents have ended, each in its own way; fails the test when one hangs."""
        agents = {"sender": self.sender, **self.receivers}
        ends: dict[str, Event | AgentError] = {}

        async def end(name: str, agent: AgentProcess) -> None:
            try:
                ends[name] = await agent.finish()
            except AgentError as error:
                ends[name] = error

        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(end(name, agent) for name, agent in agents.items()))
        except TimeoutError:
            raise AssertionError(f"still not ended after {seconds:g} s: {self._standing(ends)}") from None
        digest = sha256(self.file)
        equal = {name: sha256(self.lab.output(self.session, name)) == digest for name in self.receivers}
        last = self.sender.latest.get("error") or self.sender.latest.get("complete")
        return Outcome(
            sender=ends.pop("sender"),
            receivers=ends,
            equal=equal,
            started=self.sender.latest.get("started"),
            sender_ended=last.time if last else 0.0,
        )

    def _standing(self, ends: Mapping[str, Event | AgentError]) -> str:
        """The last events of the agents that have not ended, the ends of the others, and the session."""
        agents = {"sender": self.sender, **self.receivers}
        lines = [f"{name}: {ends.get(name) or agent.latest}" for name, agent in agents.items()]
        lines.append(f"the controller's session: {self.lab.controller.get(f'/sessions/{self.session.id}')}")
        return "\n".join((", ".join(sorted(agents.keys() - ends.keys())), *lines))


@dataclass(frozen=True)
class Outcome:
    sender: Event | AgentError
    """the sender's `complete` event, or the error that ended it"""
    receivers: Mapping[str, Event | AgentError]
    equal: Mapping[str, bool]
    """whether the received file is the sent one, by receiver"""
    started: Event | None = field(repr=False)
    sender_ended: float
    """Unix time of the sender's last event"""

    def assert_everyone_has_it(self) -> None:
        assert isinstance(self.sender, Event), f"the sender failed: {self.sender}"
        assert self.sender.texts("lost") == ()
        failed = {name: end for name, end in self.receivers.items() if not isinstance(end, Event)}
        assert not failed
        assert all(self.equal.values()), f"files differ: {[n for n, same in self.equal.items() if not same]}"

    def seconds(self) -> dict[str, float]:
        """Time from the sender's first packet until each receiver was complete."""
        assert self.started is not None
        return {
            name: end.time - self.started.time
            for name, end in self.receivers.items()
            if isinstance(end, Event)
        }


@contextmanager
def laboratory(topology: Topology, folder: Path, kind: SwitchKind = "gfswitch") -> Generator[Lab]:
    """The topology running under a controller, until the end of the block."""
    with running(topology, folder / "logs", kind) as network:
        yield Lab(network, ControllerProcess(network, folder / "logs").start(), folder)


ATTEMPTS = 4
"""runs of a measurement: the machine may have been busy for a moment"""


async def undisturbed(lab: Lab, measure: Callable[[], Awaitable[_Result]]) -> _Result:
    """The result of a measurement during which the switches keep their schedule.

    It is repeated while they do not, and fails the test when they never do: figures would be about the
    machine. Assertions within `measure` have to hold every time.
    """
    bound: list[str] = []
    for _ in range(ATTEMPTS):
        health = HealthCheck(lab.network)
        result = await measure()
        bound = [f"{switch.name}: {switch.detail}" for switch in health.result() if switch.cpu_bound]
        if not bound:
            return result
    raise AssertionError(f"CPU-bound in each of {ATTEMPTS} attempts: {bound}")


def undisturbed_report(command: Sequence[str], out: Path, attempts: int = ATTEMPTS) -> dict[str, Any]:
    """The report of a demo, repeated while the machine is too busy, as the run with loss is left out then."""
    done = subprocess.run(
        [*command, "--out", str(out)], cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )
    report = cast(dict[str, Any], json.loads((out / "report.json").read_text()))
    if report["cpu_bound"] and attempts > 1:
        return undisturbed_report(command, out, attempts - 1)
    assert done.returncode == 0, done.stderr
    return report


async def eventually(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Waits until the condition holds; fails the test after the deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(0.01)


def received(agent: AgentProcess) -> int:
    """Bytes in order at a receiver, by its last event."""
    event = agent.latest.get("complete") or agent.latest.get("progress")
    return event.integer("bytes") if event is not None else 0


def sha256(file: Path) -> str:
    if not file.exists():
        return "no file"
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
