use super::*;

#[test]
fn smooths_and_ignores_the_implausible() {
    let mut rtt = Rtt::default();
    assert_eq!(rtt.or(Nanos(7)), Nanos(7));
    rtt.sample(Nanos::from_millis(80));
    rtt.sample(Nanos::from_millis(160));
    assert_eq!(rtt.smoothed, Some(Nanos::from_millis(90)));
    rtt.sample(Nanos::from_secs(11));
    assert_eq!(rtt.smoothed, Some(Nanos::from_millis(90)));
}
