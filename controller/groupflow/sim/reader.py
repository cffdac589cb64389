"""Reads scenario files: a topology's YAML form with traffic and simulator-only properties of the network.

Every refusal is one line: `FILE: KEY: what is wrong; what to write instead`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar, cast

from groupflow.control.diffusion.coefficients import CoefficientError, parse_number
from groupflow.data import P4_JSON, P4INFO
from groupflow.network import units
from groupflow.network.forms import FormReader, Map
from groupflow.network.reader import read_form
from groupflow.network.topology import Topology, TopologyError
from groupflow.network.topology import load as load_topology
from groupflow.sim.diffusion import Diffusion, with_diffusion
from groupflow.sim.fifo_reader import FIFO_KEYS, check_fifos, fifo_options
from groupflow.sim.model import (
    VARIANTS,
    Arrivals,
    FifoOptions,
    Flow,
    GilbertElliott,
    GroupSession,
    Kind,
    LinkExtra,
    Messages,
    Pattern,
    Profile,
    QueueSetting,
    Scenario,
    ScenarioError,
    SplitSession,
    SwitchSetup,
    TcpTraffic,
    UdpTraffic,
)

_TOPOLOGY_KEYS = ("name", "description", "defaults", "switches", "hosts", "links")
_KEYS = (
    *_TOPOLOGY_KEYS, "topology", "traffic", "duration", "sample", "seed", "program", "p4info", "routes",
    "queues", "trace", "diffusion", "sessions", "splits",
)  # fmt: skip
_FLOW_KEYS = ("kind", "from", "to", "start", "stop", "shaped_as")
_UDP_KEYS = (*_FLOW_KEYS, "rate", "packet", "arrivals", "on_for", "off_for", "random", "sizes")
_TCP_KEYS = (
    *_FLOW_KEYS, "variant", "window", "packet", "profile", "size", "delayed_ack", "ecn", "initial_window",
    "min_rto", "messages",
)  # fmt: skip
_SESSION_KEYS = ("id", "from", "to", "size", "mode", "policy", "rate", "start")
_SPLIT_KEYS = (
    "name", "from", "to", "mode", "start", "cache", "variant", "window", "packet", "profile", "size",
    "messages", "delayed_ack", "ecn", "initial_window", "min_rto",
)  # fmt: skip
_SWITCH_KEYS = ("kind", "device_id", "grpc", "agent", "queues", *FIFO_KEYS)
_LINK_KEYS = ("ends", "rate", "delay", "loss", "queue", "queue_bytes", "down")
_BURST_KEYS = ("to_bad", "to_good", "good", "bad")
_DIFFUSION_KEYS = ("d", "alpha", "flows", "packet", "hosts")
_LAST_DEVICE_ID = 0xFFFF

_T = TypeVar("_T", bound=str)
_V = TypeVar("_V")


def load(path: str | Path) -> Scenario:
    """Reads a scenario file. Raises ScenarioError."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: not UTF-8 text; write the scenario as YAML") from None
    return parse(text, str(path), path.parent)


def parse(text: str, source: str = "scenario", folder: Path = Path()) -> Scenario:
    """Reads a scenario from YAML text; files that it names are in `folder`. Raises ScenarioError."""
    reader = _Reader(source, ScenarioError, folder)
    try:
        return reader.scenario(reader.yaml(text))
    except TopologyError as error:
        raise ScenarioError(str(error)) from None


@dataclass(frozen=True)
class _Reader(FormReader):
    folder: Path = Path()

    def scenario(self, value: object) -> Scenario:
        form = self.map(value, "", _KEYS)
        topology, kinds, fifos, extras, setups = self._network(form)
        traffic = self.map(form.get("traffic", {}), "traffic", None)
        duration_ns = self._required(form, "", "duration", units.parse_delay)
        flows = tuple(self._flow(f"traffic.{name}", name, topology, item) for name, item in traffic.items())
        sample_ns = self.quantity(form, "", "sample", units.parse_delay, 10**6)
        for key, span in (("duration", duration_ns), ("sample", sample_ns)):
            if span == 0:
                self.refuse(key, "is zero; write a time such as 1ms")
        scenario = Scenario(
            name=self.text(form, "name", Path(self.source).stem),
            topology=topology,
            flows=flows,
            duration_ns=duration_ns,
            sessions=self._sessions(form, topology),
            splits=self._splits(form, topology, kinds),
            sample_ns=sample_ns,
            seed=self.integer(form, "", "seed", 0, 2**64 - 1) if "seed" in form else 1,
            kinds=MappingProxyType(kinds),
            fifos=MappingProxyType(fifos),
            extras=MappingProxyType(extras),
            p4info=self._file(form, "p4info", P4INFO),
            program=self._file(form, "program", P4_JSON),
            routes=self._flag(form, "", "routes", otherwise=True),
            queues=self.integer(form, "", "queues", 1, 64) if "queues" in form else 8,
            setups=MappingProxyType(setups),
            trace=self._flag(form, "", "trace", otherwise=False),
        )
        return self._controlled(form, scenario)

    def _controlled(self, form: Map, scenario: Scenario) -> Scenario:
        """The scenario under diffusion-type flow control, where the file asks for it."""
        if "diffusion" not in form:
            return scenario
        key = "diffusion"
        asked = self.map(form[key], key, _DIFFUSION_KEYS)
        flows = asked.get("flows", [flow.name for flow in scenario.flows])
        if not isinstance(flows, list) or not all(
            isinstance(name, str) for name in cast(list[object], flows)
        ):
            self.refuse(f"{key}.flows", "not a list of names; write [target, other]")
        if "d" not in asked:
            self.refuse(f"{key}.d", "missing; write a number such as 0.1")
        packet_bytes = self.integer(asked, key, "packet", 64, 9216) if "packet" in asked else 1514
        host_delay_ns = self.quantity(asked, key, "hosts", units.parse_delay, None)
        try:
            control = Diffusion(
                d=parse_number(str(asked["d"]), "D"),
                flows=tuple(cast(list[str], flows)),
                alpha=parse_number(str(asked.get("alpha", 1)), "alpha"),
                packet_bytes=packet_bytes,
                host_delay_ns=host_delay_ns,
            )
            return with_diffusion(scenario, control)
        except CoefficientError as error:
            self.refuse(key, str(error))
        except ScenarioError as error:
            raise ScenarioError(f"{self.source}: {error}") from None

    def _network(
        self, form: Map
    ) -> tuple[
        Topology, dict[str, Kind], dict[str, FifoOptions], dict[int, LinkExtra], dict[str, SwitchSetup]
    ]:
        if "topology" in form:
            return self._other_file(form), {}, {}, {}, {}
        switches = {
            name: self.map(value if value is not None else {}, f"switches.{name}", _SWITCH_KEYS)
            for name, value in self.map(form.get("switches", {}), "switches", None).items()
        }
        kinds: dict[str, Kind] = {
            name: self._kind(f"switches.{name}", value) for name, value in switches.items()
        }
        setups = {name: self._setup(f"switches.{name}", value) for name, value in switches.items()}
        fifos = {
            name: fifo_options(self, f"switches.{name}", kinds[name], value)
            for name, value in switches.items()
        }
        links = form.get("links", [])
        if not isinstance(links, list):
            self.refuse("links", "not a list; write `- {ends: [h1, s1]}` for each link")
        items = [
            self.map(item, f"links[{place}]", _LINK_KEYS)
            for place, item in enumerate(cast(list[object], links))
        ]
        plain: dict[str, object] = {
            "name": form.get("name", "scenario"),
            "description": form.get("description", ""),
            "defaults": self._defaults(form.get("defaults", {})),
            "switches": _numbered_switches(switches),
            "hosts": _numbered_hosts(self.map(form.get("hosts", {}), "hosts", None)),
            "links": [self._plain_link(f"links[{place}]", item) for place, item in enumerate(items)],
        }
        extras = {place: self._extra(f"links[{place}]", item) for place, item in enumerate(items)}
        topology = read_form(plain, self.source, last_device_id=_LAST_DEVICE_ID)
        check_fifos(self, topology, kinds, fifos)
        return (
            topology,
            kinds,
            {name: options for name, options in fifos.items() if options != FifoOptions()},
            {place: extra for place, extra in extras.items() if extra != LinkExtra()},
            {name: setup for name, setup in setups.items() if setup.queues},
        )

    def _other_file(self, form: Map) -> Topology:
        for key in _TOPOLOGY_KEYS[2:]:
            if key in form:
                self.refuse(key, "is in the topology's file already; leave out one")
        return load_topology(self.folder / self.text(form, "topology", ""))

    def _defaults(self, value: object) -> Map:
        defaults = self.map(value, "defaults", ("link",))
        link = self.map(defaults.get("link", {}), "defaults.link", ("rate", "delay", "loss", "queue"))
        return {"link": self._plain_link("defaults.link", link)}

    def _kind(self, key: str, form: Map) -> Kind:
        kind: Kind = self._choice(form, key, "kind", ("p4", "fifo", "agent"), "p4")
        if kind == "agent" and "agent" not in form:
            self.refuse(f"{key}.agent", "missing; name the host whose address a split agent has")
        return kind

    def _setup(self, key: str, form: Map) -> SwitchSetup:
        value = form.get("queues", [])
        if not isinstance(value, list):
            self.refuse(f"{key}.queues", "not a list; write `- {port: 1, queue: 0, set: rate=1000pps}`")
        settings: list[QueueSetting] = []
        for place, item in enumerate(cast(list[object], value)):
            where = f"{key}.queues[{place}]"
            setting = self.map(item, where, ("port", "queue", "set"))
            text = setting.get("set")
            if not isinstance(text, str):
                self.refuse(f"{where}.set", f"{text!r} will not do; write settings such as rate=1000pps")
            port = self.integer(setting, where, "port", 1, 511)
            settings.append(QueueSetting(port, self.integer(setting, where, "queue", 0, 63), text))
        return SwitchSetup(queues=tuple(settings))

    def _plain_link(self, key: str, form: Map) -> Map:
        """The link in the form of a topology file, without the simulator's own fields."""
        plain = {name: value for name, value in form.items() if name not in ("queue_bytes", "down")}
        if isinstance(plain.get("loss"), dict):
            plain["loss"] = 0
        if "queue" in plain:
            plain["queue"] = self.quantity(form, key, "queue", units.parse_packets, 0)
        return plain

    def _extra(self, key: str, form: Map) -> LinkExtra:
        burst = form.get("loss")
        return LinkExtra(
            burst_loss=self._burst(f"{key}.loss", form["loss"]) if isinstance(burst, dict) else None,
            down_ns=self._downs(f"{key}.down", form.get("down", [])),
            queue_bytes=self.quantity(form, key, "queue_bytes", units.parse_bytes, None),
        )

    def _burst(self, key: str, value: object) -> GilbertElliott:
        form = self.map(value, key, _BURST_KEYS)
        return GilbertElliott(
            to_bad=self._required(form, key, "to_bad", units.parse_loss),
            to_good=self._required(form, key, "to_good", units.parse_loss),
            good_loss=self.quantity(form, key, "good", units.parse_loss, 0),
            bad_loss=self.quantity(form, key, "bad", units.parse_loss, units.PARTS),
        )

    def _downs(self, key: str, value: object) -> tuple[tuple[int, int], ...]:
        cure = "write pairs of times in order, such as [[1s, 1.5s]]"
        downs: list[tuple[int, int]] = []
        for item in cast(list[object], value) if isinstance(value, list) else [None]:
            pair = cast(list[object], item) if isinstance(item, list) else []
            if len(pair) != 2:
                self.refuse(key, f"{item!r} is no pair of times; {cure}")
            try:
                start, end = (units.parse_delay(time) for time in pair)
            except units.UnitError as error:
                self.refuse(key, str(error))
            if start >= end or (downs and start < downs[-1][1]):
                self.refuse(key, f"{item!r} is not in order; {cure}")
            downs.append((start, end))
        return tuple(downs)

    def _flow(self, key: str, name: str, topology: Topology, value: object) -> Flow:
        kind = self._choice(self.map(value, key, None), key, "kind", ("tcp", "udp"), None)
        form = self.map(value, key, _TCP_KEYS if kind == "tcp" else _UDP_KEYS)
        source = self._host(form, key, "from", topology)
        destination = self._host(form, key, "to", topology)
        if source == destination:
            self.refuse(f"{key}.to", f"{destination!r} is where the flow comes from; name another host")
        hosts = topology.hosts
        if topology.path(hosts[source].switch, hosts[destination].switch) is None:
            self.refuse(f"{key}.to", f"{destination!r} cannot be reached from {source!r}; link them")
        start_ns = self.quantity(form, key, "start", units.parse_delay, 0)
        stop_ns = self.quantity(form, key, "stop", units.parse_delay, None)
        if stop_ns is not None and stop_ns <= start_ns:
            self.refuse(f"{key}.stop", f"{form['stop']!r} is not after the start; write a later time")
        return Flow(
            name=name,
            source=source,
            destination=destination,
            traffic=self._tcp(key, form) if kind == "tcp" else self._udp(key, form),
            start_ns=start_ns,
            stop_ns=stop_ns,
            shaped_as=self.integer(form, key, "shaped_as", 0, 0xFFFF) if "shaped_as" in form else None,
        )

    def _host(self, form: Map, key: str, field: str, topology: Topology) -> str:
        name = form.get(field)
        if name is None:
            self.refuse(f"{key}.{field}", "missing; write the name of a host")
        if not isinstance(name, str) or name not in topology.hosts:
            self.refuse(f"{key}.{field}", f"unknown host {name!r}; declare it under hosts")
        return name

    def _sessions(self, form: Map, topology: Topology) -> tuple[GroupSession, ...]:
        value = form.get("sessions", [])
        if not isinstance(value, list):
            self.refuse(
                "sessions", "not a list; write `- {id: 7, from: h1, to: [h2, h3], size: 1000000 bytes}`"
            )
        items = enumerate(cast(list[object], value))
        return tuple(self._session(f"sessions[{place}]", item, topology) for place, item in items)

    def _session(self, key: str, value: object, topology: Topology) -> GroupSession:
        form = self.map(value, key, _SESSION_KEYS)
        source, members = self._ends(form, key, topology)
        return GroupSession(
            id=self.integer(form, key, "id", 1, 0x7FFF),
            source=source,
            destinations=members,
            size=self._required(form, key, "size", units.parse_bytes),
            mode=self._choice(form, key, "mode", ("e2e", "n2n"), "e2e"),
            policy=self._choice(form, key, "policy", ("strict", "isolate"), "strict"),
            rate=self.quantity(form, key, "rate", units.parse_rate, None) or 0,
            start_ns=self.quantity(form, key, "start", units.parse_delay, 0),
        )

    def _splits(self, form: Map, topology: Topology, kinds: Mapping[str, Kind]) -> tuple[SplitSession, ...]:
        value = form.get("splits", [])
        if not isinstance(value, list):
            self.refuse("splits", "not a list; write `- {name: a, from: h1, to: [h2, h3], variant: sack}`")
        sessions: list[SplitSession] = []
        for place, item in enumerate(cast(list[object], value)):
            key = f"splits[{place}]"
            asked = self.map(item, key, _SPLIT_KEYS)
            source, members = self._ends(asked, key, topology)
            mode: Literal["e2e", "n2n"] = self._choice(asked, key, "mode", ("e2e", "n2n"), "n2n")
            cache_bytes = self.quantity(asked, key, "cache", units.parse_bytes, None)
            if mode == "e2e" and cache_bytes is not None:
                self.refuse(f"{key}.cache", "only n2n has a bound; leave it out")
            if "agent" not in kinds.values():
                self.refuse(key, "no switch is an agent; write kind: agent for one on the way")
            sessions.append(
                SplitSession(
                    name=self.text(asked, "name", f"split{place + 1}"),
                    source=source,
                    destinations=members,
                    traffic=self._tcp(key, asked),
                    mode=mode,
                    start_ns=self.quantity(asked, key, "start", units.parse_delay, 0),
                    cache_bytes=cache_bytes,
                )
            )
        return tuple(sessions)

    def _ends(self, form: Map, key: str, topology: Topology) -> tuple[str, tuple[str, ...]]:
        receivers = form.get("to")
        names = cast(list[object], receivers) if isinstance(receivers, list) else []
        if not names:
            self.refuse(f"{key}.to", f"{receivers!r} is no list of hosts; write `to: [h2, h3]`")
        members = tuple(self._host({"to": name}, key, "to", topology) for name in names)
        return self._host(form, key, "from", topology), members

    def _udp(self, key: str, form: Map) -> UdpTraffic:
        rate = self._required(form, key, "rate", units.parse_rate)
        if rate is None:
            self.refuse(f"{key}.rate", "'unlimited' will not do for a source; write a rate such as 10Mb/s")
        pattern: Pattern = self._choice(form, key, "arrivals", ("constant", "poisson", "on_off"), "constant")
        spans: dict[str, int] = {}
        for field in ("on_for", "off_for"):
            if pattern == "on_off":
                spans[field] = self._required(form, key, field, units.parse_delay)
                if spans[field] == 0:
                    self.refuse(f"{key}.{field}", "is zero; write a time such as 10ms")
            elif field in form:
                self.refuse(f"{key}.{field}", "only an on_off source has it; write arrivals: on_off")
        arrivals = Arrivals(
            pattern,
            spans.get("on_for", 0),
            spans.get("off_for", 0),
            self._flag(form, key, "random", otherwise=False),
        )
        return UdpTraffic(
            rate=rate,
            packet=self._packet(form, key, 44),
            arrivals=arrivals,
            sizes=self._choice(form, key, "sizes", ("constant", "exponential"), "constant"),
        )

    def _tcp(self, key: str, form: Map) -> TcpTraffic:
        variant = form.get("variant")
        if variant not in VARIANTS:
            problem = "missing" if variant is None else f"unknown TCP variant {variant!r}"
            self.refuse(f"{key}.variant", f"{problem}; known are {', '.join(VARIANTS)}")
        profile: Profile = self._choice(form, key, "profile", ("rfc", "ns2"), "rfc")
        initial = "initial_window"
        return TcpTraffic(
            variant=variant,
            window=self.quantity(form, key, "window", units.parse_packets, 1000),
            packet=self._packet(form, key, 100),
            profile=profile,
            size=self.quantity(form, key, "size", units.parse_bytes, None),
            messages=self._messages(form, key),
            delayed_ack_ns=self.quantity(form, key, "delayed_ack", units.parse_delay, None),
            ecn=self._flag(form, key, "ecn", otherwise=False),
            initial_window=self.quantity(form, key, initial, units.parse_packets, None),
            min_rto_ns=self.quantity(form, key, "min_rto", units.parse_delay, None),
        )

    def _messages(self, form: Map, key: str) -> Messages | None:
        if "messages" not in form:
            return None
        if "size" in form:
            self.refuse(f"{key}.size", "goes without messages, which have a size of their own; leave out one")
        where = f"{key}.messages"
        messages = self.map(form["messages"], where, ("size", "period"))
        size = self._required(messages, where, "size", units.parse_bytes)
        period_ns = self._required(messages, where, "period", units.parse_delay)
        if period_ns == 0:
            self.refuse(f"{where}.period", "is zero; write a time such as 1s")
        return Messages(size, period_ns)

    def _packet(self, form: Map, key: str, least: int) -> int:
        size = self.quantity(form, key, "packet", units.parse_bytes, 1500)
        if not least <= size <= 0xFFFF:
            problem = f"{form['packet']!r} will not do; write {least} to 65535 bytes (an IP packet)"
            self.refuse(f"{key}.packet", problem)
        return size

    def _required(self, form: Map, key: str, field: str, parse: Callable[[object], _V]) -> _V:
        if field not in form:
            self.refuse(f"{key}.{field}" if key else field, "missing; write a value with its unit")
        return self.quantity(form, key, field, parse, cast(_V, None))

    def _choice(self, form: Map, key: str, field: str, known: tuple[_T, ...], otherwise: _T | None) -> _T:
        value = form.get(field, otherwise)
        if value not in known:
            problem = "missing" if value is None else f"{value!r} is none"
            self.refuse(f"{key}.{field}", f"{problem}; known are {', '.join(known)}")
        return cast(_T, value)

    def _flag(self, form: Map, key: str, field: str, *, otherwise: bool) -> bool:
        value = form.get(field, otherwise)
        if not isinstance(value, bool):
            self.refuse(f"{key}.{field}" if key else field, f"{value!r} will not do; write true or false")
        return value

    def _file(self, form: Map, field: str, otherwise: Path) -> Path:
        if field not in form:
            return otherwise
        return self.folder / self.text(form, field, "")


def _numbered_switches(switches: Mapping[str, Map]) -> dict[str, object]:
    """The switches with the numbers that only real switches need."""
    taken = {form["device_id"] for form in switches.values() if "device_id" in form}
    free = (number for number in range(1, _LAST_DEVICE_ID + 1) if number not in taken)
    numbered: dict[str, object] = {}
    for name, form in switches.items():
        plain = {key: value for key, value in form.items() if key not in ("kind", "queues", *FIFO_KEYS)}
        if "device_id" not in plain:
            plain["device_id"] = next(free, _LAST_DEVICE_ID + 1)
        plain.setdefault("grpc", f"{name}:9559")
        numbered[name] = plain
    return numbered


def _numbered_hosts(hosts: Map) -> dict[str, object]:
    """The hosts, with addresses (10.X.Y.1) for those that have none."""
    taken = {form["ip"] for form in _forms(hosts) if "ip" in form}
    texts = (f"10.{number >> 8}.{number & 0xFF}.1/24" for number in range(1, 1 << 16))
    free = (text for text in texts if text not in taken)
    return {
        name: {"ip": next(free, None)} if value is None or value == {} else value
        for name, value in hosts.items()
    }


def _forms(forms: Map) -> list[Map]:
    return [cast(Map, form) for form in forms.values() if isinstance(form, dict)]
