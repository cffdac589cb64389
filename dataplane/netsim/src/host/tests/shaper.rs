use super::*;

#[test]
fn packets_leave_at_exactly_the_rate() {
    let mut shaper = FlowShaper::new();
    shaper.set_rate(3_000_000 * 64);
    let mut now = Nanos(1000);
    for _ in 0..=3_000_000 {
        now = now.max(shaper.next());
        shaper.send(now);
    }
    assert_eq!(now, Nanos(1_000_001_000));
}

#[test]
fn a_new_rate_counts_for_the_packet_that_waits() {
    let mut shaper = FlowShaper::new();
    assert_eq!(shaper.next(), Nanos::ZERO);
    shaper.send(Nanos(500));
    shaper.set_rate(64);
    assert_eq!(shaper.next(), Nanos(1_000_000_500));
    shaper.set_rate(6400);
    assert_eq!(shaper.next(), Nanos(10_000_500));
    shaper.set_rate(0);
    assert_eq!(shaper.next(), Nanos::MAX);
    shaper.set_rate(1);
    assert_eq!(shaper.next(), Nanos(64_000_000_500));
}
