"""The P4Runtime side, against a server on a real socket."""

import asyncio

import pytest
from finsy.proto import p4r, rpc_code

from groupflow.p4rt.connection import (
    BATCH,
    ConnectionFailedError,
    PacketOut,
    TakenError,
    connect,
    election_id,
)
from groupflow.p4rt.device import ApplyError, Device, State
from groupflow.p4rt.entries import DELETE, INSERT, Change, Count, Entries, Key, Replicas, action, read_counter
from groupflow.p4rt.program import Program
from tests.support.waiting import until
from tests.support.world import JSON, P4INFO
from tests.unit.p4rt.p4runtime_server import FakeP4Runtime, arbitration, p4runtime

PROGRAM = Program.load(P4INFO, JSON)

ENTRIES: Entries = {
    Key("l3_admit", (0x020000000001,)): action("admit_to_l3"),
    Key("ipv4_route", (0x0A000101, 32)): action("route", port=3, src=0x020000000001, dst=0x02000A000101),
    Key("neighbours", (1,)): action("to_host", src=1, dst=2, ip=0x0A000101, port=5000),
    Key("groups", (0x2001,)): Replicas(frozenset({(3, 1), (510, 2)})),
    Key("streams", (7, 1)): action(
        "stream",
        index=0,
        data_group=0,
        ack_group=0x2001,
        repair_group=0,
        upstream_group=0x8001,
        upstream_port=3,
        agent_port=0,
        active=0,
        queue=0,
    ),
    Key("branches", (7, 1, 3, 0)): action("from_branch", branch=15),
}


def inserts(entries: Entries) -> list[Change]:
    return [Change(INSERT, key, value) for key, value in entries.items()]


async def test_what_is_written_is_read_back() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        connection = await connect(address, 1, PROGRAM, 10)
        assert service.configs == 1 and connection.installed_pipeline
        assert await connection.read() == {}
        assert await connection.write(inserts(ENTRIES)) == {}
        assert await connection.read() == ENTRIES
        key = Key("groups", (0x2001,))
        assert await connection.write([Change(DELETE, key, None)]) == {}
        assert key not in await connection.read()
        await connection.close()


async def test_values_are_written_in_their_shortest_form() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        connection = await connect(address, 1, PROGRAM, 10)
        await connection.write([Change(INSERT, Key("neighbours", (1,)), action("to_switch", src=0, dst=256))])
        (entity,) = service.entities.values()
        assert [param.value for param in entity.table_entry.action.action.params] == [b"\0", b"\1\0"]
        await connection.close()


async def test_a_switch_that_runs_the_program_keeps_it() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        first = await connect(address, 1, PROGRAM, 10)
        await first.write(inserts(ENTRIES))
        await first.close()
        second = await connect(address, 1, PROGRAM, 11)
        assert service.configs == 1 and not second.installed_pipeline
        assert await second.read() == ENTRIES
        await second.close()


async def test_many_changes_go_in_batches_and_each_refusal_is_told() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        connection = await connect(address, 1, PROGRAM, 10)
        many: Entries = {
            Key("neighbours", (n,)): action("to_switch", src=1, dst=2) for n in range(1, 2 * BATCH + 2)
        }
        assert await connection.write(inserts(many)) == {}
        assert service.batches == [BATCH, BATCH, 1]
        extra: Entries = {Key("neighbours", (9000,)): action("to_switch", src=1, dst=2)}
        refused = await connection.write(
            inserts({Key("neighbours", (5,)): action("to_switch", src=1, dst=2), **extra})
        )
        assert refused == {Key("neighbours", (5,)): "not as expected"}
        assert len(await connection.read()) == len(many) + 1
        await connection.close()


async def test_the_id_of_a_primary_that_is_gone_is_outbid() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        service.highest = 500
        connection = await connect(address, 1, PROGRAM, 10)
        assert connection.election_id == 501
        await connection.close()


async def test_a_living_primary_is_respected() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        service.highest, service.primary_alive = 500, True
        with pytest.raises(TakenError, match=r"another controller \(election id 500\) is primary"):
            await connect(address, 1, PROGRAM, 1000)
        assert service.highest == 500, "it was not outbid"


async def test_a_living_primary_is_named_and_taken_over_from_when_asked() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        service.highest, service.primary_alive = election_id(700, ("10.0.0.9", 9580), 4711), True
        with pytest.raises(TakenError, match=r"with pid 4711, API http://10\.0\.0\.9:9580 is primary"):
            await connect(address, 1, PROGRAM, election_id(900, None, 12))
        connection = await connect(address, 1, PROGRAM, election_id(600, None, 12), take_over=True)
        assert connection.election_id == election_id(701, None, 12)
        await connection.close()


async def test_a_device_ends_where_another_controller_is_primary_from_the_start() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        service.highest, service.primary_alive = 500, True
        device = Device(
            "s1",
            lambda: connect(address, 1, PROGRAM, 10),
            on_packet=lambda switch, port, frame: None,
            on_state=lambda switch, state: None,
            on_probe=lambda frame: None,
        )
        with pytest.raises(
            TakenError, match=r"^switch s1: another controller \(election id 500\) is primary"
        ):
            await device.run()


async def test_losing_mastership_ends_the_connection() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        connection = await connect(address, 1, PROGRAM, 10)
        service.to_send.put_nowait(arbitration(rpc_code.ALREADY_EXISTS, 99))
        with pytest.raises(
            ConnectionFailedError, match=r"another controller \(election id 99\) took mastership"
        ):
            async for _ in connection.packets():
                pass
        await connection.close()


async def test_no_switch_there_is_one_line() -> None:
    with pytest.raises(ConnectionFailedError, match="UNAVAILABLE") as failure:
        await connect("127.0.0.1:1", 1, PROGRAM, 10)
    assert "\n" not in str(failure.value)


async def test_packets_go_both_ways() -> None:
    async with p4runtime(service := FakeP4Runtime()) as address:
        connection = await connect(address, 1, PROGRAM, 10)
        await connection.send(PacketOut(5, False, b"out"))
        await connection.send(PacketOut(0, True, b"reset"))
        await until(lambda: len(service.packets) == 2)
        sent = [(p.payload, [int.from_bytes(m.value, "big") for m in p.metadata]) for p in service.packets]
        assert sent == [(b"out", [5, 0, 0]), (b"reset", [0, 1, 0])]
        packet = p4r.PacketIn(payload=b"in")
        packet.metadata.add(metadata_id=1, value=b"\x07")
        packet.metadata.add(metadata_id=2, value=b"\x01")
        service.to_send.put_nowait(p4r.StreamMessageResponse(packet=packet))
        async for received in connection.packets():
            assert received == (7, 1, b"in")
            break
        await connection.close()


async def test_counters_are_read_by_name() -> None:
    async with p4runtime(FakeP4Runtime()) as address:
        connection = await connect(address, 1, PROGRAM, 10)
        counter = PROGRAM.counters["port_in"]
        assert await read_counter(PROGRAM, counter, connection.query) == [Count((2,), 3, 300)]
        await connection.close()


async def test_a_device_comes_up_keeps_up_and_comes_back() -> None:
    states: list[State] = []
    service = FakeP4Runtime()
    async with p4runtime(service) as address:
        device = Device(
            "s1",
            lambda: connect(address, 1, PROGRAM, 10),
            on_packet=lambda switch, port, frame: None,
            on_state=lambda _, state: states.append(state),
            on_probe=lambda frame: None,
        )
        table = {key: value for key, value in ENTRIES.items() if key.table in ("l3_admit", "neighbours")}
        device.desired.replace("test", table)
        running = asyncio.create_task(device.run())
        await until(lambda: device.state == "up")
        assert len(service.entities) == len(table)
        device.desired.replace("more", {Key("neighbours", (2,)): action("to_switch", src=1, dst=2)})
        await device.settled()
        assert len(service.entities) == len(table) + 1
        service.refuse_tables = {PROGRAM.tables["neighbours"].id}
        refused = Key("neighbours", (3,))
        device.desired.replace("too many", {refused: action("to_switch", src=1, dst=2)})
        with pytest.raises(ApplyError, match=r"switch s1 refused neighbours\[3\]: table is full"):
            await device.settled([refused])
        await device.settled([Key("neighbours", (2,))])
        service.refuse_tables = set()
        service.config = None  # as after a restart
        service.to_send.put_nowait(arbitration(rpc_code.ALREADY_EXISTS, 99))
        await until(lambda: states.count("up") == 2)
        assert states == ["syncing", "up", "down", "syncing", "up"]
        assert len(service.entities) == len(table) + 2
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
