//! The receiving side of a stream: bytes arrive over any stripe, in any order and repeatedly, and are
//! delivered once and in order.

use thiserror::Error;

use super::frame::FrameError;
use super::repairs::{Parity, Repairs};
use super::store::Store;

/// Least bytes of a block that a client sends, with few exceptions: so the bytes held have few gaps.
pub const MIN_BLOCK: u64 = 1024;
/// Gaps allowed in addition.
const FEW: usize = 64;
/// This fraction of the room of a coded stream is for delivered bytes that repairs may need, and as much for
/// parity.
const PART: u64 = 4;

/// Why input is refused; the stream stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IncomingError {
    /// Bytes at or beyond the limit.
    #[error("data.offset {offset} and its {bytes} bytes lie beyond the limit {limit}")]
    BeyondLimit {
        /// The offset of the first byte.
        offset: u64,
        /// The number of bytes.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// Bytes beyond the stream's end.
    #[error("data.offset {offset} and its {bytes} bytes lie beyond the stream's end at {end}")]
    BeyondEnd {
        /// The offset of the first byte.
        offset: u64,
        /// The number of bytes.
        bytes: u64,
        /// The stream's end.
        end: u64,
    },
    /// Too many separate pieces, whose management would cost more than they are worth.
    #[error("data.offset {offset} makes more than {most} separate pieces")]
    Pieces {
        /// The offset of the last piece.
        offset: u64,
        /// The bound on pieces.
        most: usize,
    },
    /// A group longer than the bytes kept for repairs, so that its parity would be useless.
    #[error("parity.length {length} is more than {most}, a part of the room")]
    Group {
        /// Bytes of the group.
        length: u32,
        /// The bound in bytes.
        most: u64,
    },
    /// Parity of a stream that is not coded.
    #[error("parity.start comes in a stream that is not coded")]
    Uncoded,
    /// An end before bytes that arrived, or different from an earlier end.
    #[error("end.length {length} is not the stream's, which has {at_least} bytes{}", if *known { "" } else { " or more" })]
    End {
        /// The length that the client gave.
        length: u64,
        /// The bytes that the stream has at least.
        at_least: u64,
        /// Whether the end was known before.
        known: bool,
    },
}

impl From<IncomingError> for FrameError {
    fn from(error: IncomingError) -> FrameError {
        let text = error.to_string();
        let field = match error {
            IncomingError::End { .. } => "end.length",
            IncomingError::Group { .. } => "parity.length",
            IncomingError::Uncoded => "parity.start",
            _ => "data.offset",
        };
        FrameError::new(field, text.trim_start_matches(field).trim_start())
    }
}

/// One stream at the server. Always `delivered <= limit`, and [`Incoming::held`] is at most `limit -
/// delivered`.
#[derive(Debug, Clone)]
pub struct Incoming {
    delivered: u64,
    room: u64,
    length: Option<u64>,
    /// The end of the bytes that arrived.
    reach: u64,
    store: Store,
    coded: Option<Coded>,
}

#[derive(Debug, Clone)]
struct Coded {
    /// Delivered bytes that are kept for repairs.
    keeps: u64,
    /// The offset of the first byte that is kept.
    kept_from: u64,
    repairs: Repairs,
}

impl Incoming {
    /// A stream whose first `delivered` bytes are at their destination; it holds at most `room` bytes.
    pub fn new(delivered: u64, room: u64) -> Incoming {
        Incoming { delivered, room, length: None, reach: delivered, store: Store::default(), coded: None }
    }

    /// A coded stream: half of the room is for bytes out of order, a quarter for delivered bytes, and a
    /// quarter for parity.
    pub fn coded(delivered: u64, room: u64) -> Incoming {
        let keeps = room / PART;
        let coded = Coded { keeps, kept_from: delivered, repairs: Repairs::new(keeps) };
        Incoming { coded: Some(coded), ..Incoming::new(delivered, room - 2 * keeps) }
    }

    /// Takes bytes from a stripe. `sink` gets bytes in order and returns how many it took; the others are
    /// held. Returns how many of the bytes had not arrived before.
    pub fn receive(
        &mut self,
        offset: u64,
        bytes: &[u8],
        sink: &mut impl FnMut(&[u8]) -> usize,
    ) -> Result<u64, IncomingError> {
        let end = self.check(offset, bytes.len() as u64)?;
        if end <= self.delivered {
            return Ok(0);
        }
        // At most the length of `bytes`.
        let known = self.delivered.saturating_sub(offset) as usize;
        let (mut at, mut rest) = (offset + known as u64, &bytes[known..]);
        let fresh = self.store.missing(&(at..end));
        if self.coded.is_none() && at == self.delivered && self.store.at(at).is_empty() {
            let taken = sink(rest).min(rest.len());
            self.advance(taken);
            at += taken as u64;
            rest = &rest[taken..];
        }
        self.reach = self.reach.max(end);
        if !rest.is_empty() {
            self.store.insert(at, rest);
        }
        self.drain(sink);
        Ok(fresh + self.repair(offset..end, sink))
    }

    /// Takes bytes of parity, which follow the first `at` bytes of their block. Returns how many bytes of the
    /// stream could be made that had not arrived.
    pub fn receive_parity(
        &mut self,
        parity: Parity,
        at: usize,
        bytes: &[u8],
        sink: &mut impl FnMut(&[u8]) -> usize,
    ) -> Result<u64, IncomingError> {
        let group = parity.group;
        self.check_end(group.start(), group.length().into())?;
        let Some(coded) = &mut self.coded else {
            return Err(IncomingError::Uncoded);
        };
        if u64::from(group.length()) > coded.keeps {
            return Err(IncomingError::Group { length: group.length(), most: coded.keeps });
        }
        if group.end() <= self.delivered {
            return Ok(0);
        }
        coded.repairs.receive(parity, at, bytes);
        Ok(self.repair(group.start()..group.end(), sink))
    }

    /// Makes the missing bytes of the groups around this range, if there is enough parity.
    fn repair(&mut self, range: std::ops::Range<u64>, sink: &mut impl FnMut(&[u8]) -> usize) -> u64 {
        let Some(coded) = &mut self.coded else {
            return 0;
        };
        let mut fresh = 0;
        for (offset, bytes) in coded.repairs.make(range, &self.store) {
            let end = offset + bytes.len() as u64;
            let known = self.delivered.saturating_sub(offset).min(bytes.len() as u64);
            fresh += self.store.missing(&(offset + known..end));
            self.store.insert(offset + known, &bytes[known as usize..]);
            self.reach = self.reach.max(end);
        }
        if fresh > 0 {
            self.drain(sink);
        }
        fresh
    }

    /// Offers held bytes in order to `sink`, until it takes no more. True: it took something.
    pub fn drain(&mut self, sink: &mut impl FnMut(&[u8]) -> usize) -> bool {
        let before = self.delivered;
        loop {
            let front = self.store.at(self.delivered);
            if front.is_empty() {
                break;
            }
            let (offered, taken) = (front.len(), sink(front).min(front.len()));
            self.advance(taken);
            if taken < offered {
                break;
            }
        }
        self.delivered > before
    }

    /// Notes the length of the stream, as the client gave it.
    pub fn end(&mut self, length: u64) -> Result<(), IncomingError> {
        let known = self.length.is_some();
        if self.length.is_some_and(|known| known != length) || length < self.reach {
            let at_least = self.length.unwrap_or(self.reach);
            return Err(IncomingError::End { length, at_least, known });
        }
        self.length = Some(length);
        Ok(())
    }

    /// All bytes before this offset are delivered.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// No byte at or beyond this offset may arrive.
    pub fn limit(&self) -> u64 {
        self.delivered.saturating_add(self.room)
    }

    /// The most bytes that are held.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Bytes that arrived but are not delivered yet.
    pub fn held(&self) -> u64 {
        let kept = self.coded.as_ref().map_or(0, |coded| self.delivered - coded.kept_from);
        self.store.held() - kept
    }

    /// Memory of the bytes held, of those kept, and of parity.
    pub fn memory(&self) -> usize {
        self.store.memory() + self.coded.as_ref().map_or(0, |coded| coded.repairs.cost() as usize)
    }

    /// Whether the next bytes in order are here, but the sink did not take them.
    pub fn is_blocked(&self) -> bool {
        !self.store.at(self.delivered).is_empty()
    }

    /// Whether the whole stream is delivered.
    pub fn is_complete(&self) -> bool {
        self.length == Some(self.delivered)
    }

    fn check(&self, offset: u64, bytes: u64) -> Result<u64, IncomingError> {
        let end = self.check_end(offset, bytes)?;
        let most = usize::try_from(self.room / MIN_BLOCK * 2).unwrap_or(usize::MAX).saturating_add(FEW);
        if self.store.pieces() >= most && offset > self.delivered {
            return Err(IncomingError::Pieces { offset, most });
        }
        Ok(end)
    }

    fn check_end(&self, offset: u64, bytes: u64) -> Result<u64, IncomingError> {
        let limit = self.limit();
        let end = offset
            .checked_add(bytes)
            .filter(|&end| end <= limit)
            .ok_or(IncomingError::BeyondLimit { offset, bytes, limit })?;
        if let Some(length) = self.length.filter(|&length| end > length) {
            return Err(IncomingError::BeyondEnd { offset, bytes, end: length });
        }
        Ok(end)
    }

    fn advance(&mut self, bytes: usize) {
        self.delivered += bytes as u64;
        let Some(coded) = &mut self.coded else {
            return self.store.discard_below(self.delivered);
        };
        coded.kept_from = coded.kept_from.max(self.delivered.saturating_sub(coded.keeps));
        self.store.discard_below(coded.kept_from);
        coded.repairs.discard_below(self.delivered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn byte(offset: u64) -> u8 {
        (offset * 7 + offset / 256) as u8
    }

    fn bytes(range: std::ops::Range<u64>) -> Vec<u8> {
        range.map(byte).collect()
    }

    proptest! {
        /// Pieces arrive in any order, repeatedly, at a sink that takes as many bytes as it likes.
        #[test]
        fn each_byte_goes_out_once_and_in_order(
            pieces in vec((0..20_000_u64, 1..3000_usize, 0..4000_usize), 1..200), room in 5000..9000_u64,
        ) {
            let (mut incoming, mut out) = (Incoming::new(0, room), Vec::<u8>::new());
            let mut fresh = 0;
            for (offset, length, appetite) in pieces {
                let data = bytes(offset..offset + length as u64);
                let (before, mut left) = (incoming.clone(), appetite);
                let result = incoming.receive(offset, &data, &mut |bytes| {
                    let taken = bytes.len().min(left);
                    out.extend(&bytes[..taken]);
                    left -= taken;
                    taken
                });
                match result {
                    Ok(count) => fresh += count,
                    Err(_) => {
                        prop_assert!(offset + length as u64 > before.limit());
                        prop_assert_eq!(before.held(), incoming.held());
                    }
                }
                prop_assert_eq!(incoming.delivered(), out.len() as u64);
                prop_assert_eq!(fresh, incoming.delivered() + incoming.held());
                prop_assert!(incoming.held() <= room);
                prop_assert!(incoming.memory() as u64 <= room + 2 * super::super::store::PAGE as u64);
            }
            let delivered = out.len() as u64;
            prop_assert!(out == bytes(0..delivered));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut taken = |bytes: &[u8]| bytes.len();
        let mut incoming = Incoming::new(10, 100);
        let error = incoming.receive(100, &[0; 11], &mut taken).expect_err("beyond the limit");
        assert_eq!(error.to_string(), "data.offset 100 and its 11 bytes lie beyond the limit 110");
        assert!(incoming.receive(u64::MAX, &[0; 2], &mut taken).is_err());
        incoming.receive(20, &[0; 10], &mut taken).expect("held");
        let error = incoming.end(29).expect_err("byte 29 came");
        assert_eq!(error.to_string(), "end.length 29 is not the stream's, which has 30 bytes or more");
        incoming.end(40).expect("the end");
        incoming.end(40).expect("told again");
        let error = FrameError::from(incoming.end(41).expect_err("another end"));
        assert_eq!(error.to_string(), "end.length 41 is not the stream's, which has 40 bytes");
        let error = incoming.receive(35, &[0; 6], &mut taken).expect_err("beyond the end");
        assert_eq!(error.to_string(), "data.offset 35 and its 6 bytes lie beyond the stream's end at 40");
    }

    #[test]
    fn a_flood_of_tiny_pieces_is_refused() {
        let mut incoming = Incoming::new(0, 64 << 10);
        let mut taken = |bytes: &[u8]| bytes.len();
        let error = (0..).find_map(|i| incoming.receive(1 + 2 * i, &[0], &mut taken).err());
        assert_eq!(error, Some(IncomingError::Pieces { offset: 1 + 2 * 192, most: 192 }));
        // The missing first byte may still arrive.
        assert_eq!(incoming.receive(0, &[0], &mut taken), Ok(1));
        assert_eq!(incoming.delivered(), 2);
    }
}
