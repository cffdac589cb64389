use super::*;
use groupflow_base::BitRate;
use proptest::prelude::*;

const SECOND: u64 = BILLION;

fn packets(units: u32) -> Option<QueueRate> {
    Some(QueueRate::Packets(PacketRate::from_units(units)))
}

fn bits(rate: u64) -> Option<QueueRate> {
    Some(QueueRate::Bits(BitRate(rate)))
}

/// A shaper in front of a queue that has just got its first packet, at zero.
fn waiting(rate: Option<QueueRate>) -> QueueShaper {
    let mut shaper = QueueShaper::default();
    shaper.set(Nanos::ZERO, rate, false, None);
    shaper.first(Nanos::ZERO, 1000);
    shaper
}

/// Lets `count` packets of 1000 bytes leave as soon as they may; returns the times.
fn drain(shaper: &mut QueueShaper, count: usize) -> Vec<u64> {
    let mut times = Vec::new();
    for _ in 0..count {
        let now = shaper.eligible();
        shaper.leave(now, 1000, Some(1000));
        times.push(now.0);
    }
    times
}

#[test]
fn the_first_leaves_at_once_and_the_others_at_the_rate() {
    let mut shaper = waiting(packets(64 * 1000));
    assert_eq!(drain(&mut shaper, 4), [0, 1_000_000, 2_000_000, 3_000_000]);
    let mut shaper = waiting(bits(8_000_000));
    assert_eq!(drain(&mut shaper, 3), [0, 1_000_000, 2_000_000]);
}

#[test]
fn there_is_no_burst_after_idling() {
    let mut shaper = waiting(packets(64));
    shaper.leave(Nanos::ZERO, 1000, None);
    shaper.first(Nanos(100 * SECOND), 1000);
    assert_eq!(drain(&mut shaper, 2), [100 * SECOND, 101 * SECOND]);
}

#[test]
fn an_interval_that_does_not_fit_nanoseconds_does_not_add_up() {
    let mut shaper = waiting(packets(64 * 3));
    let times = drain(&mut shaper, 3001);
    assert_eq!(times[3000], 1000 * SECOND);
    assert_eq!(times[1], SECOND / 3 + 1, "rounded up");
}

#[test]
fn a_new_rate_is_for_the_rest_of_the_wait() {
    let mut shaper = waiting(packets(64));
    drain(&mut shaper, 1);
    // Half of the packet's credit is there; the other half takes a tenth of the time.
    shaper.set(Nanos(SECOND / 2), packets(640), false, Some(1000));
    assert_eq!(shaper.eligible(), Nanos(SECOND / 2 + SECOND / 20));
    shaper.set(Nanos(SECOND / 2), packets(32), false, Some(1000));
    assert_eq!(shaper.eligible(), Nanos(SECOND / 2 + SECOND));
}

#[test]
fn a_rate_of_zero_and_a_pause_hold_the_head_and_keep_its_credit() {
    for (rate, paused) in [(packets(0), false), (packets(64), true)] {
        let mut shaper = waiting(packets(64));
        drain(&mut shaper, 1);
        shaper.set(Nanos(SECOND / 4), rate, paused, Some(1000));
        assert_eq!(shaper.eligible(), Nanos::MAX);
        shaper.set(Nanos(9 * SECOND), packets(64), false, Some(1000));
        assert_eq!(shaper.eligible(), Nanos(9 * SECOND + SECOND * 3 / 4));
    }
}

#[test]
fn a_head_with_credit_is_held_by_a_rate_of_zero() {
    let mut shaper = waiting(packets(64));
    shaper.set(Nanos(5), packets(0), false, Some(1000));
    assert_eq!(shaper.eligible(), Nanos::MAX);
    shaper.set(Nanos(7), packets(1), false, Some(1000));
    assert_eq!(shaper.eligible(), Nanos(7));
}

#[test]
fn what_the_port_held_up_is_made_up_for() {
    let mut shaper = waiting(packets(64));
    drain(&mut shaper, 1);
    shaper.leave(Nanos(SECOND * 3 / 2), 1000, Some(1000));
    assert_eq!(shaper.eligible(), Nanos(2 * SECOND), "half a second late, and in time again");
    shaper.leave(Nanos(100 * SECOND), 1000, Some(1000));
    assert_eq!(drain(&mut shaper, 2), [100 * SECOND, 101 * SECOND], "at most one interval");
}

#[test]
fn without_a_rate_nothing_waits_and_a_rate_starts_with_one_packet() {
    let mut shaper = QueueShaper::default();
    shaper.first(Nanos(5), 1000);
    assert!(!shaper.limits());
    shaper.leave(Nanos(5), 1000, Some(1000));
    assert_eq!(shaper.eligible(), Nanos(5));
    shaper.set(Nanos(6), packets(64), false, Some(1000));
    assert_eq!(drain(&mut shaper, 2), [6, 6 + SECOND]);
    shaper.set(Nanos(7 + SECOND), None, false, Some(1000));
    assert_eq!(shaper.eligible(), Nanos(7 + SECOND));
}

proptest! {
    /// Over any changes of rate, packets left as credit accrued: never more than a packet beyond the
    /// integral of the rate, and never less than a packet behind.
    #[test]
    fn what_leaves_is_the_integral_of_the_rate(
        changes in proptest::collection::vec((1u64..3_000_000_000, 0u32..100_000), 1..20),
    ) {
        let mut shaper = waiting(packets(64));
        let (mut now, mut rate, mut accrued, mut left) = (0u64, 64u64, 0u128, 0u128);
        for (span, next) in changes {
            let until = now + span;
            while shaper.eligible() <= Nanos(until) {
                let at = shaper.eligible();
                shaper.leave(at, 1000, Some(1000));
                left += 1;
            }
            accrued += u128::from(rate) * u128::from(span);
            now = until;
            rate = next.into();
            shaper.set(Nanos(now), packets(next), false, Some(1000));
            let whole = accrued / u128::from(64 * BILLION);
            // The first left with the credit it came with.
            let exact = accrued % u128::from(64 * BILLION) == 0;
            prop_assert!(left == whole + 1 || left == whole + 2 && exact,
                "{left} left, {whole} accrued");
        }
    }

    #[test]
    fn no_numbers_panic(
        steps in proptest::collection::vec(
            (any::<u64>(), any::<u32>(), any::<u64>(), any::<u32>(), 0u8..5), 0..50),
    ) {
        let mut shaper = QueueShaper::default();
        for (now, units, rate, bytes, step) in steps {
            match step {
                0 => shaper.set(Nanos(now), packets(units), units % 2 == 0, Some(bytes)),
                1 => shaper.set(Nanos(now), bits(rate), false, None),
                2 => shaper.set(Nanos(now), None, false, Some(bytes)),
                3 => shaper.first(Nanos(now), bytes),
                _ => shaper.leave(Nanos(now), bytes, (units % 3 > 0).then_some(units)),
            }
        }
    }
}
