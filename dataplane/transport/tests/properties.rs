//! Properties of the parsers (nothing from outside panics, an encoded packet is parsed as it was) and of the
//! interval set (it behaves as a plain set of numbers).

use std::collections::BTreeSet;

use groupflow_transport::intervals::IntervalSet;
use groupflow_transport::nack::{Nack, Range};
use groupflow_transport::wire::{Flags, Header, Kind, Packet};
use groupflow_transport::{MemberId, Seq, SessionId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn header() -> impl Strategy<Value = Header> {
    let ids = (0..=SessionId::MAX.0, any::<u16>(), any::<u16>());
    let rest = (0..32_u8, any::<u8>(), any::<u32>(), any::<u32>());
    (select(&Kind::ALL[..]), ids, rest).prop_map(
        |(kind, (session, source, member), (flags, poll, seq, stamp))| Header {
            kind,
            flags: Flags(flags),
            poll,
            session: SessionId(session),
            source: MemberId(source),
            member: MemberId(member),
            seq: Seq(seq),
            stamp,
        },
    )
}

fn range() -> impl Strategy<Value = Range> {
    (0..60_u32, 0..12_u32).prop_map(|(first, more)| Range { first: Seq(first), last: Seq(first + more) })
}

proptest! {
    #[test]
    fn packets_round_trip(header in header(), payload in vec(any::<u8>(), 0..1448)) {
        let bytes = header.encode(&payload);
        prop_assert_eq!(Packet::parse(&bytes), Ok(Packet { header, payload: &payload }));
    }

    #[test]
    fn a_damaged_header_is_refused(header in header(), at in 0..24_usize, bit in 0..8_u8) {
        let mut bytes = header.encode(b"payload");
        bytes[at] ^= 1 << bit;
        prop_assert!(Packet::parse(&bytes).is_err());
    }

    #[test]
    fn nacks_round_trip(next in any::<u32>(), steps in vec((1..1000_u32, 0..1000_u32), 0..64)) {
        let mut at = 0;
        let ranges = steps
            .iter()
            .map(|&(gap, more)| {
                let first = at + gap;
                at = first + more;
                Range { first: Seq(first), last: Seq(at) }
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
            let ranges: Vec<Range> = set.iter().collect();
            let members: Vec<u32> = ranges.iter().flat_map(|r| r.first.0..=r.last.0).collect();
            prop_assert_eq!(&members, &model.iter().copied().collect::<Vec<_>>());
            prop_assert!(ranges.windows(2).all(|w| w[0].last.0 + 1 < w[1].first.0), "not maximal");
            prop_assert_eq!(set.count(), model.len() as u64);
            prop_assert_eq!(set.first().map(|s| s.0), model.first().copied());
            prop_assert!((0..80).all(|n| set.contains(Seq(n)) == model.contains(&n)));
        }
        prop_assert_eq!(set.pop_first().map(|s| s.0), model.pop_first());
    }

    #[test]
    fn the_interval_set_is_bounded(ranges in vec(range(), 0..60)) {
        let mut set = IntervalSet::new(3);
        for range in ranges {
            set.insert(range);
            prop_assert!(set.iter().count() <= 3);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Packet::parse(&bytes);
        let _ = Nack::parse(&bytes);
    }
}
