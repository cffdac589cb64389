use super::*;

fn wire(parameters: LinkParameters) -> Wire<u32> {
    Wire::new(parameters, 7, 0)
}

fn megabits(rate: u64) -> Option<BitRate> {
    Some(BitRate(rate * 1_000_000))
}

#[test]
fn packets_arrive_after_serialisation_and_propagation() {
    let mut wire =
        wire(LinkParameters { rate: megabits(100), delay: Nanos::from_millis(10), ..LinkParameters::IDEAL });
    wire.send(Nanos(5), 1, 1250);
    assert_eq!(wire.ready(), Nanos(100_005));
    wire.send(wire.ready(), 2, 1250);
    assert_eq!(wire.due(), Some(Nanos(10_100_005)));
    assert_eq!(wire.arrive(Nanos(10_100_004)), None);
    assert_eq!(wire.arrive(Nanos(10_100_005)), Some((Nanos(10_100_005), 1)));
    assert_eq!(wire.arrive(Nanos::MAX), Some((Nanos(10_200_005), 2)));
}

#[test]
fn losses_are_of_the_proportion_and_repeat_with_the_seed() {
    let loss = "2%".parse().expect("a loss");
    let run = |seed| {
        let mut wire = Wire::new(LinkParameters { loss, ..LinkParameters::IDEAL }, seed, 3);
        let sent: Vec<u32> = (0..100_000).filter(|n| wire.send(Nanos(u64::from(*n)), *n, 100)).collect();
        let mut arrived = Vec::new();
        while let Some((_, n)) = wire.arrive(Nanos::MAX) {
            arrived.push(n);
        }
        assert_eq!(arrived, sent);
        (arrived, wire.counters())
    };
    let (first, counters) = run(1);
    assert_eq!(run(1).0, first);
    assert_ne!(run(2).0, first);
    assert_eq!(counters.packets, 100_000);
    // Six standard deviations of a binomial distribution around 2000.
    assert!((1734..=2266).contains(&counters.lost), "{}", counters.lost);
}

#[test]
fn a_link_that_goes_down_loses_what_is_on_it() {
    let mut wire = wire(LinkParameters { delay: Nanos(100), ..LinkParameters::IDEAL });
    wire.send(Nanos(0), 1, 60);
    wire.set_up(false);
    wire.send(Nanos(1), 2, 60);
    wire.set_up(true);
    wire.send(Nanos(2), 3, 60);
    assert_eq!(wire.arrive(Nanos::MAX), Some((Nanos(102), 3)));
    assert_eq!((wire.counters().down, wire.counters().packets), (2, 2));
}

#[test]
fn a_shorter_delay_does_not_reorder() {
    let mut wire = wire(LinkParameters { delay: Nanos(100), ..LinkParameters::IDEAL });
    wire.send(Nanos(0), 1, 60);
    wire.parameters.delay = Nanos(1);
    wire.send(Nanos(10), 2, 60);
    assert_eq!(wire.arrive(Nanos(100)), Some((Nanos(100), 1)));
    assert_eq!(wire.arrive(Nanos(100)), Some((Nanos(100), 2)));
}

#[test]
fn back_to_back_transmissions_do_not_accumulate_rounding() {
    let (mut total, mut remainder) = (Nanos::ZERO, 0);
    for _ in 0..123_000 {
        let (span, rest) = BitRate(123_000_000_000).transmission(1514, remainder);
        total += span;
        remainder = rest;
    }
    assert_eq!((total, remainder), (Nanos(1514 * 8 * 1_000), 0));
}

#[test]
fn the_line_is_bounded() {
    let mut wire = wire(LinkParameters { delay: Nanos(1), ..LinkParameters::IDEAL });
    let sent = (0..=LINE_LIMIT as u32).filter(|n| wire.send(Nanos(0), *n, 60)).count();
    assert_eq!(sent, LINE_LIMIT);
    assert_eq!(wire.counters().line_full, 1);
}
