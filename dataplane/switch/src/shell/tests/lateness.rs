use super::*;

#[test]
fn a_switch_is_bound_when_one_in_a_hundred_is_late() {
    let mut lateness = Lateness::new().expect("a histogram");
    (0..990).for_each(|_| lateness.record(Nanos::from_micros(100)));
    (0..10).for_each(|_| lateness.record(Nanos::from_millis(50)));
    assert!(!lateness.cpu_bound(), "exactly 99 % are in time");
    lateness.record(Nanos::from_millis(50));
    assert!(lateness.cpu_bound());
    assert!(lateness.stats().max_ns.abs_diff(50_000_000) < 500_000);
    lateness.reset(Nanos::from_secs(5));
    assert!(!lateness.cpu_bound());
    assert_eq!(lateness.stats().packets, 0);
}

#[test]
fn a_switch_is_bound_when_the_kernel_drops() {
    let mut lateness = Lateness::new().expect("a histogram");
    lateness.kernel_dropped(1);
    assert!(lateness.cpu_bound());
    assert_eq!(lateness.kernel_drops(), 1);
}

#[test]
fn windows_are_of_a_second_and_bounded() {
    let mut lateness = Lateness::new().expect("a histogram");
    for second in 0..100 {
        lateness.record(Nanos(second));
        lateness.tick(Nanos::from_secs(second) + Nanos(1));
        lateness.tick(Nanos::from_secs(second + 1));
    }
    let windows = lateness.stats().windows;
    assert_eq!(windows.len(), WINDOWS);
    assert_eq!(windows.last().map(|w| (w.start_ns, w.packets, w.max_ns)), Some((99_000_000_000, 1, 99)));
}
