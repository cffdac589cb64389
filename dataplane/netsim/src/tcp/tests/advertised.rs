use super::*;
use proptest::prelude::*;

/// The window as a sender reads it: packets beyond the acknowledged ones.
fn read(field: u16, mss: u32) -> u64 {
    (u64::from(field) << WINDOW_SHIFT) / u64::from(mss)
}

#[test]
fn a_smaller_limit_is_reached_as_packets_arrive() {
    let mut window = Advertised::new(1000, 10_000);
    assert_eq!(read(window.field(5), 1000), 10);
    window.set(4_000);
    let seen: Vec<u64> = (5..14).map(|next| read(window.field(next), 1000)).collect();
    assert_eq!(seen, [10, 9, 8, 7, 6, 5, 4, 4, 4]);
    window.set(6_999);
    assert_eq!(read(window.field(14), 1000), 6, "whole packets only");
    window.set(0);
    assert_eq!(read(window.field(40), 1000), 1, "never closed");
}

proptest! {
    #[test]
    fn the_right_edge_never_moves_back(
        mss in 128u32..9000,
        steps in proptest::collection::vec((0u64..400_000, 0u64..50), 1..60),
    ) {
        let mut window = Advertised::new(mss, 10_000);
        let (mut next, mut edge) = (0, 0);
        for (bytes, arrived) in steps {
            window.set(bytes);
            let now = next + read(window.field(next), mss);
            prop_assert!(now >= edge && now > next);
            edge = now;
            next += arrived.min(edge - next);
        }
    }
}
