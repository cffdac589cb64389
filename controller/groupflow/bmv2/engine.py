"""`gfswitch-cli`: multicast groups and mirroring sessions.

P4Runtime has groups of replicas; BMv2's nodes, each an instance with its ports, are in the groups' metadata.
A node in no group is known until the end of the run.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from finsy import GRPCStatusCode
from finsy.proto import p4r

from groupflow.bmv2.profiles import lowest
from groupflow.bmv2.remote import DELETE, INSERT, MODIFY, Kind, RefusedError, Remote, integer
from groupflow.bmv2.values import Lines

_NODES = re.compile(rb"nodes=(?:\d+:\d+:[\d,]*;)*")
_FOREIGN = 1 << 16
"""the first handle of nodes in groups of other clients"""
_LAST_PORT = (1 << 16) - 1


class Node(NamedTuple):
    rid: int
    ports: tuple[int, ...]


class Engine:
    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._nodes: dict[int, Node] = {}
        self._groups: dict[int, list[int]] | None = None
        """the handles of each group's nodes, when they were read"""
        self._mirrors: dict[int, int] = {}
        """the group of each mirroring session that this run gave one"""

    def create_group(self, group: str) -> Lines:
        number = integer(group, "multicast group id")
        yield f"Creating multicast group {number}"
        groups = self._read()
        if number not in groups:  # BMv2 takes a group that is there, too
            self._write(INSERT, number, [])
            groups[number] = []

    def destroy_group(self, group: str) -> Lines:
        number = integer(group, "multicast group id")
        yield f"Destroying multicast group {number}"
        groups = self._read()
        self._write(DELETE, number, [])
        groups.pop(number, None)

    def create_node(self, rid: str, *ports: str) -> Lines:
        self._read()
        node = Node(integer(rid, "rid"), _ports(ports))
        yield f"Creating node with rid {node.rid} , port map {_map(node.ports)} and lag map "
        handle = lowest(self._nodes)
        self._nodes[handle] = node
        yield f"node was created with handle {handle}"

    def update_node(self, handle: str, *ports: str) -> Lines:
        groups, number, new_ports = self._read(), integer(handle, "node handle"), _ports(ports)
        yield f"Updating node {number} with port map {_map(new_ports)} and lag map "
        old, new = self._node(number), Node(self._node(number).rid, new_ports)
        self._nodes[number] = new
        try:
            for group, handles in groups.items():
                if number in handles:
                    self._write(MODIFY, group, handles)
        except RefusedError:
            self._nodes[number] = old
            raise

    def associate(self, group: str, handle: str) -> Lines:
        number, node = integer(group, "multicast group id"), integer(handle, "node handle")
        yield f"Associating node {node} to multicast group {number}"
        handles = self._handles(number)
        self._node(node)
        if node in handles:
            raise RefusedError("Invalid PRE operation (NODE_ALREADY_ASSOCIATED)")
        self._write(MODIFY, number, [*handles, node])
        handles.append(node)

    def dissociate(self, group: str, handle: str) -> Lines:
        number, node = integer(group, "multicast group id"), integer(handle, "node handle")
        yield f"Dissociating node {node} from multicast group {number}"
        handles = self._handles(number)
        if node not in handles:
            raise RefusedError("Invalid PRE operation (INVALID_L1_HANDLE)")
        self._write(MODIFY, number, [each for each in handles if each != node])
        handles.remove(node)

    def destroy_node(self, handle: str) -> Lines:
        groups, number = self._read(), integer(handle, "node handle")
        yield f"Destroying node {number}"
        self._node(number)
        for group, handles in groups.items():
            if number in handles:
                self._write(MODIFY, group, [each for each in handles if each != number])
                handles.remove(number)
        del self._nodes[number]

    def dump(self) -> Lines:
        self._groups = None
        groups = self._read()
        yield from ("==========", "MC ENTRIES")
        for group in sorted(groups):
            yield from ("**********", f"mgrp({group})")
            for handle in groups[group]:
                rid, ports = self._nodes[handle]
                shown = ", ".join(map(str, ports))
                yield f"  -> (L1h={handle}, rid={rid}) -> (ports=[{shown}], lags=[])"
        yield from ("==========", "LAGS", "==========")

    def _read(self) -> dict[int, list[int]]:
        """The groups; nodes that are in none stay known."""
        if self._groups is not None:
            return self._groups
        groups = dict[int, list[int]]()
        for group in self._found(0):
            nodes = _nodes_of(group)
            self._nodes |= nodes
            groups[group.multicast_group_id] = list(nodes)
        self._groups = groups
        return groups

    def _found(self, group: int) -> list[p4r.MulticastGroupEntry]:
        wanted = p4r.PacketReplicationEngineEntry(
            multicast_group_entry=p4r.MulticastGroupEntry(multicast_group_id=group)
        )
        found = self._remote.read(p4r.Entity(packet_replication_engine_entry=wanted))
        return [each.packet_replication_engine_entry.multicast_group_entry for each in found]

    def _handles(self, group: int) -> list[int]:
        try:
            return self._read()[group]
        except KeyError:
            raise RefusedError("Invalid PRE operation (INVALID_MGRP_HANDLE)") from None

    def _node(self, handle: int) -> Node:
        try:
            return self._nodes[handle]
        except KeyError:
            raise RefusedError("Invalid PRE operation (INVALID_L1_HANDLE)") from None

    def _write(self, kind: Kind, group: int, handles: Iterable[int]) -> None:
        entry = p4r.MulticastGroupEntry(multicast_group_id=group, metadata=b"nodes=")
        for handle in handles:
            rid, ports = self._nodes[handle]
            entry.metadata += b"%d:%d:%s;" % (handle, rid, ",".join(map(str, ports)).encode())
            entry.replicas.extend(_replica(port, rid) for port in ports)
        engine = p4r.PacketReplicationEngineEntry(multicast_group_entry=entry)
        self._remote.write(kind, p4r.Entity(packet_replication_engine_entry=engine))
        for session, mirrored in self._mirrors.items():
            if mirrored == group:
                self._mirror(session, entry.replicas)

    def mirror(self, session: str, port: str) -> None:
        replica = _replica(integer(port, "egress_port", _LAST_PORT), 0)
        number = integer(session, "mirror_id")
        self._mirror(number, [replica])
        self._mirrors.pop(number, None)

    def mirror_group(self, session: str, group: str) -> None:
        """The copies are those that the group makes, until the end of the run."""
        number, group_number = integer(session, "mirror_id"), integer(group, "mgrp")
        found = self._found(group_number) if group_number else []
        if not found:
            raise RefusedError(f"there is no multicast group {group}: create it first")
        self._mirror(number, found[0].replicas)
        self._mirrors[number] = group_number

    def _mirror(self, session: int, replicas: Iterable[p4r.Replica]) -> None:
        entry = _session(session)
        entry.packet_replication_engine_entry.clone_session_entry.replicas.extend(replicas)
        try:
            self._remote.write(INSERT, entry)
        except RefusedError as error:
            if error.code != GRPCStatusCode.ALREADY_EXISTS:
                raise
            self._remote.write(MODIFY, entry)

    def delete_mirror(self, session: str) -> None:
        number = self._mirrored(session).session_id
        self._remote.write(DELETE, _session(number))
        self._mirrors.pop(number, None)

    def mirrored(self, session: str) -> Lines:
        ports = [_replica_port(each) for each in self._mirrored(session).replicas]
        yield f"MirroringSessionConfig(port={ports[0] if len(ports) == 1 else ports}, mgid=None)"

    def _mirrored(self, session: str) -> p4r.CloneSessionEntry:
        number = integer(session, "mirror_id")
        found = self._remote.read(_session(number)) if number else []
        if not found:
            raise RefusedError("Invalid mirroring operation (SESSION_NOT_FOUND)")
        return found[0].packet_replication_engine_entry.clone_session_entry


def _session(number: int) -> p4r.Entity:
    entry = p4r.CloneSessionEntry(session_id=number)
    return p4r.Entity(
        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(clone_session_entry=entry)
    )


def _nodes_of(group: p4r.MulticastGroupEntry) -> dict[int, Node]:
    """The nodes that the group's metadata names, or one for each of its instances."""
    pairs = [(each.instance, _replica_port(each)) for each in group.replicas]
    if _NODES.fullmatch(group.metadata):
        nodes = dict[int, Node]()
        for text in group.metadata.decode().removeprefix("nodes=").split(";")[:-1]:
            handle, rid, ports = text.split(":")
            nodes[int(handle)] = Node(int(rid), tuple(int(port) for port in ports.split(",") if port))
        if sorted((node.rid, port) for node in nodes.values() for port in node.ports) == sorted(pairs):
            return nodes
    first = _FOREIGN * (1 + group.multicast_group_id)
    return {
        first + rid: Node(rid, tuple(sorted(port for instance, port in pairs if instance == rid)))
        for rid, _ in sorted(pairs)
    }


def _replica(port: int, instance: int) -> p4r.Replica:
    size = max(1, (port.bit_length() + 7) // 8)
    return p4r.Replica(port=port.to_bytes(size, "big"), instance=instance)


def _replica_port(replica: p4r.Replica) -> int:
    if replica.port:
        return int.from_bytes(replica.port, "big")
    return replica.egress_port  # pyright: ignore[reportDeprecated]  (as other clients may have written it)


def _ports(words: Iterable[str]) -> tuple[int, ...]:
    if "|" in words:
        raise RefusedError("gfswitch has no link aggregation groups: list their ports")
    ports = sorted(integer(word, "port", _LAST_PORT) for word in words)
    if len({*ports}) < len(ports):
        raise RefusedError("a port is listed twice")
    return tuple(ports)


def _map(ports: Iterable[int]) -> str:
    """A digit for each port, the highest first."""
    return f"{sum(1 << port for port in ports):b}" if ports else ""
