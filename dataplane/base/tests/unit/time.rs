use groupflow_base::Nanos;

#[test]
fn arithmetic_saturates_and_checked_forms_say_so() {
    assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
    assert_eq!(Nanos(3) - Nanos(5), Nanos::ZERO);
    assert_eq!(Nanos(3).checked_sub(Nanos(5)), None);
    assert_eq!(Nanos(5).checked_sub(Nanos(3)), Some(Nanos(2)));
    assert_eq!(Nanos::from_millis(2).as_micros(), 2_000);
    assert_eq!(Nanos::from_secs(u64::MAX), Nanos::MAX);
}

#[test]
fn display_names_the_unit() {
    assert_eq!(Nanos(1_000_000_250).to_string(), "1.000000250 s");
}

#[test]
fn a_pause_doubles_up_to_the_longest() {
    let cases = [(0, 30), (1, 60), (4, 480), (5, 500), (200, 500)];
    for (times, millis) in cases {
        let got = Nanos::from_millis(30).doubled(times, Nanos::from_millis(500));
        assert_eq!(got, Nanos::from_millis(millis), "{times} times");
    }
}
