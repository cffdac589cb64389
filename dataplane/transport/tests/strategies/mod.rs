//! Headers and ranges of packet numbers as properties of this crate and of groupflow-session want them.

use groupflow_transport::nack::PacketRange;
use groupflow_transport::wire::{Flags, Header, Kind};
use groupflow_transport::{MemberId, Seq, SessionId};
use proptest::prelude::*;
use proptest::sample::select;

/// Any header.
pub fn header() -> impl Strategy<Value = Header> {
    let ids = (0..=SessionId::MAX.0, any::<u16>(), any::<u16>());
    let rest = (0..32_u8, any::<u8>(), any::<u32>(), any::<u32>());
    (select(Kind::ALL), ids, rest).prop_map(|(kind, (session, source, member), (flags, poll, seq, stamp))| {
        Header {
            kind,
            flags: Flags(flags),
            poll,
            session: SessionId(session),
            source: MemberId(source),
            member: MemberId(member),
            seq: Seq(seq),
            stamp,
        }
    })
}

/// Up to twelve packets, early in a stream.
pub fn range() -> impl Strategy<Value = PacketRange> {
    (0..60_u32, 0..12_u32)
        .prop_map(|(first, more)| PacketRange { first: Seq(first), last: Seq(first + more) })
}
