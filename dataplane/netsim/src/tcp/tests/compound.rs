use super::*;

fn round(compound: &mut Compound, cwnd: f64, number: u64, rtt: u64) {
    let una = number * 1000 + 1;
    let ack = Ack { acked: 1, una, max: una + 999, rtt: Nanos(rtt), ..Ack::default() };
    compound.measure(cwnd, false, &ack);
}

#[test]
fn it_grows_without_queue_and_gives_way_to_one() {
    let mut compound = Compound::default();
    round(&mut compound, 256.0, 1, 100_000_000);
    assert_eq!(compound.delay_window(), 0.125 * 64.0 - 1.0, "256^(3/4) is 64");
    for number in 2..20 {
        round(&mut compound, 256.0, number, 100_000_000);
    }
    let grown = compound.delay_window();
    assert!(grown > 100.0);
    // A tenth of 256 + grown packets is queued: more than 30.
    round(&mut compound, 256.0, 20, 111_111_111);
    assert!((compound.delay_window() - (grown - (256.0 + grown) / 10.0)).abs() < 0.01);
}

#[test]
fn a_loss_halves_both_windows_together() {
    let mut compound = Compound { window: 60.0, ..Compound::default() };
    assert_eq!(compound.halve(100.0), 20.0);
    assert_eq!(compound.delay_window(), 30.0);
    assert_eq!(compound.on_timeout(Nanos::ZERO), 1.0);
    assert_eq!(compound.delay_window(), 0.0);
}
