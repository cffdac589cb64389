use super::*;

fn range(first: u32, last: u32) -> PacketRange {
    PacketRange { first: Seq(first), last: Seq(last) }
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

#[test]
fn a_gap_is_asked_for_when_due_and_again_with_backoff() {
    let mut requests = Requests::default();
    requests.add(range(5, 7), ms(10));
    assert_eq!(requests.next_deadline(), Some(ms(10)));
    assert!(requests.take_due(ms(9)).is_empty());
    assert_eq!(requests.take_due(ms(10)), [range(5, 7)]);
    // Nothing measured yet: 2 x 50 ms, then doubled.
    assert_eq!(requests.next_deadline(), Some(ms(110)));
    assert_eq!(requests.take_due(ms(110)), [range(5, 7)]);
    assert_eq!(requests.next_deadline(), Some(ms(310)));
}

#[test]
fn an_arrival_splits_the_gap_and_measures() {
    let mut requests = Requests::default();
    requests.add(range(5, 7), ms(0));
    assert_eq!(requests.take_due(ms(0)), [range(5, 7)]);
    assert!(requests.arrived(ms(20), Seq(6), true));
    assert!(!requests.arrived(ms(20), Seq(6), true));
    assert_eq!(requests.rtt.smoothed, Some(ms(20)));
    assert_eq!(requests.take_due(ms(100)), [range(5, 5), range(7, 7)]);
    assert_eq!(requests.first_from(Seq(6)), Some(Seq(7)));
    requests.forget(range(0, 6));
    assert_eq!(requests.first_from(Seq::ZERO), Some(Seq(7)));
}

#[test]
fn the_window_bounds_what_is_outstanding() {
    let mut requests = Requests::default();
    requests.add(range(1, 1000), ms(0));
    assert_eq!(requests.take_due(ms(0)), [range(1, 256)]);
    assert!(requests.take_due(ms(1)).is_empty());
    for seq in 1..=128 {
        assert!(requests.arrived(ms(2), Seq(seq), true));
    }
    assert!(requests.take_due(ms(3)).is_empty(), "asks at most every 4 ms");
    // The window grew by 128 answers: 384 less the 128 still awaited.
    assert_eq!(requests.take_due(ms(4)), [range(257, 512)]);
}

#[test]
fn answers_that_queue_do_not_widen_the_window() {
    let mut requests = Requests::default();
    requests.add(range(1, 2000), ms(0));
    assert_eq!(requests.take_due(ms(0)), [range(1, 256)]);
    // The first answer after 2 ms, then one a millisecond: the window grows while they take under 24 ms,
    // smoothed.
    for seq in 1..=256 {
        assert!(requests.arrived(ms(1 + u64::from(seq)), Seq(seq), true));
    }
    let window: u32 = requests.take_due(ms(261)).iter().map(|range| range.count()).sum();
    assert!((270..300).contains(&window), "{window}");
}

#[test]
fn a_packet_for_the_group_does_not_tell_how_fast_answers_are() {
    let mut requests = Requests::default();
    requests.add(range(1, 2000), ms(0));
    assert_eq!(requests.take_due(ms(0)), [range(1, 256)]);
    assert!(requests.arrived(ms(1), Seq(1), false));
    for seq in 2..=256 {
        assert!(requests.arrived(ms(25), Seq(seq), true));
    }
    assert_eq!(requests.window.size, 512);
}

#[test]
fn the_fastest_answer_counts_until_the_window_is_halved() {
    let mut requests = Requests::default();
    let answer = |requests: &mut Requests, now, first: u32, last: u32| {
        assert_eq!(requests.take_due(ms(now)), [range(first, last)]);
        (first..=last).for_each(|seq| assert!(requests.arrived(ms(now + 60), Seq(seq), true)));
    };
    requests.add(range(1, 129), ms(0));
    assert_eq!(requests.take_due(ms(0)), [range(1, 129)]);
    assert!(requests.arrived(ms(1), Seq(1), true));
    // All others time out. Answers to a second request tell no time.
    answer(&mut requests, 100, 2, 129);
    requests.add(range(1001, 3000), ms(200));
    answer(&mut requests, 200, 1001, 1256);
    assert_eq!(requests.window.size, 512, "128, and one more for each answer");
}

#[test]
fn answers_that_take_long_are_waited_for() {
    let mut requests = Requests::default();
    requests.add(range(1, 1), ms(0));
    assert_eq!(requests.take_due(ms(0)), [range(1, 1)]);
    assert!(requests.arrived(ms(800), Seq(1), true));
    requests.add(range(2, 2), ms(800));
    assert_eq!(requests.take_due(ms(800)), [range(2, 2)]);
    assert_eq!(requests.next_deadline(), Some(ms(800 + 1600)));
}

#[test]
fn timeouts_halve_the_window() {
    let mut requests = Requests::default();
    requests.add(range(1, 1000), ms(0));
    assert_eq!(requests.take_due(ms(0)), [range(1, 256)]);
    assert_eq!(requests.take_due(ms(100)), [range(1, 128)]);
    assert_eq!(requests.take_due(ms(300)), [range(1, 64)]);
}

#[test]
fn overlapping_additions_keep_what_is_known() {
    let mut requests = Requests::default();
    requests.add(range(5, 6), ms(0));
    assert_eq!(requests.take_due(ms(0)), [range(5, 6)]);
    requests.add(range(1, 9), ms(50));
    assert_eq!(requests.take_due(ms(50)), [range(1, 4), range(7, 9)]);
    assert!([1, 5, 9].iter().all(|&seq| requests.contains(Seq(seq))));
    assert!(!requests.contains(Seq(10)));
}

#[test]
fn many_gaps_take_several_requests() {
    let mut requests = Requests::default();
    for i in 1..=100 {
        requests.add(range(2 * i, 2 * i), ms(0));
    }
    assert_eq!(requests.take_due(ms(0)).len(), 64);
    assert_eq!(requests.take_due(ms(0)).len(), 36);
    assert!(requests.take_due(ms(0)).is_empty());
}

#[test]
fn the_last_packet_number_is_a_legal_gap() {
    let mut requests = Requests::default();
    requests.add(PacketRange { first: Seq(u32::MAX - 2), last: Seq::LAST }, ms(0));
    assert_eq!(requests.take_due(ms(0)).len(), 1);
    assert!(requests.arrived(ms(1), Seq::LAST, true));
    assert!(requests.arrived(ms(1), Seq(u32::MAX - 2), true));
    assert!(requests.is_empty());
}
