"""1 % loss on every link: nothing is missing in the end, and the caches, not the sender, repair."""

from dataclasses import replace

from groupflow.files import variants
from groupflow.lab.measure import link_bytes, usage
from tests.network.harness import MIB, MakeLab

LOSS = 10_000_000  # 1 %, in parts per 10^9


async def test_losses_are_repaired_near_the_receivers(make_lab: MakeLab) -> None:
    size = 16 * MIB
    topology = variants.with_loss(variants.with_members(variants.named("fig5"), 2), LOSS)
    with make_lab(topology) as lab:
        async with lab.caches() as caches:
            before = link_bytes(lab.network)
            async with lab.transfer(lab.session(), lab.file(size)) as transfer:
                outcome = await transfer.outcome()
            uses = usage(topology, before, link_bytes(lab.network), size)
            for cache in caches.values():
                await cache.stop()
        outcome.assert_everyone_has_it()
        repairs = {
            name: cache.latest["stats"].integer("repairs_unicast")
            + cache.latest["stats"].integer("repairs_multicast")
            for name, cache in caches.items()
        }
        requests = {name: cache.latest["stats"].integer("requests") for name, cache in caches.items()}
    copies = {(use.source, use.target): use.copies for use in uses}
    retransmitted = transfer.sender.latest["complete"].integer("retransmitted")
    packets = transfer.sender.latest["complete"].integer("packets")
    # Each receiver's own link loses 1 %, which its switch's cache repairs: at least 1 % of the packets there.
    assert min(repairs.values()) > 0.01 * packets, (repairs, requests)
    # Packets that ma1's own link lost only ma1 can send again, and it need send nothing else.
    assert retransmitted <= 0.03 * packets, (retransmitted, packets, repairs)
    assert copies["ma1", "s1"] <= 1.10
    repaired = {
        name: end.latest["complete"].integer("repaired_packets") for name, end in transfer.receivers.items()
    }
    assert all(count > 0.005 * packets for count in repaired.values()), repaired


async def test_a_loss_of_a_tenth_on_one_link_is_survived(make_lab: MakeLab) -> None:
    topology = variants.with_members(variants.named("fig5"), 1)
    topology = variants.with_link(topology, "mc1", "s2", lambda spec: replace(spec, loss=100_000_000))
    with make_lab(topology) as lab:
        async with lab.caches(), lab.transfer(lab.session(), lab.file(2 * MIB)) as transfer:
            (await transfer.outcome()).assert_everyone_has_it()


async def test_without_cache_agents_the_sender_repairs(make_lab: MakeLab) -> None:
    topology = variants.with_loss(variants.with_members(variants.named("fig5"), 1), LOSS)
    with make_lab(topology) as lab:
        async with lab.transfer(lab.session(), lab.file(2 * MIB)) as transfer:
            outcome = await transfer.outcome()
        outcome.assert_everyone_has_it()
        assert transfer.sender.latest["complete"].integer("retransmitted") > 0
