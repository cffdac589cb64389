use super::*;

#[test]
fn acknowledgements_count_once_and_within_what_was_sent() {
    let mut flight = Flight::new(Seq::FIRST);
    for (length, fin) in [(100, false), (50, false), (0, true)] {
        flight.send(length, fin);
    }
    let cases = [(1, false, 0), (3, true, 150), (2, false, 150), (5, false, 150), (4, true, 150)];
    for (seq, new, bytes) in cases {
        assert_eq!(flight.acknowledge(Seq(seq)), new, "{seq}");
        assert_eq!(flight.acked_bytes, bytes);
    }
    assert!(flight.complete());
    assert_eq!((flight.outstanding(), flight.acked_wire), (0, 150 + 3 * FRAME_OVERHEAD));
}
