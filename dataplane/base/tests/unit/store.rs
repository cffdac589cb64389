use groupflow_base::reassembly::{ByteStore, PAGE};

#[test]
fn pages_come_and_go_with_their_bytes() {
    let mut store = ByteStore::default();
    let far = 3 * PAGE as u64 - 2;
    store.insert(far, b"abcd");
    assert_eq!((store.held(), store.memory(), store.pieces()), (4, 2 * PAGE, 1));
    assert_eq!(store.at(far), b"ab", "as far as the page reaches");
    assert_eq!(store.at(far + 2), b"cd");
    assert_eq!(store.at(far - 1), b"");
    store.discard_below(far + 2);
    assert_eq!((store.held(), store.memory()), (2, PAGE));
    store.discard_below(far + 4);
    assert_eq!((store.held(), store.memory()), (0, 0));
}
