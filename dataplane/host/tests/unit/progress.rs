use groupflow_base::{BitRate, Nanos};
use groupflow_host::report::{ProgressMeter, ProgressSample, PROGRESS};

#[test]
fn reports_are_spaced_and_give_the_rate_since_the_last() {
    let mut meter = ProgressMeter::default();
    assert_eq!((meter.due(), meter.sample(PROGRESS, 1)), (None, None));
    meter.start(Nanos::from_secs(1));
    assert_eq!(meter.sample(Nanos::from_millis(1199), 1), None);
    let first = meter.sample(Nanos::from_millis(1200), 25_000);
    let expected = ProgressSample { elapsed: PROGRESS, rate: BitRate(1_000_000) };
    assert_eq!(first, Some(expected));
    assert_eq!(meter.due(), Some(Nanos::from_millis(1400)));
    let second = meter.sample(Nanos::from_millis(1600), 75_000).map(|s| s.rate);
    assert_eq!(second, Some(BitRate(1_000_000)));
}
