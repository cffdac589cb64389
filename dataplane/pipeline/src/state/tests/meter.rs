use super::*;

#[test]
fn colours_follow_the_two_buckets() {
    let mut meter = Meter::default();
    assert_eq!(meter.colour(Nanos(5), MeterUnit::Bytes, 1_000_000), GREEN, "not configured");
    meter.configure(Some(MeterConfig { cir: 10, cburst: 2, pir: 20, pburst: 4, ..MeterConfig::default() }));
    let at = |ms: u64| Nanos::from_millis(1_000 + ms);
    let steps = [
        (0, GREEN),
        (0, GREEN),
        (0, YELLOW),
        (0, YELLOW),
        (0, RED),
        (50, YELLOW), // 1 peak token, half a committed one
        (50, RED),
        (100, GREEN), // 1 of each
        (100, RED),
        (99, RED), // time that goes back adds nothing
    ];
    for (i, (ms, colour)) in steps.into_iter().enumerate() {
        assert_eq!(meter.colour(at(ms), MeterUnit::Packets, 60), colour, "step {i}");
    }
    assert_eq!(meter.colour(Nanos::MAX, MeterUnit::Bytes, 2), GREEN);
    assert_eq!(meter.colour(Nanos::MAX, MeterUnit::Bytes, 3), RED, "the burst bounds what was saved up");
    assert_eq!(meter.colours.map(|count| count.packets), [5, 3, 5]);
    assert_eq!(meter.colours[YELLOW as usize].bytes, 180);
}

/// The colours of packets at these times in milliseconds.
fn colours(config: MeterConfig, times: &[u64]) -> Vec<u128> {
    let mut meter = Meter::default();
    meter.configure(Some(config));
    let colour = |ms: &u64| meter.colour(Nanos::from_millis(1_000 + ms), MeterUnit::Packets, 60);
    times.iter().map(colour).collect()
}

#[test]
fn one_rate_saves_in_the_excess_burst_or_not_at_all() {
    let config = MeterConfig { kind: MeterKind::OneRate, cir: 10, cburst: 1, pir: 0, pburst: 2 };
    // The excess bucket fills only from what the full committed one leaves over.
    let expected = [GREEN, YELLOW, YELLOW, RED, GREEN, RED, GREEN, YELLOW, RED];
    assert_eq!(colours(config, &[0, 0, 0, 0, 100, 100, 300, 300, 300]), expected);
    let two = MeterConfig { kind: MeterKind::TwoColours, ..config };
    assert_eq!(colours(two, &[0, 0, 100, 300, 300]), [GREEN, RED, GREEN, GREEN, RED]);
}

#[test]
fn the_peak_rate_is_at_least_the_committed_rate() {
    assert!(check(&MeterConfig { cir: 2, pir: 1, ..MeterConfig::default() }).is_err());
    assert!(check(&MeterConfig { cir: 2, pir: 2, ..MeterConfig::default() }).is_ok());
}
