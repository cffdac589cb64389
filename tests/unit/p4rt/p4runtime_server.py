"""A P4Runtime server that keeps its writes, to try the client side of the wire."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from finsy.proto import U128, p4r, p4r_grpc, rpc_code, rpc_status
from google.protobuf import any_pb2


class FakeP4Runtime(p4r_grpc.P4RuntimeServicer):
    """Single device; strict about mastership, pipelines, and what exists."""

    def __init__(self) -> None:
        self.config: p4r.ForwardingPipelineConfig | None = None
        self.entities: dict[bytes, p4r.Entity] = {}
        self.batches: list[int] = []
        self.configs = 0
        self.highest = 0
        """election id"""
        self.primary_alive = False
        self.refuse_tables: set[int] = set()
        self.packets: list[p4r.PacketOut] = []
        self.to_send: asyncio.Queue[p4r.StreamMessageResponse] = asyncio.Queue()
        """Messages to the stream opened last; a stream that is closing takes none of them."""

    async def StreamChannel(  # noqa: N802 (gRPC's name)
        self, request_iterator: AsyncIterator[p4r.StreamMessageRequest], context: Any
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        to_send: asyncio.Queue[p4r.StreamMessageResponse] = asyncio.Queue()
        self.to_send = to_send

        async def take() -> None:
            async for request in request_iterator:
                if request.HasField("arbitration"):
                    asked = request.arbitration
                    bid = U128.decode(asked.election_id) if asked.HasField("election_id") else -1
                    to_send.put_nowait(self._arbitrate(bid))
                else:
                    self.packets.append(request.packet)

        taking = asyncio.create_task(take())
        try:
            while True:
                yield await to_send.get()
        finally:
            taking.cancel()

    def _arbitrate(self, bid: int) -> p4r.StreamMessageResponse:
        if bid >= self.highest and not (self.primary_alive and bid == self.highest):
            self.highest, code = bid, rpc_code.OK
        else:
            code = rpc_code.ALREADY_EXISTS if self.primary_alive else rpc_code.NOT_FOUND
        return arbitration(code, self.highest)

    async def Capabilities(self, request: Any, context: Any) -> Any:  # noqa: N802
        return p4r.CapabilitiesResponse(p4runtime_api_version="1.4.1")

    async def GetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.config is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "No forwarding pipeline config set")
        return p4r.GetForwardingPipelineConfigResponse(config=self.config)

    async def SetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        if U128.decode(request.election_id) != self.highest:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "not primary")
        if b"bad program" in request.config.p4_device_config:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not a program\nof ours")
        self.configs += 1
        self.config = request.config
        self.entities.clear()
        return p4r.SetForwardingPipelineConfigResponse()

    async def Write(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.batches.append(len(request.updates))
        errors = [self._update(update) for update in request.updates]
        if any(error.canonical_code for error in errors):
            status = rpc_status.Status(code=rpc_code.UNKNOWN, message="some updates failed")
            for error in errors:
                packed = any_pb2.Any()
                packed.Pack(error)
                status.details.append(packed)
            await context.abort(
                grpc.StatusCode.UNKNOWN,
                "some updates failed",
                (("grpc-status-details-bin", status.SerializeToString()),),
            )
        return p4r.WriteResponse()

    def _update(self, update: p4r.Update) -> p4r.Error:
        name = update.entity.WhichOneof("entity")
        identity = p4r.Entity()
        if name == "table_entry":
            entry = update.entity.table_entry
            if entry.table_id in self.refuse_tables:
                return p4r.Error(canonical_code=rpc_code.RESOURCE_EXHAUSTED, message="table is full")
            identity.table_entry.table_id = entry.table_id
            identity.table_entry.match.extend(entry.match)
        else:
            group = update.entity.packet_replication_engine_entry.multicast_group_entry
            target = identity.packet_replication_engine_entry.multicast_group_entry
            target.multicast_group_id = group.multicast_group_id
        key = identity.SerializeToString(deterministic=True)
        if (key in self.entities) == (update.type == p4r.Update.Type.INSERT):
            return p4r.Error(canonical_code=rpc_code.NOT_FOUND, message="not as expected")
        if update.type == p4r.Update.Type.DELETE:
            del self.entities[key]
        else:
            self.entities[key] = update.entity
        return p4r.Error()

    async def Read(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        for wanted in request.entities:
            if wanted.HasField("counter_entry"):
                counter = p4r.CounterEntry(counter_id=wanted.counter_entry.counter_id)
                counter.index.index = 2
                counter.data.packet_count, counter.data.byte_count = 3, 300
                yield p4r.ReadResponse(entities=[p4r.Entity(counter_entry=counter)])
        found = [
            entity
            for entity in self.entities.values()
            if any(_matches(wanted, entity) for wanted in request.entities)
        ]
        yield p4r.ReadResponse(entities=found)


def arbitration(code: int, highest: int) -> p4r.StreamMessageResponse:
    return p4r.StreamMessageResponse(
        arbitration=p4r.MasterArbitrationUpdate(
            device_id=1, election_id=U128.encode(highest), status=rpc_status.Status(code=code)
        )
    )


def _matches(wanted: p4r.Entity, entity: p4r.Entity) -> bool:
    name = wanted.WhichOneof("entity")
    if name != entity.WhichOneof("entity"):
        return False
    return name != "table_entry" or wanted.table_entry.table_id == entity.table_entry.table_id


@asynccontextmanager
async def p4runtime(service: FakeP4Runtime) -> AsyncGenerator[str]:
    """Serves on a free port. Yields the address."""
    server = grpc.aio.server()
    p4r_grpc.add_P4RuntimeServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)
