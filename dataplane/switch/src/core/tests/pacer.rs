use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn frames_back_to_back_are_exact(
        rate in 1u64..200_000_000_000,
        sizes in proptest::collection::vec(prop_oneof![Just(1514usize), Just(54), 1usize..9217], 1..50),
    ) {
        let mut pacer = Pacer::default();
        let (mut at, mut bits) = (Nanos::ZERO, 0u128);
        for size in sizes {
            let (start, end) = pacer.send(Some(BitRate(rate)), Nanos::ZERO, size);
            prop_assert_eq!(start, at);
            at = end;
            bits += size as u128 * 8;
            prop_assert_eq!(u128::from(end.0), bits * 1_000_000_000 / u128::from(rate));
        }
    }

    #[test]
    fn a_span_that_is_kept_is_the_one_that_is_computed(
        frames in proptest::collection::vec((1u64.., 0usize..3), 1..50),
    ) {
        let (mut pacer, mut remainder) = (Pacer::default(), 0);
        for (rate, bytes) in frames {
            let rate = BitRate(if rate % 3 == 0 { rate } else { 123_000_000_000 });
            let (start, end) = pacer.send(Some(rate), Nanos::ZERO, bytes * 733);
            let (span, rest) = rate.transmission(bytes * 733, remainder);
            remainder = rest;
            prop_assert_eq!(end, start + span);
        }
    }
}

#[test]
fn without_a_rate_nothing_takes_time() {
    let mut pacer = Pacer::default();
    assert_eq!(pacer.send(None, Nanos(5), 1514), (Nanos(5), Nanos(5)));
    assert_eq!(pacer.send(None, Nanos(5), 1514), (Nanos(5), Nanos(5)));
}
