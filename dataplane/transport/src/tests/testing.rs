//! Helpers of tests, of this crate and of those above it: a file in memory, and a strategy of property tests
//! for headers.

use proptest::prelude::*;
use proptest::sample::select;

use crate::wire::{Flags, Header, Kind};
use crate::{MemberId, Seq, SessionId};
use groupflow_base::SeekableBytes;

pub struct MemoryFile(
    /// The file's bytes.
    pub Vec<u8>,
);

impl SeekableBytes for MemoryFile {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), String> {
        let start = offset as usize;
        into.copy_from_slice(&self.0[start..start + into.len()]);
        Ok(())
    }
}

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
