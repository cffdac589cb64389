use super::*;

const MS: u64 = 1_000_000;

fn fine(min: u64) -> RtoConfig {
    RtoConfig {
        tick: Nanos(1_000),
        min: Nanos(min * MS),
        max: Nanos(60_000 * MS),
        initial: Nanos(1_000 * MS),
    }
}

#[test]
fn rfc_6298_example() {
    let mut rtt = RtoEstimator::new(fine(0), Behaviour::Rfc);
    assert_eq!(rtt.timeout(), Nanos(1_000 * MS), "section 2.1: before a measurement");
    rtt.sample_span(Nanos(100 * MS));
    assert_eq!(rtt.timeout(), Nanos(300 * MS), "section 2.2: R + 4 R/2");
    rtt.sample_span(Nanos(60 * MS));
    // RTTVAR = 3/4 50 + 1/4 40 = 47.5; SRTT = 7/8 100 + 1/8 60 = 95.
    assert_eq!(rtt.timeout(), Nanos(285 * MS), "section 2.3");
    assert_eq!(rtt.smooth(), Nanos(95 * MS));
    assert_eq!(rtt.last(), Nanos(60 * MS));
}

#[test]
fn it_doubles_up_to_the_maximum_and_holds_the_minimum() {
    let mut rtt = RtoEstimator::new(fine(200), Behaviour::Rfc);
    rtt.sample_span(Nanos(6 * MS));
    let mut seen = vec![rtt.timeout().as_millis()];
    for _ in 0..10 {
        rtt.back_off();
        seen.push(rtt.timeout().as_millis());
    }
    assert_eq!(seen, [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000]);
    rtt.end_backoff();
    assert_eq!(rtt.timeout(), Nanos(200 * MS));
}

#[test]
fn a_coarse_clock_counts_its_ticks() {
    let mut rtt = RtoEstimator::new(RtoConfig { min: Nanos::ZERO, ..RtoConfig::NS2 }, Behaviour::Ns2);
    rtt.sample_ticks(Nanos(1), Nanos(6 * MS));
    assert_eq!(rtt.timeout(), Nanos(30 * MS), "less than a tick counts as one");
    let mut rtt = RtoEstimator::new(RtoConfig { min: Nanos::ZERO, ..RtoConfig::NS2 }, Behaviour::Ns2);
    rtt.sample_ticks(Nanos(9 * MS), Nanos(21 * MS));
    assert_eq!(rtt.timeout(), Nanos(60 * MS), "12 ms over two boundaries are two ticks");
    assert_eq!(RtoEstimator::new(RtoConfig::NS2, Behaviour::Ns2).timeout(), Nanos::from_secs(3));
}
