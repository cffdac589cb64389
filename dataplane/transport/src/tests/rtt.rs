use super::*;

#[test]
fn smooths_and_ignores_the_implausible() {
    let mut rtt = Rtt::default();
    assert_eq!(rtt.or(Nanos(7)), Nanos(7));
    rtt.sample(Nanos::from_millis(80));
    rtt.sample(Nanos::from_millis(160));
    assert_eq!(rtt.get(), Some(Nanos::from_millis(90)));
    rtt.sample(Nanos::from_secs(11));
    assert_eq!(rtt.get(), Some(Nanos::from_millis(90)));
}

#[test]
fn backoff_doubles_up_to_the_cap() {
    let cases = [(0, 30), (1, 60), (4, 480), (5, 500), (200, 500)];
    for (times, millis) in cases {
        let got = backoff(Nanos::from_millis(30), times, Nanos::from_millis(500));
        assert_eq!(got, Nanos::from_millis(millis), "{times} times");
    }
}
