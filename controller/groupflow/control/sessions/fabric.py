"""All switches as one object: given a stream's tree, each switch gets the entries of its part."""

from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Network

from groupflow.control.sessions.desired import guard_entries, stream_entries, unicast_entries
from groupflow.control.sessions.model import Session, SessionRecord
from groupflow.control.sessions.numbers import CURSORS, NEIGHBOURS, STREAMS, Stream, SwitchNumbers
from groupflow.control.sessions.replication import Node, lowest_rate
from groupflow.model.topology import Host, Topology
from groupflow.p4rt.device import Device
from groupflow.p4rt.entries import Entries, Key
from groupflow.p4rt.program import Room
from groupflow.store.interface import Store


class Fabric:
    """Owns the numbers of every switch and its desired entries."""

    def __init__(
        self, topology: Topology, devices: Mapping[str, Device], room: Room, tcp_prefix: IPv4Network
    ) -> None:
        self.topology = topology
        self.room = room
        self.devices = devices
        self.trees: dict[Stream, dict[str, Node]] = {}
        """the streams that are installed, each with its nodes by switch"""
        self.observers: list[Callable[[Stream], None]] = []
        """functions called when a stream's tree has changed"""
        self._records: dict[Stream, SessionRecord] = {}
        self._queues: dict[Stream, Mapping[str, int]] = {}
        """by switch, of the streams under flow control"""
        self._numbers = {name: SwitchNumbers(name, room) for name in devices}
        for name, device in devices.items():
            device.desired.replace("topology", unicast_entries(topology, name))
            device.desired.replace("guard", guard_entries(topology, name, tcp_prefix))

    def check(self, stream: Stream, tree: Mapping[str, Node]) -> None:
        """Raises RefusalError if a switch has no room for its part."""
        for switch, node in tree.items():
            self._numbers[switch].check(stream, node)

    def place(self, session: Session, stream: Stream, tree: Mapping[str, Node]) -> "Installation":
        """Installs a stream, or the changes of its tree. An empty tree removes it."""
        touched: dict[str, list[Key]] = {}
        for switch in self.trees.get(stream, {}).keys() - tree.keys():
            self._release(switch, self.devices[switch].desired.replace(stream, {}))
            self._numbers[switch].release_stream(stream)
        if tree:
            self.trees[stream], self._records[stream] = dict(tree), session.record
        else:
            self.trees.pop(stream, None)
            self._records.pop(stream, None)
        for switch, node in tree.items():
            touched[switch] = self._enter(stream, switch, node)
        for observer in self.observers:
            observer(stream)
        return Installation(self.devices, touched)

    def control(self, stream: Stream, queues: Mapping[str, int]) -> None:
        """Puts a stream's data into these queues, by switch; elsewhere into none of its own."""
        self._queues[stream] = queues
        if not queues:
            del self._queues[stream]
        for switch, node in self.trees.get(stream, {}).items():
            self._enter(stream, switch, node)

    def _enter(self, stream: Stream, switch: str, node: Node) -> list[Key]:
        """Enters a switch's part in a stream in its desired state; returns the keys."""
        numbers, record = self._numbers[switch].assign(stream, node), self._records[stream]
        queue = self._queues.get(stream, {}).get(switch, 0)
        entries = stream_entries(self.topology, node, stream, numbers, record.mode, record.policy, queue)
        self._release(switch, self.devices[switch].desired.replace(stream, entries))
        return list(entries)

    def steer(self, session: int, routes: Mapping[str, Entries]) -> "Installation":
        """Installs the routes to a TCP session's address, by switch; no entries: removes them."""
        touched: dict[str, list[Key]] = {}
        for switch, entries in routes.items():
            gone = self.devices[switch].desired.replace(("tcp", session), entries)
            if entries or gone:  # nobody waits for a switch that the session does not concern
                touched[switch] = list(entries)
        return Installation(self.devices, touched)

    def take_writes(self) -> dict[str, str | None]:
        """The numbers given and released since the last call, as writes for the store."""
        writes: dict[str, str | None] = {}
        for numbers in self._numbers.values():
            writes |= numbers.writes
            numbers.writes.clear()
        return writes

    async def restore(self, store: Store) -> None:
        """Takes over the numbers of an earlier controller. Raises StoreError."""
        for switch, numbers in self._numbers.items():
            streams, neighbours = await STREAMS.all(store, switch), await NEIGHBOURS.all(store, switch)
            cursor = await store.get(key := CURSORS.key(switch))
            numbers.restore(streams, neighbours, CURSORS.load(key, cursor) if cursor else None)

    def drop_strays(self) -> None:
        """Releases the numbers that nothing uses: an earlier controller ended between two writes."""
        for switch, numbers in self._numbers.items():
            wanted = self.devices[switch].desired.entries
            for number in numbers.neighbours:
                if Key("neighbours", (number,)) not in wanted:
                    numbers.release_neighbour(number)
            for stream in numbers.streams:
                if switch not in self.trees.get(stream, {}):
                    numbers.release_stream(stream)

    def rate(self, session: Session, source: int) -> int:
        """bit/s of the slowest link of a stream's tree; 0: not known."""
        tree = self.trees.get(Stream(session.id, source), {})
        return lowest_rate(self.topology, tree, leaves=session.record.policy == "strict")

    def nothing(self) -> "Installation":
        """An installation that changes nothing."""
        return Installation(self.devices, {})

    def streams_at(self, switch: str) -> list[Stream]:
        return [stream for stream, tree in self.trees.items() if switch in tree]

    def send(self, host: Host, frame: bytes) -> None:
        """Sends a frame to a host, out of its switch's port."""
        self.devices[host.switch].send(host.port, frame)

    def _release(self, switch: str, gone: Iterable[Key]) -> None:
        for key in gone:
            if key.table == "neighbours":
                self._numbers[switch].release_neighbour(key.match[0])


class Installation:
    """The entries changed on switches, for waiting until the switches have them."""

    def __init__(self, devices: Mapping[str, Device], touched: dict[str, list[Key]]) -> None:
        self._devices = devices
        self._touched = touched

    def __or__(self, other: "Installation") -> "Installation":
        keys = {switch: list(keys) for switch, keys in self._touched.items()}
        for switch, more in other._touched.items():
            keys.setdefault(switch, []).extend(more)
        return Installation(self._devices, keys)

    async def settled(self) -> None:
        """Waits until every switch that is up has the entries. Raises ApplyError."""
        for name, keys in self._touched.items():  # all of them are at work already
            await self._devices[name].settled(keys)


class Follower:
    """A service that must know of every change of a session; this one does nothing."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric

    def changed(self, number: int) -> Installation:
        """Follows a session that is new, changed, or gone."""
        return self._fabric.nothing()

    async def settled(self, number: int) -> list[str]:
        """Waits until every agent of a session knows its last change. Returns refusals, one line each."""
        return []
