"""The controller's values in the form of the API."""

from dataclasses import asdict
from ipaddress import IPv4Address
from typing import Any

from finsy.p4schema import P4ActionParam, P4MatchField, P4MatchType

from groupflow import units
from groupflow.control.api import schemas
from groupflow.control.controller import Controller
from groupflow.control.sessions.admission import token
from groupflow.control.sessions.model import Member, Session
from groupflow.control.sessions.numbers import Stream
from groupflow.control.sessions.replication import Node, lowest_rate
from groupflow.model.topology import Link
from groupflow.p4rt.entries import GROUPS, Action, Entries, Key, Replicas, Value
from groupflow.p4rt.program import Program, has_priority


def session_view(session: Session) -> schemas.SessionView:
    record = session.record
    return schemas.SessionView(
        **vars(record),
        senders=len(session.sources),
        receivers=len(session.receivers),
        listeners=len(session.listeners),
        address=record.tcp.address if record.tcp else None,
    )


def session_detail(controller: Controller, session: Session) -> schemas.SessionDetail:
    streams: list[schemas.StreamView] = []
    for source in session.sources:
        tree = controller.fabric.trees.get(Stream(session.id, source), {})
        rate = lowest_rate(controller.topology, tree, leaves=session.record.policy == "strict")
        nodes = [_node_view(node) for node in tree.values()]
        streams.append(schemas.StreamView(source=source, rate=rate, tree=nodes))
    members = [member_view(controller, session, member) for member in session.members.values()]
    return schemas.SessionDetail(**session_view(session).model_dump(), members=members, streams=streams)


def tokens_of(controller: Controller, session: Session) -> schemas.Tokens:
    secret, record = controller.manager.secret, session.record
    return schemas.Tokens(
        join=token(secret, record, "join"),
        sender=token(secret, record, "sender"),
        receiver=token(secret, record, "receiver"),
    )


def member_view(controller: Controller, session: Session, member: Member) -> schemas.MemberView:
    who = (session.id, member.id)
    heard, share = controller.manager.presence.last(who), controller.caching.shares.get(who)
    rate = controller.sharing.rates.get(who)
    record: dict[str, Any] = asdict(member) | {"complete": sorted(member.complete)}
    return schemas.MemberView(
        **record,
        switch=controller.topology.hosts[member.host].switch,
        next=heard.next if heard else 0,
        repairs=heard.repairs if heard else 0,
        isolated=bool(session.isolated_from(member.id)),
        target_bps=member.target,
        minimum_bps=member.minimum,
        share_bps=share.rate if share else None,
        share_bytes=share.bytes if share else None,
        rate_bps=None if rate is None else round(rate),
    )


def switch_view(controller: Controller, name: str) -> schemas.SwitchView:
    switch, device = controller.topology.switches[name], controller.devices[name]
    return schemas.SwitchView(
        name=name,
        device_id=switch.device_id,
        grpc=switch.grpc,
        state=device.state,
        problem=None if device.state == "up" else device.problem,
        agent=switch.agent,
        streams=len(controller.fabric.streams_at(name)),
        entries=len(device.desired.entries),
        packets_dropped=device.packets_dropped,
    )


def link_view(link: Link) -> schemas.LinkView:
    return schemas.LinkView(
        name=link.name,
        ends=[link.a.interface, link.b.interface],
        rate=units.format_rate(link.spec.rate),
        delay=units.format_delay(link.spec.delay_ns),
        loss=units.format_loss(link.spec.loss),
        queue=link.spec.queue,
    )


def entry_views(program: Program, entries: Entries, table: str | None) -> list[schemas.EntryView]:
    return [
        _entry_view(program, key, value)
        for key, value in sorted(entries.items(), key=lambda item: item[0])
        if table is None or key.table == table
    ]


def counter_index(controller: Controller, switch: str, counter: str, index: tuple[int, ...]) -> str:
    """The object that a counter's cell counts for, such as a port, in words where there are some."""
    number = index[0]
    if counter in ("port_in", "port_out"):
        end = controller.topology.switches[switch].ports.get(number)
        return f"{number} ({end.node})" if end else str(number)
    reasons = controller.program.counters[counter].reasons
    if number < len(reasons):
        return reasons[number]
    return "/".join(map(str, index))


def _node_view(node: Node) -> schemas.NodeView:
    return schemas.NodeView(
        switch=node.switch,
        upstream=node.upstream.node,
        branches=[
            schemas.BranchView(node=branch.neighbour.node, member=branch.member, isolated=branch.isolated)
            for branch in node.branches
        ],
        agent=node.agent.node if node.agent else None,
    )


def _entry_view(program: Program, key: Key, value: Value) -> schemas.EntryView:
    if isinstance(value, Replicas):
        replicas = [{"port": port, "instance": instance} for port, instance in sorted(value.copies)]
        return schemas.EntryView(table=GROUPS, match={"id": key.match[0]}, replicas=replicas)
    if not isinstance(value, Action):
        fields = value._asdict().items()
        return schemas.EntryView(
            table=key.table,
            match=dict(zip(("port", "queue") if len(key.match) == 2 else ("id",), key.match, strict=True)),
            params={name: item.hex() if isinstance(item, bytes) else item for name, item in fields},
        )
    numbers = iter(key.match)
    match: dict[str, int | str] = {}
    table = program.tables[key.table]
    for field in table.match_fields:
        shown = _show(field, next(numbers))
        if field.match_type == P4MatchType.TERNARY:
            mask = next(numbers)
            if mask:
                match[field.name] = f"{shown}&{mask:#x}"
        else:
            is_prefix = field.match_type == P4MatchType.LPM
            match[field.name] = f"{shown}/{next(numbers)}" if is_prefix else shown
    if has_priority(table):
        match["priority"] = next(numbers)
    return schemas.EntryView(
        table=key.table,
        match=match,
        action=value.name,
        params={
            param.name: _show(param, value.params[param.name]) for param in program.actions[value.name].params
        },
    )


def _show(field: P4MatchField | P4ActionParam, number: int) -> int | str:
    """A field's value as text where the field is an address, else the number."""
    if field.bitwidth == 48:
        return number.to_bytes(6, "big").hex(":")
    if field.bitwidth == 32 and field.name.rpartition(".")[2] in ("ip", "dst", "target_ip"):
        return str(IPv4Address(number))
    return number
