use super::*;

const MS: u64 = 1_000_000;

#[test]
fn the_shortest_trip_of_a_round_and_what_was_missing() {
    let mut trips = Trips::new();
    assert_eq!(trips.read(0, 0), Reading::default());
    trips.answered(Nanos(50 * MS), 0);
    assert_eq!(trips.read(0, 0).round_trip, None, "a SYN answers nothing");
    for (now, echo) in [(150, 50), (160, 70), (400, 100)] {
        trips.answered(Nanos(now * MS), echo * 1_000);
    }
    for packet in [0, 1, 4, 2, 6, 5] {
        trips.arrived(packet);
    }
    let reading = trips.read(5, 6);
    assert_eq!(reading.round_trip, Some(Nanos(90 * MS)));
    assert_eq!((reading.missing, reading.delivered, reading.packets), (3, 5, 6), "2, 3 and 5");
    assert!(reading.timeout >= Some(Nanos(200 * MS)));
    assert_eq!(trips.read(5, 6).round_trip, None, "nothing new");
}
