//! Properties of the parsers (nothing from outside panics, an encoded packet is parsed as it was) and of the
//! interval set (it behaves as a plain set of numbers).

use std::collections::BTreeSet;

use groupflow_transport::nack::IntervalSet;
use groupflow_transport::nack::{Nack, PacketRange};
use groupflow_transport::testing::{header, range};
use groupflow_transport::wire::GroupPacket;
use groupflow_transport::Seq;
use proptest::collection::vec;
use proptest::prelude::*;

/// The packets of a set, lowest first.
fn packets(mut set: IntervalSet) -> Vec<u32> {
    std::iter::from_fn(|| set.pop_first()).map(|seq| seq.0).collect()
}

proptest! {
    #[test]
    fn packets_round_trip(header in header(), payload in vec(any::<u8>(), 0..1448)) {
        let bytes = header.encode(&payload);
        prop_assert_eq!(GroupPacket::parse(&bytes), Ok(GroupPacket { header, payload: &payload }));
    }

    #[test]
    fn a_damaged_header_is_refused(header in header(), at in 0..24_usize, bit in 0..8_u8) {
        let mut bytes = header.encode(b"payload");
        bytes[at] ^= 1 << bit;
        prop_assert!(GroupPacket::parse(&bytes).is_err());
    }

    #[test]
    fn nacks_round_trip(next in any::<u32>(), steps in vec((1..1000_u32, 0..1000_u32), 0..64)) {
        let mut at = 0;
        let ranges = steps
            .iter()
            .map(|&(gap, more)| {
                let first = at + gap;
                at = first + more;
                PacketRange { first: Seq(first), last: Seq(at) }
            })
            .collect();
        let nack = Nack { next: Seq(next), ranges };
        prop_assert_eq!(Nack::parse(&nack.encode()), Ok(nack));
    }

    #[test]
    fn the_interval_set_is_a_set(steps in vec((any::<bool>(), range()), 0..60)) {
        let mut set = IntervalSet::new(usize::MAX);
        let mut model: BTreeSet<u32> = BTreeSet::new();
        for (add, range) in steps {
            let numbers = range.first.0..=range.last.0;
            if add {
                prop_assert!(set.insert(range));
                model.extend(numbers);
            } else {
                set.remove(range);
                model.retain(|n| !numbers.contains(n));
            }
            prop_assert_eq!(packets(set.clone()), model.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.first().map(|s| s.0), model.first().copied());
            prop_assert_eq!(set.is_empty(), model.is_empty());
        }
        prop_assert_eq!(set.pop_first().map(|s| s.0), model.pop_first());
    }

    #[test]
    fn the_interval_set_is_bounded(ranges in vec(range(), 0..60)) {
        let mut set = IntervalSet::new(3);
        for range in ranges {
            set.insert(range);
            let packets = packets(set.clone());
            let gaps = packets.windows(2).filter(|pair| pair[0] + 1 < pair[1]).count();
            prop_assert!(gaps < 3, "at most three ranges");
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = GroupPacket::parse(&bytes);
        let _ = Nack::parse(&bytes);
    }
}
