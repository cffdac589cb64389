use super::*;
use proptest::prelude::*;

fn limits() -> LatenessLimits {
    LatenessLimits { lateness: Nanos::from_millis(10), kernel_drops: 0 }
}

#[test]
fn a_switch_is_bound_when_one_in_a_hundred_is_late() {
    let mut lateness = Lateness::new(limits());
    (0..990).for_each(|_| lateness.record(Nanos::from_micros(100)));
    (0..10).for_each(|_| lateness.record(Nanos::from_millis(50)));
    assert!(!lateness.cpu_bound(), "exactly 99 % are in time");
    lateness.record(Nanos::from_millis(50));
    assert!(lateness.cpu_bound());
    assert_eq!(lateness.stats().max_ns, 50_000_000);
    lateness.reset(Nanos::from_secs(5));
    assert!(!lateness.cpu_bound());
    assert_eq!(lateness.stats().packets, 0);
}

#[test]
fn a_switch_is_bound_when_the_kernel_drops() {
    let mut lateness = Lateness::new(limits());
    lateness.kernel_dropped(1);
    assert!(lateness.cpu_bound());
    assert_eq!(lateness.kernel_drops(), 1);
}

#[test]
fn windows_are_of_a_second_and_bounded() {
    let mut lateness = Lateness::new(limits());
    for second in 0..100 {
        lateness.record(Nanos(second));
        lateness.tick(Nanos::from_secs(second) + Nanos(1));
        lateness.tick(Nanos::from_secs(second + 1));
    }
    let windows = lateness.stats().windows;
    assert_eq!(windows.len(), WINDOWS);
    assert_eq!(windows.last().map(|w| (w.start_ns, w.packets, w.max_ns)), Some((99_000_000_000, 1, 99)));
}

proptest! {
    #[test]
    fn buckets_hold_their_values_closely(value: u64) {
        let n = bucket(value);
        prop_assert!(n < BUCKETS);
        prop_assert!(upper_end(n) >= value);
        prop_assert!(n == 0 || upper_end(n - 1) < value);
        prop_assert!(upper_end(n) - value <= value / 8);
    }
}
