use super::*;

fn taken(budgets: &mut Budgets, now: Nanos, host: u16, rate: BitRate) -> u64 {
    let [high, low] = host.to_be_bytes();
    let from = Ipv4Addr::new(10, 0, high, low);
    (0..3 * BURST).filter(|_| budgets.take(now, from, rate)).count() as u64
}

#[test]
fn a_bucket_holds_a_burst_and_fills_at_the_rate() {
    let rate = BitRate(8 * FULL_PACKET * 1000); // a packet a millisecond
    let mut budgets = Budgets::default();
    let at = |budgets: &mut Budgets, ms| taken(budgets, Nanos::from_millis(ms), 1, rate);
    assert_eq!(at(&mut budgets, 0), BURST);
    assert_eq!(at(&mut budgets, 0), 0);
    assert_eq!(at(&mut budgets, 10), 10);
    assert_eq!(at(&mut budgets, 1_000_000), BURST, "no more than a burst is saved");
}

#[test]
fn each_requester_has_a_bucket_and_their_number_is_bounded() {
    let mut budgets = Budgets::default();
    for host in 0..BUDGETS as u16 {
        assert_eq!(taken(&mut budgets, Nanos::ZERO, host, BitRate(0)), BURST);
    }
    assert_eq!(taken(&mut budgets, Nanos::ZERO, BUDGETS as u16, BitRate(0)), 0);
    assert_eq!(taken(&mut budgets, Nanos::from_secs(10), BUDGETS as u16, BitRate(0)), BURST);
}
