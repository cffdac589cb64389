use super::*;
use proptest::prelude::*;

fn units(text: &str) -> Option<u32> {
    match text.parse() {
        Ok(QueueRate::Packets(rate)) => Some(rate.units()),
        _ => None,
    }
}

#[test]
fn packet_rates_are_read_to_the_nearest_unit() {
    assert_eq!(units("1pps"), Some(64));
    assert_eq!(units("12.5pps"), Some(800));
    assert_eq!(units("0.01pps"), Some(1));
    assert_eq!(units("10.25mpps"), Some(656_000_000));
    assert_eq!(units("0pps"), Some(0));
    assert_eq!("8mbit".parse(), Ok(QueueRate::Bits(BitRate(8_000_000))));
    for text in ["", "pps", "-1pps", "68mpps", "1", "0bit", "unlimited", "99999999999999999mpps"] {
        assert!(text.parse::<QueueRate>().is_err(), "{text:?}");
    }
}

#[test]
fn a_link_carries_whole_units_and_saturates() {
    assert_eq!(PacketRate::carried(BitRate(12_112_000), 1514).units(), 64_000);
    assert_eq!(PacketRate::carried(BitRate(123_000_000_000), 1500).units(), 656_000_000);
    assert_eq!(PacketRate::carried(BitRate(u64::MAX), 1), PacketRate::from_units(u32::MAX - 1));
}

proptest! {
    #[test]
    fn what_is_shown_is_read_back(units in 0u32..u32::MAX) {
        let rate = QueueRate::Packets(PacketRate::from_units(units));
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
    }
}
