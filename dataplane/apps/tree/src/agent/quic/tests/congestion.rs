use super::*;

const MTU: u16 = 1200;

#[test]
fn the_bound_grows_by_a_part_and_a_packet_in_each_round_trip_and_falls_with_losses() {
    let now = Instant::now();
    let mut bound = BoundedController::new(now, MTU);
    bound.most = LEAST * u64::from(MTU);
    for round in 0..20 {
        let before = bound.most;
        for number in 10 * round + 1..=10 * (round + 1) {
            bound.on_sent(now, MTU.into(), number);
        }
        // The first of these acknowledgements ends a round trip, the others are within the next one.
        for largest in 10 * round..10 * (round + 1) {
            bound.on_end_acks(now, 0, false, Some(largest));
            assert_eq!(bound.most, before + before / GROWTH + u64::from(MTU), "{largest}");
        }
    }
    (bound.acked, bound.lost) = (30 * u64::from(MTU), 10 * u64::from(MTU));
    bound.on_end_acks(now, 0, false, Some(200));
    assert_eq!(bound.most, 30 * u64::from(MTU));
}
