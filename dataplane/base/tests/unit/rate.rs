use groupflow_base::{BitRate, Nanos};

#[test]
fn rates_convert_exactly() {
    let rate = BitRate(100_000_000);
    assert_eq!(rate.time_for(1514), Nanos(121_120));
    assert_eq!(rate.bytes_in(Nanos(121_120)), 1514);
    assert_eq!(BitRate::of(1514, Nanos(121_120)), rate);
    assert_eq!(rate.scaled(985), BitRate(98_500_000));
    assert_eq!(BitRate(0).time_for(1), Nanos::MAX);
    assert_eq!(BitRate(0).transmission(1, 0), (Nanos(8_000_000_000), 0));
}
