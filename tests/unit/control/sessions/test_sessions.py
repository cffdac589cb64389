"""Joining and leaving, as hosts and switches see it."""

import pytest

from groupflow.p4rt.entries import Action
from groupflow.store.interface import StoreError, Transaction
from tests.support.world import World, world

GROUP_ALONE, GROUP_WITH_AGENT = 0x2000, 0x4000


def stream(w: World, switch: str, session: int = 7, source: int = 1) -> dict[str, int]:
    names = ["index", "data", "ack", "repair", "upstream", "upstream_port", "agent_port", "active", "queue"]
    values = w.switches[switch].table("streams")[session, source]
    return dict(zip(names, values, strict=True))


def ports(w: World, switch: str, group: int) -> tuple[int, ...]:
    return w.switches[switch].table("groups")[group,]


async def test_a_sender_and_receivers_join() -> None:
    async with world() as w:
        await w.session()
        sender, near, far = w.host("h1"), w.host("h2"), w.host("h4")
        joined = await sender.join(7, "sender")
        assert (joined["member"], joined["source"], joined["receivers"]) == (1, 1, 0)
        assert joined.session == 7 and joined.eth_dst == sender.host.mac and joined.ip_dst == "10.0.1.1"
        answer = await near.join(7)
        assert (answer["member"], answer["source"], answer["receivers"]) == (2, 1, 1)
        answer = await far.join(7)
        assert (answer["window"], answer["keepalive_ms"], answer["start_seq"]) == (4096, 500, 1)
        await w.settle()
        assert sender.notices() == [("joined", 2, 1), ("joined", 3, 2)]
        assert joined["rate"] == 100_000_000, "of its own link: there is no branch yet"
        rates = [notice["rate"] for notice in sender.received if notice.kind == "notice"]
        assert rates == [10_000_000, 10_000_000], "of the link of h2"
        assert near.notices() == []  # a receiver is told of senders only

        at_s1, at_s2, at_s3 = (stream(w, name) for name in ("s1", "s2", "s3"))
        assert ports(w, "s1", at_s1["data"]) == (2, 3)  # h2 and s2
        assert ports(w, "s2", at_s2["data"]) == (3,)
        assert ports(w, "s3", at_s3["data"]) == (2,)
        assert (at_s1["upstream_port"], at_s2["upstream_port"], at_s3["upstream_port"]) == (1, 1, 1)
        assert ports(w, "s2", at_s2["ack"]) == (1,) and at_s2["repair"] == 0
        assert bin(at_s1["active"]).count("1") == 2
        branches = w.switches["s1"].table("branches")
        assert set(branches) == {(7, 1, 2, 2), (7, 1, 3, 0)}  # the next switch is member 0
        assert sum(1 << branch for (branch,) in branches.values()) == at_s1["active"]


async def test_copies_are_addressed_to_their_neighbours() -> None:
    async with world() as w:
        await w.session()
        await w.host("h1", 4000).join(7, "sender")
        await w.host("h3", 4001).join(7)
        await w.settle()
        neighbours = w.switches["s1"].table("neighbours").values()
        assert (0x020000000001, 0x02000A000101, 0x0A000101, 4000) in neighbours
        assert (0x020000000001, 0x020000000002) in neighbours
        assert (0x020000000002, 0x02000A000201, 0x0A000201, 4001) in w.switches["s2"].table(
            "neighbours"
        ).values()


async def test_a_new_branch_counts_only_after_its_reset() -> None:
    async with world() as w:
        await w.session()
        await w.host("h1").join(7, "sender")
        await w.host("h2").join(7)
        await w.settle()
        s1 = w.switches["s1"]
        assert s1.resets == [(7, 1, 0xFF), (7, 1, 0)]
        first = next(c for batch in s1.writes for c in batch if c.key.table == "streams")
        assert isinstance(first.value, Action)
        assert first.value.params["active"] == 0, "a new stream starts without branches"


async def test_a_lost_reset_is_repeated() -> None:
    async with world() as w:
        await w.session()
        w.switches["s1"].lose_resets = 3
        assert (await w.host("h1").join(7, "sender")).kind == "joined"
        await w.host("h2").join(7)
        assert w.switches["s1"].lose_resets == 0
        assert stream(w, "s1")["active"]


async def test_the_last_receiver_behind_a_switch_takes_the_branch_along() -> None:
    async with world() as w:
        await w.session()
        sender, near, far = w.host("h1"), w.host("h2"), w.host("h4")
        await sender.join(7, "sender")
        await near.join(7)
        await far.join(7)
        assert (await far.call("leave")).kind == "left"
        await w.settle()
        assert w.switches["s2"].table("streams") == {} == w.switches["s3"].table("streams")
        assert set(w.switches["s1"].table("branches")) == {(7, 1, 2, 2)}
        assert w.switches["s3"].table("neighbours") == {} == w.switches["s3"].table("groups")
        assert sender.notices()[-1] == ("left", 3, 1)
        assert (await far.call("leave")).kind == "unknown"


async def test_deleting_a_session_leaves_nothing_behind() -> None:
    async with world() as w:
        before = {name: dict(switch.entries) for name, switch in w.switches.items()}
        await w.session()
        sender, receiver = w.host("h1"), w.host("h3")
        await sender.join(7, "sender")
        await receiver.join(7)
        await w.running.manager.delete(7)
        await w.settle()
        assert {name: switch.entries for name, switch in w.switches.items()} == before
        assert sender.notices()[-1][0] == receiver.notices()[-1][0] == "deleted"
        assert await w.store.items("members/") == await w.store.items("numbers/streams/") == {}
        assert await w.store.items("numbers/neighbours/") == await w.store.items("sessions/") == {}


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"token": "00"}, "wrong_token"), ({"token": ""}, "wrong_token"), ({"source": 9}, "no_source")],
)
async def test_refusals(fields: dict[str, object], code: str) -> None:
    async with world() as w:
        await w.session()
        answer = await w.host("h2").join(7, **fields)
        assert (answer.kind, answer.word) == ("refused", code)
        assert answer.text
        assert w.running.manager.get(7).members == {}


async def test_an_unknown_session_is_refused() -> None:
    async with world() as w:
        answer = await w.host("h2").join(99, token="00")
        assert (answer.kind, answer.word, answer.session) == ("refused", "unknown_session", 99)


async def test_a_token_is_for_its_role() -> None:
    async with world() as w:
        await w.session()
        host = w.host("h2")
        refused = await host.join(7, "sender", token=w.token(7, "receiver"))
        assert refused.word == "wrong_token"
        assert (await host.join(7, token=w.token(7, "receiver"))).kind == "joined"


async def test_an_expired_session_ends_for_its_members() -> None:
    async with world() as w:
        await w.session(lifetime=10)
        token, host = w.token(7), w.host("h1")
        await host.join(7, "sender")
        await w.advance(12, alive=(host,))
        assert host.notices()[-1][0] == "deleted"
        assert w.running.manager.get(7).members == {}
        assert w.switches["s1"].table("streams") == {}
        assert (await w.host("h2").join(7, token=token)).word == "expired"


async def test_a_repeated_request_is_answered_alike_and_done_once() -> None:
    async with world() as w:
        await w.session()
        host, token = w.host("h1"), w.token(7)
        for _ in range(3):
            host.ask("join", session=7, role="sender", name="h1", token=token, request_id=77)
        await w.settle()
        host.ask("join", session=7, role="sender", name="h1", token=token, request_id=77)
        await w.settle()
        answers = host.answers(77)
        assert [answer["member"] for answer in answers] == [1] * len(answers) and len(answers) == 2
        assert len(w.running.manager.get(7).members) == 1
        assert len(w.switches["s1"].resets) == 1


async def test_sixteen_branches_are_all_a_switch_can() -> None:
    async with world() as w:
        await w.session()
        await w.host("h1").join(7, "sender")
        for number in range(16):
            assert (await w.host("h2", 6000 + number).join(7)).kind == "joined"
        before = dict(w.switches["s1"].entries)
        answer = await w.host("h2", 7000).join(7)
        assert (answer.kind, answer.word) == ("refused", "full") and "16 branches" in answer.text
        await w.settle()
        assert w.switches["s1"].entries == before
        assert len(w.running.manager.get(7).receivers) == 16


async def test_receivers_that_wait_leave_room_for_their_sender() -> None:
    async with world() as w:
        await w.session()
        hosts = [w.host("h2", 6000 + number) for number in range(17)]
        joined = [(await host.join(7)).kind for host in hosts]
        assert joined == ["joined"] * 16 + ["refused"]
        assert (await hosts[0].join(7, start="resume")).kind == "joined", "a receiver that comes back"
        assert (await w.host("h3").join(7)).kind == "joined", "at another switch"
        assert (await w.host("h4").join(7, "sender")).kind == "joined"


async def test_a_join_that_a_switch_refuses_is_undone() -> None:
    async with world() as w:
        await w.session()
        await w.host("h1").join(7, "sender")
        w.switches["s1"].refuse = {"branches"}
        answer = await w.host("h2").join(7)
        assert (answer.kind, answer.word) == ("refused", "unavailable")
        assert "s1" in answer.text and "table is full" in answer.text
        w.switches["s1"].refuse = set()
        assert len(w.running.manager.get(7).members) == 1
        assert (await w.host("h2", 5001).join(7)).kind == "joined"


async def test_late_join_starts_where_it_is_asked_to() -> None:
    async with world() as w:
        await w.session()
        sender = w.host("h1")
        await sender.join(7, "sender")
        sender.next = 500
        sender.keepalive()
        await w.settle()
        assert (await w.host("h2", 6000).join(7))["start_seq"] == 0
        assert (await w.host("h2", 6001).join(7, start="start"))["start_seq"] == 1
        assert (await w.host("h2", 6002).join(7, start="resume", seq=123))["start_seq"] == 123


async def test_a_member_rejoins_with_its_former_id() -> None:
    async with world() as w:
        await w.session()
        sender, receiver = w.host("h1"), w.host("h2")
        await sender.join(7, "sender")
        await receiver.join(7)
        await w.advance(4, alive=(sender,))
        assert sender.notices()[-1] == ("lost", 2, 0)
        assert (await receiver.call("keepalive", next=5)).kind == "unknown"
        answer = await receiver.join(7, start="resume", seq=40)
        assert (answer["member"], answer["start_seq"]) == (2, 40)
        newcomer = await w.host("h2", 6000).join(7)
        assert newcomer["member"] == 3


async def test_two_senders_and_a_receiver_of_both() -> None:
    async with world() as w:
        await w.session()
        one, receiver, two = w.host("h1"), w.host("h3"), w.host("h4")
        await one.join(7, "sender")
        answer = await receiver.join(7)
        assert answer["source"] == 1
        await two.join(7, "sender")
        await w.settle()
        assert receiver.notices() == [("joined", 3, 1)]
        assert set(w.switches["s2"].table("streams")) == {(7, 1), (7, 3)}
        assert stream(w, "s2", 7, 3)["upstream_port"] == 3
        late = w.host("h2")
        answer = await late.join(7, source=3)
        assert answer["source"] == 3
        await w.settle()
        assert late.notices() == [("joined", 1, 2)]


async def test_the_rate_hint_is_the_slowest_link_that_counts() -> None:
    async with world() as w:
        await w.session()
        await w.session(8, policy="isolate")
        for session in (7, 8):
            assert (await w.host("h1", session).join(session, "sender"))["rate"] == 100_000_000
            await w.host("h4", session).join(session)
        assert (await w.host("h2", 7).join(7))["rate"] == 10_000_000
        assert (await w.host("h2", 8).join(8))["rate"] == 50_000_000


async def test_complete_is_told_to_the_sender_once() -> None:
    async with world() as w:
        await w.session()
        sender, receiver = w.host("h1"), w.host("h2")
        await sender.join(7, "sender")
        await receiver.join(7)
        for _ in range(2):
            assert (await receiver.call("report", kind="complete", source=1, about=2)).kind == "alive"
        await w.settle()
        assert [notice for notice in sender.notices() if notice[0] == "complete"] == [("complete", 2, 1)]
        assert w.running.manager.get(7).members[2].complete == {1}


async def test_a_session_id_can_be_used_again_and_old_tokens_cannot() -> None:
    async with world() as w:
        await w.session()
        old = w.token(7)
        await w.host("h1").join(7, "sender")
        index = stream(w, "s1")["index"]
        await w.running.manager.delete(7)
        await w.session()
        assert (await w.host("h1").join(7, "sender", token=old)).word == "wrong_token"
        await w.host("h1", 5001).join(7, "sender")
        assert stream(w, "s1")["index"] != index


async def test_a_member_that_starts_anew_at_its_address_starts_with_fresh_registers() -> None:
    async with world() as w:
        await w.session()
        sender, receiver = w.host("h1"), w.host("h2")
        await sender.join(7, "sender")
        await receiver.join(7)
        s1 = w.switches["s1"]
        resets, index = len(s1.resets), stream(w, "s1")["index"]
        assert (await receiver.join(7, start="resume", seq=9))["member"] == 2
        assert len(s1.resets) == resets, "who resumes goes on where it was"
        assert (await receiver.join(7))["member"] == 2
        assert s1.resets[resets:] == [(7, 1, 1)]
        assert (await sender.join(7, "sender"))["member"] == 1
        await w.settle()
        assert s1.resets[-1] == (7, 1, 0xFF) and stream(w, "s1")["index"] != index
        assert set(w.running.manager.get(7).members) == {1, 2}


async def test_a_join_that_cannot_be_stored_is_refused_as_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world() as w:
        await w.session()

        async def fail(_: Transaction) -> bool:
            raise StoreError("groupflow.db: disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(w.store, "commit", fail)
            answer = await w.host("h1").join(7, "sender")
        assert (answer.kind, answer.word, answer.text) == (
            "refused",
            "unavailable",
            "groupflow.db: disk is full",
        )
        assert (await w.host("h1", 5001).join(7, "sender")).kind == "joined"
