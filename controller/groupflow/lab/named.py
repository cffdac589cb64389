"""A network that runs until it is told to end: switches, controller, agents and hosts, known by its name."""

import logging
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Never

from groupflow.agents.agent_process import find_program
from groupflow.agents.options import CacheOptions
from groupflow.data import RUN_FOLDER
from groupflow.errors import Error
from groupflow.files import variants
from groupflow.lab import own_program, split
from groupflow.lab.console import Left
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.links import TOPOLOGY
from groupflow.lab.network import Network, hand_over, make_folder, processes_in, running
from groupflow.lab.registry import Claim, Entry, SwitchKind
from groupflow.model import ports
from groupflow.model.topology import Topology
from groupflow.p4rt.connection import ControlError
from groupflow.processes import Daemon, DaemonError
from groupflow.units import counted

log = logging.getLogger(__name__)

_ONE_SECOND_NS = 1_000_000_000
_WATCH_SECONDS = 0.5
_FILE_ENDED = re.compile(r"(?:ERROR|logger=\S+\.recording) ((?:capture|the recording) .*)")
"""a line of a switch or the controller that goes on without a file of its own"""
_RESTARTS = 5
"""of a controller that ends by itself: one that cannot run is not started for ever"""


@dataclass(frozen=True)
class Running:
    network: Network
    controller: ControllerProcess | None
    entry: Entry
    claims: tuple[Claim, ...] = ()
    """the network's name, outside and within its namespaces"""
    entries: Mapping[str, own_program.Work] = field(default_factory=dict[str, own_program.Work])
    """the entries of files, of switches with programs of one's own"""

    def publish(self) -> None:
        """Makes the network known to other processes, with its hosts' processes as they are."""
        outside, within = self.claims
        entry = replace(self.entry, hosts=_pids(self.network))
        outside.tell(entry)
        within.tell(replace(entry, api=self.controller and self.controller.url))

    def start_switch(self, name: str) -> str:
        """Starts a switch that was stopped or died, and writes the entries of its file. What was done, for
        people. Raises Error."""
        self.network.restart(name)
        if self.controller is not None:
            return f"{name}: started; the controller has its entries"
        work = [self.entries[name]] if name in self.entries else []
        own_program.write(work)
        own_program.carry_out_commands([self.network.switches[name].spec])
        again = f"; {counted(len(work[0].updates), 'entry', 'entries')} written again" if work else ""
        return f"{name}: started{again}"


@contextmanager
def named(
    claim: Claim,
    name: str,
    topology: Topology,
    file: str,
    folder: Path,
    *,
    switch: SwitchKind,
    controlled: bool,
    api: str | None,
    sockets: Sequence[int],
    record: Path | None,
    pcap: Path | None,
) -> Generator[Running]:
    """The network with all its processes, until the end of the block, or until SIGTERM or SIGHUP raise
    SystemExit in it. Call from the main thread.

    `file` is the topology as it was asked for, `folder` for logs and received files. `sockets` are
    descriptors of listening sockets of `api`, at which the controller is reached from outside. Raises Error.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    started = time.time() - 1  # clocks of file systems are coarse
    with ExitStack() as stack:
        stack.callback(_end_programs)
        for made in (folder, pcap or folder):
            stack.callback(hand_over, made, started)
        make_folder(folder)
        (folder / "store.sqlite").unlink(missing_ok=True)  # the sessions of a network that is gone
        topology, entries = own_program.prepare(topology, folder / "p4")
        controlled = controlled and _is_ours(topology)
        _name_hosts(topology)
        network = stack.enter_context(running(topology, folder, switch, pcap))
        own_program.write(entries)
        own_program.carry_out_commands(topology.switches.values())
        (folder / TOPOLOGY).write_text(variants.render(topology), encoding="utf-8")
        controller = None
        if controlled:
            process = ControllerProcess(network, folder, ports.API, sockets=sockets, record=record)
            controller = process.start()
            _start_agents(network, folder)
        network.start_programs(folder)
        entry = Entry(
            name=name,
            topology=file,
            switch=switch,
            pid=os.getpid(),
            hosts=_pids(network),
            addresses={name: f"{host.ip}/{host.prefix}" for name, host in topology.hosts.items()},
            switches=tuple(network.switches),
            api=api if controlled else None,
            folder=str(folder.resolve()),
        )
        claims = (claim, stack.enter_context(Claim(name)))
        up = Running(network, controller, entry, claims, {work.switch.name: work for work in entries})
        up.publish()
        hand_over(folder, started)
        stack.enter_context(scheduled(network))
        yield up


def _end_programs() -> None:
    """Ends the programs that were started beside the switches."""
    for pid in processes_in(Path("/proc/self/ns/net").stat().st_ino):
        if pid != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _name_hosts(topology: Topology) -> None:
    """Makes the names of hosts resolve in this network's namespaces, and so in those of its hosts."""
    named = RUN_FOLDER / "hosts"
    known = Path("/etc/hosts")
    lines = [f"{host.ip}\t{name}\n" for name, host in topology.hosts.items()]
    named.write_text("".join((known.read_text() if known.exists() else "", "\n", *lines)))
    subprocess.run(["mount", "--bind", str(named), str(known)], check=False, capture_output=True)


def _is_ours(topology: Topology) -> bool:
    """Whether groupflow's controller controls the network: not where programs are others'. Raises
    Error for hosts that no program of its own serves."""
    if not own_program.is_groupflows(topology.switches):
        return False
    if foreign := [host.name for host in topology.hosts.values() if topology.is_foreign(host)]:
        raise Error(
            f"{topology.name}: {foreign[0]}'s gateway is not of groupflow's program; name one: --p4 FILE"
        )
    return True


def _pids(network: Network) -> dict[str, int]:
    return {name: int(host.pid or 0) for name, host in network.hosts.items()}


class Supervision:
    """Tells, once each, of processes of a network that died or stopped writing a file, and starts the
    controller again, which has its sessions in its store, and the shells of hosts."""

    def __init__(self, up: Running, tell: Callable[[str], object]) -> None:
        self._up = up
        self._tell = tell
        self._told = set[str]()
        self._restarts = _RESTARTS
        self._is_looking = False
        self.has_restarted = False
        """whether the controller was started again, for whoever waits for it to say False"""

    @contextmanager
    def always(self) -> Generator[None]:
        """Looks until the end of the block, also while the main thread waits for input.

        By the signal of a timer, since the kernel ends a process with the thread that started it.
        """
        former = signal.signal(signal.SIGALRM, lambda _number, _frame: self.look())
        signal.setitimer(signal.ITIMER_REAL, _WATCH_SECONDS, _WATCH_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)

    def look(self) -> bool:
        """Whether the controller was started again. Call it often, from the main thread."""
        if self._is_looking:  # the timer's signal came while this looks
            return False
        self._is_looking = True
        try:
            restarted = self._look()
        finally:
            self._is_looking = False
        self.has_restarted |= restarted
        return restarted

    def is_news(self, line: str) -> bool:
        """Whether a line was not told before; it counts as told from now on."""
        before = len(self._told)
        self._told.add(line)
        return len(self._told) > before

    def _look(self) -> bool:
        restarted = False
        if ended := [node.name for node in self._up.network.nodes if node.renew()]:
            self._up.publish()
            self._tell(f"{', '.join(ended)}: its shell ended; started again")
        for daemon in self._up.network.processes:
            for ended_file in filter(None, map(_FILE_ENDED.search, daemon.new_lines())):
                if self.is_news(f"{daemon.name} writes no more"):  # one line for all captures of a switch
                    self._tell(f"{daemon.name}: {ended_file[1]}")
            try:
                daemon.check()
            except DaemonError as error:
                line = str(error)
                if not self.is_news(line):
                    continue
                controller = self._up.controller
                if controller is None or daemon is not controller.daemon:
                    self._tell(line)
                elif self._restarts == 0:
                    self._tell(f"{line}; not started again, after {_RESTARTS} times")
                    controller.refuse()
                else:
                    self._tell(f"{line}; started again, with its sessions")
                    self._restarts -= 1
                    controller.begin_again()
                    restarted = True
        return restarted


def wait_for_end() -> None:
    """Returns when SIGINT comes; other signals raise (`named`). Children that have just begun end with this
    process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's `&` lets it be ignored
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def _leave(_number: int, _frame: FrameType | None) -> Never:
    raise Left(0)


def end(entry: Entry, seconds: float, alive: Callable[[], bool]) -> bool:
    """Asks a network to end. Whether it did so in time; `alive` tells whether it still runs."""
    os.kill(entry.pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive()


def _start_agents(network: Network, folder: Path) -> None:
    """Cache and split agents in the agents' hosts; returns when all are members."""
    caches: list[Daemon] = []
    for name in sorted(variants.agents(network.topology)):
        command = [str(find_program("gfagent")), *CacheOptions(name=name).arguments()]
        launcher = network.hosts[name].launcher()
        log = folder / f"{name}-cache.log"
        caches.append(network.start_daemon(Daemon(f"{name} (gfagent cache)", [*launcher, *command], log)))
    split.start(network, folder)
    for cache in caches:
        cache.wait_ready(partial(joined, cache))


def joined(agent: Daemon) -> bool:
    return '"event":"joined"' in agent.output()


@contextmanager
def scheduled(network: Network) -> Generator[None]:
    """Carries out the schedules of the network's links, from the start of the block to its end."""
    started = time.monotonic_ns()
    steps = [(step, link) for link in network.topology.links for step in link.schedule]
    steps.sort(key=lambda each: each[0].at_ns)
    ended = threading.Event()

    def work() -> None:
        for step, link in steps:
            if ended.wait(max(0, started + step.at_ns - time.monotonic_ns()) / _ONE_SECOND_NS):
                return
            try:
                network.links.change(link, step.change)
            except ControlError as error:  # of a switch that died: the next change may find it again
                log.warning("link=%s change=%s failed: %s", link.name, step.change, error)

    thread = threading.Thread(target=work, name="schedule", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
