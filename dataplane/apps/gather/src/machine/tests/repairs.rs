use super::super::coding::ErasureCode;
use super::*;

const BYTES: [u8; 4096] = [7; 4096];

fn parity(start: u64) -> (ParityGroup, Vec<Vec<u8>>) {
    let group = ErasureCode::parse("4+2").expect("a code").group(start, 4096);
    (group, group.encode(&BYTES))
}

#[test]
fn what_comes_in_bits_makes_what_is_missing() {
    let (mut repairs, mut store) = (ParityQueue::new(1 << 20), ByteStore::default());
    let (group, blocks) = parity(0);
    store.insert(1024, &BYTES[..2048]);
    for (index, block) in (0..).zip(&blocks) {
        repairs.receive(Parity { group, index }, 0, &block[..100]);
        repairs.receive(Parity { group, index }, 0, &block[..100]);
        assert!(repairs.make(0..4096, &store).is_empty(), "not enough");
        repairs.receive(Parity { group, index }, 100, &block[100..]);
    }
    let made = repairs.make(1024..1025, &store);
    let made: Vec<_> = made.iter().map(|(at, bytes)| (*at, bytes == &BYTES[..1024])).collect();
    assert_eq!(made, [(0, true), (3072, true)]);
    assert_eq!(repairs.cost(), 0, "it has done its work");
}

#[test]
fn the_last_groups_make_room_for_those_before() {
    let mut repairs = ParityQueue::new(2 * (1024 + OVERHEAD));
    for (start, expected) in [(8192, &[8192][..]), (4096, &[4096, 8192]), (0, &[0, 4096]), (8192, &[0, 4096])]
    {
        let (group, blocks) = parity(start);
        repairs.receive(Parity { group, index: 0 }, 0, &blocks[0]);
        assert!(repairs.groups.keys().eq(expected.iter()), "{:?}", repairs.groups.keys());
        assert!(repairs.cost() <= repairs.budget);
    }
    repairs.discard_below(4096);
    assert!(repairs.groups.keys().eq([4096].iter()));
}
