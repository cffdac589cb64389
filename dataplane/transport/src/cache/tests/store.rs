use super::*;

fn store(count: u32) -> PacketStore {
    let mut store = PacketStore::default();
    for seq in 1..=count {
        store.insert(Seq(seq), Flags::RETX, &[0; 36]);
    }
    store
}

#[test]
fn only_what_every_branch_has_is_evicted() {
    let mut store = store(3);
    assert_eq!((store.bytes, store.promised, store.evict()), (300, 300, 0));
    store.set_floor(Seq(3));
    assert_eq!((store.bytes, store.promised, store.history()), (300, 100, 200));
    assert_eq!((store.evict(), store.evict(), store.evict()), (100, 100, 0));
    assert!(store.contains(Seq(3)) && !store.contains(Seq(2)));
    assert_eq!((store.bytes, store.promised_peak), (100, 300));
}

#[test]
fn a_branch_that_joins_makes_history_a_promise_again() {
    let mut store = store(3);
    store.set_floor(Seq(4));
    assert_eq!(store.promised, 0);
    store.set_floor(Seq(2));
    assert_eq!(store.promised, 200);
    store.insert(Seq(1), Flags::NONE, &[0; 36]);
    assert_eq!(store.bytes, 300, "a packet counts once");
}

#[test]
fn only_lasting_flags_are_kept() {
    let mut store = PacketStore::default();
    store.insert(Seq(1), Flags::FIN.with(Flags::RETX), b"x");
    assert_eq!(store.get(Seq(1)).map(|c| c.flags), Some(Flags::FIN));
}
