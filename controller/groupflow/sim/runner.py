"""Runs a scenario: builds the network, installs the switches' entries, lets time pass, keeps results."""

import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from groupflow.errors import reason
from groupflow.sim.model import Scenario, ScenarioError, SwitchSetup
from groupflow.sim.network_spec import network_spec
from groupflow.sim.results import Results, with_goodput
from groupflow.sim.split import session_flows

if TYPE_CHECKING:
    from finsy.proto import p4r

    from groupflow._native import NativeSim
    from groupflow.p4rt.program import Program
    from groupflow.sim.record import SimRecorder

_STEP_MS = 100


@dataclass(frozen=True)
class Progress:
    """State of a run in progress."""

    scenario: str
    simulated_ns: int
    duration_ns: int
    packet_hops: int
    wall_s: float

    @property
    def hops_per_s(self) -> float:
        return self.packet_hops / self.wall_s if self.wall_s > 0 else 0.0


@dataclass(frozen=True)
class Traced:
    """Packets whose way is kept, of each switch that is named, or of all that run P4."""

    request: Mapping[str, object]
    """the choice, as a trace is asked for (docs/reference/trace.md)"""
    switches: Collection[str] = ()


OnProgress: TypeAlias = Callable[[Progress], None]


def run(
    scenario: Scenario | str | Path,
    progress: OnProgress | None = None,
    *,
    out: str | Path | None = None,
    inspect: "Callable[[NativeSim], None] | None" = None,
    record: Path | None = None,
    traced: Traced | None = None,
) -> Results:
    """Runs a scenario, or a file's, to its end. Raises ScenarioError, and OSError when results cannot be
    written.

    With `out`, measurements are written to that folder: as a whole when the run is over, or not at all.
    `inspect` is called with the network when the run is over, e.g. to read registers. `record` is a file for
    `groupflow net play`. Raises RecordingError when that cannot be written.
    """
    started = time.monotonic()
    if isinstance(scenario, str | Path):
        from groupflow.sim.reader import load  # here, as it takes longer than all other imports

        scenario = load(scenario)
    sim = build(scenario)
    armed = {} if traced is None else _arm(sim, scenario, traced)
    with ExitStack() as stack:
        recorder = None
        if record is not None:
            from groupflow.sim.record import SimRecorder

            recorder = SimRecorder(sim, scenario, record)
            stack.callback(recorder.file.close)
        partial = None
        if out is not None:
            partial = stack.enter_context(_folder(Path(out)))
            sim.record(partial, scenario.trace)
        told = 0.0

        def tell(now_ns: int, hops: int) -> None:
            nonlocal told
            wall_s = time.monotonic() - started
            if progress is not None and wall_s - told >= _STEP_MS / 1000:
                told = wall_s
                progress(Progress(scenario.name, now_ns, scenario.duration_ns, hops, wall_s))

        if scenario.sessions:
            _run_controlled(sim, scenario, lambda now_ns: tell(now_ns, sim.hops()), recorder)
        else:
            finished = False
            while not finished:
                now_ns, hops, finished = sim.step(_STEP_MS, recorder.next_ns if recorder else None)
                tell(now_ns, hops)
                if recorder:
                    recorder.look(now_ns)
        if inspect is not None:
            inspect(sim)
        summary = {"scenario": scenario.name} | with_goodput(json.loads(sim.summary()), _sources(scenario))
        traces = [
            {"switch": switch, **trace}
            for switch, number in armed.items()
            for trace in json.loads(sim.take_traces(switch, number))
        ]
        traces.sort(key=lambda trace: trace["time"])
        wall_s = time.monotonic() - started
        if partial is not None:
            facts = {key: summary[key] for key in ("simulated_s", "packet_hops", "seed")}
            for name, form in (("summary", summary), ("run", {"wall_s": round(wall_s, 3)} | facts)):
                (partial / f"{name}.json").write_text(json.dumps(form, indent=2) + "\n", encoding="utf-8")
    return Results(summary, wall_s, None if out is None else Path(out), traces)


@contextmanager
def _folder(out: Path) -> Generator[Path]:
    """A folder beside `out`, in whose place it is put when the block has ended, whole; else it goes."""
    partial, old = (out.parent / f".{out.name}.{what}-{os.getpid()}" for what in ("partial", "old"))
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        if out.exists():
            out.rename(old)
        partial.rename(out)
        if old.is_dir():
            shutil.rmtree(old)
    except OSError as error:
        error.filename = out  # and not a part of it, which goes
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def build(scenario: Scenario) -> "NativeSim":
    """The network at time zero, with all entries in its switches. Raises ScenarioError."""
    from groupflow._native import NativeSim

    p4_switches = _p4_switches(scenario)
    try:
        programs = [(scenario.program.read_text(), scenario.p4info.read_text())] if p4_switches else []
    except OSError as error:
        raise ScenarioError(f"program: {error.filename}: {reason(error)}; run `make p4`") from None
    try:
        sim = NativeSim(network_spec(scenario), programs)
    except ValueError as error:
        raise ScenarioError(f"{scenario.name}: {error}") from None
    if p4_switches:
        _tell(sim, scenario, p4_switches)
    return sim


def _sources(scenario: Scenario) -> dict[str, str]:
    """For each flow that does not begin at the source of its stream, the flow that does."""
    found = {
        group.member(host): group.member(group.source)
        for group in scenario.sessions
        for host in group.destinations
    }
    found |= {bone.rim(host): bone.name for bone in scenario.bones for host in bone.rims}
    for session in scenario.splits:
        flows = session_flows(scenario, session)
        first = next(flow.name for flow in flows if flow.source == session.source)
        found |= {flow.name: first for flow in flows}
    return found


def _p4_switches(scenario: Scenario) -> list[str]:
    return [name for name in scenario.topology.switches if scenario.kind(name) == "p4"]


def _arm(sim: "NativeSim", scenario: Scenario, traced: Traced) -> dict[str, int]:
    """Asks for traces: the number of the request at each switch."""
    known = _p4_switches(scenario)
    if unknown := [name for name in traced.switches if name not in known] or ([] if known else ["of P4"]):
        there = ", ".join(known) or "none"
        raise ScenarioError(f"{scenario.name}: no switch {unknown[0]} to trace at; of P4 are {there}")
    request = json.dumps(traced.request)
    armed: dict[str, int] = {}
    refused: list[str] = []
    for name in dict.fromkeys(traced.switches or known):
        try:
            armed[name] = sim.arm_trace(name, request)
        except ValueError as error:
            refused.append(f"{scenario.name}: {name}: {error}")
            # A request to all switches meets some that lack the port.
            if traced.switches or not str(error).startswith("port: "):
                raise ScenarioError(refused[-1]) from None
    if not armed:
        raise ScenarioError(refused[0])
    return armed


def _tell(sim: "NativeSim", scenario: Scenario, switches: Iterable[str]) -> None:
    """Installs entries, queues and generators at every P4 switch."""
    from finsy.p4entity import encode_updates

    from groupflow.switch import schema

    # With sessions there is a controller, which installs the routes itself.
    routes = _route_encoder(scenario) if scenario.routes and not scenario.sessions else None
    for name in switches:
        setup = scenario.setup(name)
        updates = routes(name) if routes is not None else []
        if setup.entities:
            updates += encode_updates(list(setup.entities), schema(scenario.p4info.read_text()))
        updates += setup.updates
        updates += _settings(setup)
        results = sim.write(name, [update.SerializeToString() for update in updates])
        for update, result in zip(updates, results, strict=True):
            if result is not None:
                raise ScenarioError(f"{scenario.name}: {name} refused an entry: {result[1]}: {update}")
        for queue in setup.queues:
            try:
                sim.set_queue(name, queue.port, queue.queue, queue.settings)
            except ValueError as error:
                raise ScenarioError(f"switches.{name}: {error}") from None


def _run_controlled(
    sim: "NativeSim", scenario: Scenario, on_step: Callable[[int], None], recorder: "SimRecorder | None"
) -> None:
    from groupflow.sim.control import run_controlled

    fifo = [name for name in scenario.topology.switches if scenario.kind(name) != "p4"]
    if fifo:
        raise ScenarioError(f"switches.{fifo[0]}.kind: routers do not know sessions; write p4")
    run_controlled(sim, scenario, _program(scenario), on_step, recorder.follow if recorder else None)


def _program(scenario: Scenario) -> "Program":
    from groupflow.p4rt.program import Program, ProgramError

    try:
        return Program.load(scenario.p4info, scenario.program)
    except ProgramError as error:
        raise ScenarioError(f"program: {error}; or turn `routes` off") from None


def _route_encoder(scenario: Scenario) -> "Callable[[str], list[p4r.Update]]":
    """The entries that the controller installs at start, plus those for neighbours without P4."""
    from groupflow.control.sessions.desired import unicast_entries
    from groupflow.p4rt.entries import Key, action, inserts, mac_number

    program = _program(scenario)
    # Such nodes keep Ethernet addresses: a frame for one of them goes on under that node's address.
    plain = [s.mac for s in scenario.topology.switches.values() if scenario.kind(s.name) != "p4"]
    stations = {Key("l3_admit", (mac_number(mac),)): action("admit_to_l3") for mac in plain}

    return lambda switch: inserts(program, unicast_entries(scenario.topology, switch) | stations)


def _settings(setup: SwitchSetup) -> "Iterator[p4r.Update]":
    """The settings of ports, and the generators."""
    from finsy.proto import p4r

    from groupflow.schema import GENERATOR, PORT, extern_entity

    for port, size in setup.nominal_packets.items():
        entity = extern_entity(PORT, {"port": port, "nominal_packet": size})
        yield p4r.Update(type=p4r.Update.MODIFY, entity=entity)
    for item in setup.generators:
        entity = extern_entity(GENERATOR, vars(item) | {"frame": item.frame.hex()})
        yield p4r.Update(type=p4r.Update.INSERT, entity=entity)
