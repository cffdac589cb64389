use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn it_is_exact_back_to_back_and_agrees_with_the_switch(
        rate in 1u64..200_000_000_000,
        sizes in proptest::collection::vec(prop_oneof![Just(1514u32), Just(54), 1u32..9217], 1..50),
    ) {
        let mut pacer = InterfacePacer::new(Some(BitRate(rate)));
        let (mut at, mut bits, mut remainder) = (Nanos::ZERO, 0u128, 0);
        for size in sizes {
            let (start, end) = pacer.send(Nanos::ZERO, size);
            prop_assert_eq!(start, at);
            let (span, rest) = BitRate(rate).transmission(size as usize, remainder);
            prop_assert_eq!(end, start + span);
            remainder = rest;
            at = end;
            bits += u128::from(size) * 8;
            prop_assert_eq!(u128::from(end.0), bits * u128::from(NANOS) / u128::from(rate));
        }
    }
}

#[test]
fn without_a_rate_nothing_takes_time() {
    let mut pacer = InterfacePacer::new(None);
    assert_eq!(pacer.send(Nanos(5), 1514), (Nanos(5), Nanos(5)));
    assert_eq!(pacer.send(Nanos(5), 1514), (Nanos(5), Nanos(5)));
}
