use groupflow_base::feedback::Feedback;
use groupflow_base::Nanos;
use groupflow_shape::rates::{Change, Rates, SILENCE};

fn report(flow: u16, packets_per_second: i32) -> Feedback {
    Feedback { flow, external: true, rate: 64 * packets_per_second }
}

fn after(rates: &mut Rates, now: Nanos, report: &Feedback) -> Vec<Change> {
    rates.take(now, report);
    rates.changes(now)
}

#[test]
fn the_newest_report_counts_once() {
    let mut rates = Rates::new([4, 9], 1500);
    assert_eq!(rates.changes(Nanos::from_secs(5)), []);
    let now = Nanos::from_secs(6);
    rates.take(now, &report(9, 800));
    assert_eq!(after(&mut rates, now, &report(9, 1000)), [Change { place: 1, rate: Some(1_500_000) }]);
    assert_eq!(after(&mut rates, now, &report(9, 1000)), []);
    assert_eq!(after(&mut rates, now, &report(5, 1)), [], "another host's flow");
    let computes = Feedback { external: false, ..report(9, 1) };
    assert_eq!(after(&mut rates, now, &computes), [], "a rate for a node");
}

#[test]
fn a_pause_is_a_slow_rate_and_the_largest_is_no_limit() {
    let mut rates = Rates::new([1], 1500);
    let now = Nanos::from_secs(6);
    let slow = [Change { place: 0, rate: Some(30_000) }];
    assert_eq!(after(&mut rates, now, &report(1, 0)), slow);
    assert_eq!(after(&mut rates, now, &report(1, -7)), []);
    let most = Feedback { rate: i32::MAX, ..report(1, 0) };
    assert_eq!(after(&mut rates, now, &most), [Change { place: 0, rate: None }]);
}

#[test]
fn silence_ends_the_limit() {
    let mut rates = Rates::new([1], 1500);
    let now = Nanos::from_secs(6);
    assert_eq!(after(&mut rates, now, &report(1, 10_000)).len(), 1);
    let again = now + Nanos::from_millis(999);
    assert_eq!(after(&mut rates, again, &report(1, 10_000)), []);
    assert_eq!(rates.changes(again + SILENCE - Nanos(1)), []);
    assert_eq!(rates.changes(again + SILENCE), [Change { place: 0, rate: None }]);
    assert_eq!(rates.changes(again + SILENCE), []);
}
