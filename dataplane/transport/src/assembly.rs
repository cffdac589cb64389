//! Packets of a stream, put in order, and the framing of its datagrams, which is checked.
//!
//! A stream of datagrams is a byte stream too: each datagram begins a packet (flag BOUNDARY) and
//! is preceded by its length (u32, big endian).

use std::collections::BTreeMap;

use thiserror::Error;

use crate::ids::{Seq, MAX_PAYLOAD};
use crate::wire::Flags;

pub const MAX_DATAGRAM: usize = 16 << 20;
/// Bytes of the length before a datagram.
pub const DATAGRAM_PREFIX: usize = 4;

/// The fault of a malformed stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FormatError {
    #[error("the stream consists of datagrams")]
    Datagrams,
    #[error("the stream does not consist of datagrams")]
    NoDatagrams,
    #[error("a datagram's packets do not add up to its length")]
    Length,
    /// A datagram beyond [`MAX_DATAGRAM`].
    #[error("a datagram of {0} bytes is too long")]
    TooLong(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// The packet is new, and is kept or delivered.
    New,
    Duplicate,
    /// The packet is too far ahead to be kept.
    NoRoom,
}

#[derive(Debug)]
struct HeldPacket {
    flags: Flags,
    payload: Box<[u8]>,
}

/// The division of the stream into datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Bytes,
    /// Bytes of the current datagram that are missing.
    Datagrams(usize),
    /// The receiver joined in the middle: nothing is delivered until a datagram begins.
    Skipping,
}

/// The packets of one stream that arrived and were not taken yet.
#[derive(Debug)]
pub struct Assembly {
    pub(crate) next: Seq,
    held: BTreeMap<u32, HeldPacket>,
    /// The bytes in order that were not taken.
    pub ready: Vec<u8>,
    /// The most packets kept, including those that are delivered and not taken.
    capacity: u32,
    framing: Framing,
    /// Whether every packet up to the last was delivered.
    pub(crate) finished: bool,
    /// Datagrams begun so far.
    pub(crate) datagrams: u64,
    /// Bytes delivered so far, the datagrams' lengths among them.
    pub(crate) delivered: u64,
}

impl Assembly {
    /// An assembly that expects packet `start` first.
    pub fn new(start: Seq, capacity: u32, datagrams: bool) -> Assembly {
        let framing = match (datagrams, start == Seq::FIRST) {
            (false, _) => Framing::Bytes,
            (true, true) => Framing::Datagrams(0),
            (true, false) => Framing::Skipping,
        };
        Assembly {
            next: start,
            held: BTreeMap::new(),
            ready: Vec::new(),
            capacity,
            framing,
            finished: false,
            datagrams: 0,
            delivered: 0,
        }
    }

    /// Takes a packet; delivers the packets that are now in order.
    pub fn insert(&mut self, seq: Seq, flags: Flags, payload: &[u8]) -> Result<Placed, FormatError> {
        if seq < self.next || self.finished || self.held.contains_key(&seq.0) {
            return Ok(Placed::Duplicate);
        }
        if seq >= self.limit() {
            return Ok(Placed::NoRoom);
        }
        if seq > self.next {
            let held = HeldPacket { flags, payload: payload.into() };
            self.held.insert(seq.0, held);
            return Ok(Placed::New);
        }
        self.deliver(flags, payload)?;
        while let Some(held) = self.held.remove(&self.next.0) {
            self.deliver(held.flags, &held.payload)?;
        }
        Ok(Placed::New)
    }

    fn deliver(&mut self, flags: Flags, payload: &[u8]) -> Result<(), FormatError> {
        if self.cut(flags, payload)? {
            self.ready.extend_from_slice(payload);
            self.delivered += payload.len() as u64;
        }
        self.next = self.next.next();
        if flags.has(Flags::FIN) {
            self.finished = true;
            self.held.clear();
        }
        Ok(())
    }

    /// Checks the framing. False: the packet is skipped.
    fn cut(&mut self, flags: Flags, payload: &[u8]) -> Result<bool, FormatError> {
        let begins = flags.has(Flags::BOUNDARY);
        let remaining = match self.framing {
            Framing::Bytes if begins => return Err(FormatError::Datagrams),
            Framing::Bytes => return Ok(true),
            Framing::Skipping if !begins => return Ok(false),
            Framing::Skipping => 0,
            Framing::Datagrams(remaining) => remaining,
        };
        let after = if begins {
            if remaining > 0 {
                return Err(FormatError::Length);
            }
            let length = datagram_length(payload).ok_or(FormatError::Length)?;
            if length as usize > MAX_DATAGRAM {
                return Err(FormatError::TooLong(length));
            }
            self.datagrams += 1;
            (length as usize).checked_sub(payload.len() - DATAGRAM_PREFIX)
        } else if remaining == 0 && !payload.is_empty() {
            return Err(FormatError::NoDatagrams);
        } else {
            remaining.checked_sub(payload.len())
        };
        let after = after.ok_or(FormatError::Length)?;
        if flags.has(Flags::FIN) && after > 0 {
            return Err(FormatError::Length);
        }
        self.framing = Framing::Datagrams(after);
        Ok(true)
    }

    /// The first packet for which there is no room.
    pub fn limit(&self) -> Seq {
        self.next.forward(self.room())
    }

    /// The number of packets for which there is room besides those that are delivered and not taken.
    pub fn room(&self) -> u32 {
        let waiting = self.ready.len().div_ceil(MAX_PAYLOAD);
        self.capacity.saturating_sub(u32::try_from(waiting).unwrap_or(u32::MAX))
    }

    /// Packets that wait for an earlier one.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Moves the bytes in order to the end of `out`.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        if out.is_empty() {
            std::mem::swap(out, &mut self.ready);
        } else {
            out.append(&mut self.ready);
        }
    }
}

/// The length at the beginning of a datagram, if all its bytes have arrived.
pub fn datagram_length(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [a, b, c, d, ..] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}
