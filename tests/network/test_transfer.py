"""The main job: one file to everyone, once per link. Its duration is tested in virtual time, in unit/sim.

Links run at a fifth of the paper's rate, so that the network is measured even on a busy machine.
`make bench` has the figures at 100 Mb/s.
"""

from groupflow.files import variants
from groupflow.lab.measure import link_bytes, usage
from tests.network.harness import FRAME, MIB, PAYLOAD, Lab, MakeLab, Outcome, undisturbed

RATE = 20_000_000


async def send(lab: Lab, size: int) -> tuple[Outcome, dict[tuple[str, str], float]]:
    """Sends a file to all receivers. Returns its copies on each direction of each link."""

    async def once() -> tuple[Outcome, dict[tuple[str, str], float]]:
        async with lab.caches():
            before = link_bytes(lab.network)
            async with lab.transfer(lab.session(), lab.file(size)) as transfer:
                outcome = await transfer.outcome()
            uses = usage(lab.topology, before, link_bytes(lab.network), size)
        outcome.assert_everyone_has_it()
        return outcome, {(use.source, use.target): use.copies for use in uses}

    return await undisturbed(lab, once)


async def test_15_receivers(make_lab: MakeLab) -> None:
    size = 16 * MIB
    with make_lab(variants.with_rate(variants.named("fig5"), RATE)) as lab:
        outcome, copies = await send(lab, size)
    assert len(outcome.seconds()) == 15
    assert copies["ma1", "s1"] <= 1.05
    assert copies["s1", "s2"] <= 1.05


async def test_every_receiver_link_carries_one_copy_and_acknowledgements_are_few(make_lab: MakeLab) -> None:
    topology = variants.with_rate(variants.with_members(variants.named("fig5"), 1), RATE)
    with make_lab(topology) as lab:
        _, copies = await send(lab, 4 * MIB)
    overhead = FRAME / PAYLOAD
    for receiver in ("mb1", "mc1", "md1"):
        switch = topology.hosts[receiver].switch
        assert overhead <= copies[switch, receiver] <= 1.06
    # One packet of 66 bytes for 16 of data, whoever is behind the link.
    assert copies["s2", "s1"] <= 0.01
    assert copies["s1", "ma1"] <= 0.01


async def test_a_file_that_ends_within_a_packet_and_one_of_a_byte(pair: Lab) -> None:
    async with pair.caches():
        for size in (1, PAYLOAD, PAYLOAD + 1, 100_001):
            async with pair.transfer(pair.session(), pair.file(size)) as transfer:
                (await transfer.outcome()).assert_everyone_has_it()
