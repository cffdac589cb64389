use super::*;
use proptest::prelude::*;

const INTERVAL: Nanos = Nanos::from_millis(100);

/// The size at which the control settles when this many of `packets` are lost for each byte of their
/// length.
fn settled(loss: f64, packets: f64) -> f64 {
    let mut control = SizeControl::new(1000, 64, 1400, INTERVAL);
    for _ in 0..300 {
        let x = loss * packets * (f64::from(control.size) + HEADERS as f64);
        control.on_round((useful(x) * 1e6) as u64, 1_000_000, None);
    }
    control.size.into()
}

fn useful(x: f64) -> f64 {
    (1.0 - (-x).exp()) / x
}

#[test]
fn it_settles_near_the_greatest_power() {
    for error in [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 4e-4] {
        let power = |size: f64| size * useful(error * 64.0 * (size + HEADERS as f64)).powi(2);
        let best = (64..1400).map(f64::from).map(power).fold(0.0, f64::max);
        let found = power(settled(error, 64.0));
        assert!(found > 0.99 * best, "{error}: {found} of {best}");
    }
}

#[test]
fn it_obeys_the_available_bandwidth_only_when_packets_are_stretched() {
    let mut control = SizeControl::new(1000, 64, 1400, INTERVAL);
    control.on_round(100, 100, Some(9_900));
    assert_eq!(control.size, 1113, "10,000 bytes/s were sent");
    control.on_round(100, 100, Some(5_000));
    assert_eq!(control.size, 500);
    control.on_round(0, 100, Some(100));
    assert_eq!(control.size, 64);
}

proptest! {
    #[test]
    fn it_stays_within_its_bounds(
        first in any::<u16>(), least in any::<u16>(), most in 1..u16::MAX,
        rounds in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<Option<u64>>()), 0..20),
    ) {
        let mut control = SizeControl::new(first, least, most, INTERVAL);
        for (useful, sent, rate) in rounds {
            control.on_round(useful, sent, rate);
            prop_assert!(control.size >= least.clamp(1, most) && control.size <= most);
        }
    }
}
