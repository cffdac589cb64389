use super::*;
use crate::random::Draws;

const PERIOD: u64 = 1_000_000;

fn messages(host: u32, stop: u64) -> MessageSource {
    let spec = MessagesSpec { bytes: 1_461, period_ns: PERIOD };
    let random = Random::new(7, Draws::Messages(host));
    MessageSource::new(spec, 1460, random, Nanos(500), Nanos(stop))
}

#[test]
fn each_is_within_half_a_period_of_its_place_and_the_places_are_used_evenly() {
    let mut messages = messages(1, 500 + 20_000 * PERIOD);
    let mut offsets = Vec::new();
    while messages.due() < Nanos::MAX {
        let number = offsets.len() as u64 + 1;
        let due = messages.due().0 - 500;
        offsets.push(due as f64 / PERIOD as f64 - number as f64);
        assert_eq!(messages.take(Nanos(due + 500)), 2 * 1460, "whole packets");
    }
    assert!(offsets.iter().all(|x| (-0.5..0.5).contains(x)));
    assert!((19_999..=20_000).contains(&offsets.len()), "{}", offsets.len());
    let mean = offsets.iter().sum::<f64>() / offsets.len() as f64;
    let square = offsets.iter().map(|x| x * x).sum::<f64>() / offsets.len() as f64;
    // Five standard errors: of the mean 0.289 / sqrt(20000), of the square 0.0745 / sqrt(20000).
    assert!(mean.abs() < 0.0102 && (square - 1.0 / 12.0).abs() < 0.0027, "{mean}, {square}");
    assert_eq!(messages.offered(), 2 * 1460 * offsets.len() as u64);
}

#[test]
fn hosts_differ_and_repeat() {
    let times = |host| {
        let mut messages = messages(host, 10 * PERIOD);
        std::iter::from_fn(|| {
            let due = messages.due();
            messages.take(due);
            (due < Nanos::MAX).then_some(due)
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}
