"""What a full store refuses is not there afterwards; what is in effect is stored once there is room."""

import pytest

from groupflow.model.flow import FlowRequest
from groupflow.model.session import NewSession, NewTcp
from groupflow.store.interface import MemoryStore, StoreError, Transaction
from tests.support.world import world


class SmallStore(MemoryStore):
    full = False

    async def commit(self, transaction: Transaction) -> bool:
        if self.full:
            raise StoreError("the disk is full")
        return await super().commit(transaction)


async def test_a_session_that_is_refused_is_not_listed() -> None:
    store = SmallStore()
    async with world(store=store) as w:
        sessions = w.running.manager
        store.full = True
        for new in (NewSession(id=7), NewSession(id=8, tcp=NewTcp(ports=(80,)))):
            with pytest.raises(StoreError):
                await sessions.create(new)
        assert sessions.sessions == {}
        store.full = False
        await sessions.create(NewSession(id=7))
        assert list(await store.items("sessions/")) == ["sessions/7"]


async def test_a_member_that_is_refused_is_no_member_and_others_stay() -> None:
    store = SmallStore()
    async with world(store=store) as w:
        await w.session(7)
        sender, receiver = w.host("h1"), w.host("h2")
        await sender.join(7, "sender")
        store.full = True
        assert (await receiver.join(7)).kind == "refused"
        assert list(w.running.manager.get(7).members) == [sender.member]
        await sender.join(7, "sender")  # asks again, as after a lost answer
        assert list(w.running.manager.get(7).members) == [sender.member]
        store.full = False
        await receiver.join(7)
        stored = {key.rpartition("/")[2] for key in await store.items("members/")}
        assert stored == {str(number) for number in w.running.manager.get(7).members}


async def test_a_session_deleted_while_the_store_was_full_is_gone_once_there_is_room() -> None:
    store = SmallStore()
    async with world(store=store) as w:
        await w.session(7)
        store.full = True
        with pytest.raises(StoreError):
            await w.running.manager.delete(7)
        store.full = False
        await w.session(8)
        assert list(await store.items("sessions/")) == ["sessions/8"]


async def test_a_flow_that_is_refused_is_not_there_and_one_that_stays_is() -> None:
    request = FlowRequest(kind="flow", src="h1", dst="h4", protocol="udp", dst_port=5001)
    store = SmallStore()
    async with world(store=store) as w:
        flows = w.running.diffusion
        store.full = True
        with pytest.raises(StoreError):
            await flows.install(request)
        assert flows.flows == {} and await store.items("diffusion/") == {}
        store.full = False
        flow = await flows.install(request)
        store.full = True
        with pytest.raises(StoreError):
            await flows.remove(flow.number)
        assert list(flows.flows) == [flow.number]
