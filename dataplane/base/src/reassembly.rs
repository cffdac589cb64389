//! Bytes of a stream that come in any order and more than once, and go out once and in order: bytes are held
//! until those before them are there.

use crate::codec::CodecError;
use crate::store::ByteStore;

/// A sender cuts its stream in pieces of this size or more, but for a few: so the bytes held have few gaps.
pub const MIN_BLOCK: u64 = 1024;
/// Further gaps that are granted.
const FEW: usize = 64;
/// The most pieces, however large the room: a piece in the middle moves half of the others.
const MOST: usize = 1 << 16;

/// The receiving side of a stream. Always `delivered <= limit`, and [`Reassembly::held`] is at most
/// `limit - delivered`.
#[derive(Debug, Clone)]
pub struct Reassembly {
    delivered: u64,
    room: u64,
    length: Option<u64>,
    /// The end of the bytes that came.
    reach: u64,
    /// Delivered bytes that are kept.
    keeps: u64,
    /// The offset of the first kept byte.
    kept_from: u64,
    store: ByteStore,
}

impl Reassembly {
    /// A stream whose first `delivered` bytes were delivered already; it holds at most `room` bytes.
    pub fn new(delivered: u64, room: u64) -> Reassembly {
        Reassembly::keeping(delivered, room, 0)
    }

    /// Like [`Reassembly::new`]; besides, the last `keeps` delivered bytes stay in the store.
    pub fn keeping(delivered: u64, room: u64, keeps: u64) -> Reassembly {
        let store = ByteStore::default();
        Reassembly { delivered, room, length: None, reach: delivered, keeps, kept_from: delivered, store }
    }

    /// Takes bytes in. `sink` gets the next bytes in order and says how many it took; the others are held.
    /// Returns the number of bytes that had not come before.
    ///
    /// # Errors
    /// The error names the field that is wrong; the stream is left as it was.
    pub fn receive(
        &mut self, offset: u64, bytes: &[u8], sink: &mut impl FnMut(&[u8]) -> usize,
    ) -> Result<u64, CodecError> {
        let end = self.check(offset, bytes.len() as u64)?;
        if end <= self.delivered {
            return Ok(0);
        }
        // At most the length of `bytes`.
        let known = self.delivered.saturating_sub(offset) as usize;
        let (mut at, mut rest) = (offset + known as u64, &bytes[known..]);
        let fresh = self.store.missing(&(at..end));
        if self.keeps == 0 && at == self.delivered && self.store.at(at).is_empty() {
            let taken = sink(rest).min(rest.len());
            self.advance(taken);
            at += taken as u64;
            rest = &rest[taken..];
        }
        self.hold(at, rest);
        self.drain(sink);
        Ok(fresh)
    }

    /// Holds bytes below the limit until [`Reassembly::drain`] is called; returns how many of them had not
    /// come before.
    pub fn place(&mut self, offset: u64, bytes: &[u8]) -> u64 {
        let known = self.delivered.saturating_sub(offset).min(bytes.len() as u64);
        let at = offset + known;
        let fresh = self.store.missing(&(at..offset + bytes.len() as u64));
        self.hold(at, &bytes[known as usize..]);
        fresh
    }

    fn hold(&mut self, at: u64, bytes: &[u8]) {
        self.reach = self.reach.max(at + bytes.len() as u64);
        if !bytes.is_empty() {
            self.store.insert(at, bytes);
        }
    }

    /// Offers the held bytes that are next in order to `sink`, until it takes no more. True: it took some.
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

    /// Takes the stream's length, which its sender tells.
    ///
    /// # Errors
    /// The length is less than the bytes that came, or not the one that was told before.
    pub fn end(&mut self, length: u64) -> Result<(), CodecError> {
        if self.length.is_some_and(|known| known != length) || length < self.reach {
            let at_least = self.length.unwrap_or(self.reach);
            let or_more = if self.length.is_some() { "" } else { " or more" };
            let text = format!("{length} is not the stream's, which has {at_least} bytes{or_more}");
            return Err(CodecError::new("end.length", text));
        }
        self.length = Some(length);
        Ok(())
    }

    /// All bytes before this offset are where they go.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// No byte at or beyond this offset may come.
    pub fn limit(&self) -> u64 {
        self.delivered.saturating_add(self.room)
    }

    /// The bound of the bytes held.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Bytes that came and are not where they go.
    pub fn held(&self) -> u64 {
        let kept = if self.keeps == 0 { 0 } else { self.delivered - self.kept_from };
        self.store.held() - kept
    }

    /// The bytes that are held, and those that are kept.
    pub fn store(&self) -> &ByteStore {
        &self.store
    }

    /// Whether bytes are next in order and the sink has not taken them.
    pub fn is_blocked(&self) -> bool {
        !self.store.at(self.delivered).is_empty()
    }

    /// Whether all of the stream is where it goes.
    pub fn is_complete(&self) -> bool {
        self.length == Some(self.delivered)
    }

    fn check(&self, offset: u64, bytes: u64) -> Result<u64, CodecError> {
        let end = self.check_end(offset, bytes)?;
        let most = usize::try_from(self.room / MIN_BLOCK * 2).unwrap_or(MOST).saturating_add(FEW).min(MOST);
        if self.store.pieces() >= most && offset > self.delivered {
            let text = format!("{offset} makes more than {most} separate pieces");
            return Err(CodecError::new("data.offset", text));
        }
        Ok(end)
    }

    /// The end of bytes that may come.
    ///
    /// # Errors
    /// The bytes lie beyond the limit, or beyond the end that was told.
    pub fn check_end(&self, offset: u64, bytes: u64) -> Result<u64, CodecError> {
        let limit = self.limit();
        let beyond = |what, bound: u64| {
            let text = format!("{offset} and its {bytes} bytes lie beyond the {what} {bound}");
            CodecError::new("data.offset", text)
        };
        let end =
            offset.checked_add(bytes).filter(|&end| end <= limit).ok_or_else(|| beyond("limit", limit))?;
        match self.length.filter(|&length| end > length) {
            Some(length) => Err(beyond("stream's end at", length)),
            None => Ok(end),
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.delivered += bytes as u64;
        self.kept_from = self.kept_from.max(self.delivered.saturating_sub(self.keeps));
        self.store.discard_below(self.kept_from);
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
        /// Pieces in any order, again and again, to a sink that takes what it likes.
        #[test]
        fn each_byte_goes_out_once_and_in_order(
            pieces in vec((0..20_000_u64, 1..3000_usize, 0..4000_usize), 1..200), room in 5000..9000_u64,
        ) {
            let (mut reassembly, mut out) = (Reassembly::new(0, room), Vec::<u8>::new());
            let mut fresh = 0;
            for (offset, length, appetite) in pieces {
                let data = bytes(offset..offset + length as u64);
                let (before, mut left) = (reassembly.clone(), appetite);
                let result = reassembly.receive(offset, &data, &mut |bytes| {
                    let taken = bytes.len().min(left);
                    out.extend(&bytes[..taken]);
                    left -= taken;
                    taken
                });
                match result {
                    Ok(count) => fresh += count,
                    Err(_) => {
                        prop_assert!(offset + length as u64 > before.limit());
                        prop_assert_eq!(before.held(), reassembly.held());
                    }
                }
                prop_assert_eq!(reassembly.delivered(), out.len() as u64);
                prop_assert_eq!(fresh, reassembly.delivered() + reassembly.held());
                prop_assert!(reassembly.held() <= room);
                prop_assert!(reassembly.store().memory() as u64 <= room + 2 * crate::store::PAGE as u64);
            }
            let delivered = out.len() as u64;
            prop_assert!(out == bytes(0..delivered));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut taken = |bytes: &[u8]| bytes.len();
        let mut reassembly = Reassembly::new(10, 100);
        let error = reassembly.receive(100, &[0; 11], &mut taken).expect_err("beyond the limit");
        assert_eq!(error.to_string(), "data.offset: 100 and its 11 bytes lie beyond the limit 110");
        assert!(reassembly.receive(u64::MAX, &[0; 2], &mut taken).is_err());
        reassembly.receive(20, &[0; 10], &mut taken).expect("held");
        let error = reassembly.end(29).expect_err("byte 29 came");
        assert_eq!(error.to_string(), "end.length: 29 is not the stream's, which has 30 bytes or more");
        reassembly.end(40).expect("the end");
        reassembly.end(40).expect("told again");
        let error = reassembly.end(41).expect_err("another end");
        assert_eq!(error.to_string(), "end.length: 41 is not the stream's, which has 40 bytes");
        let error = reassembly.receive(35, &[0; 6], &mut taken).expect_err("beyond the end");
        assert_eq!(error.to_string(), "data.offset: 35 and its 6 bytes lie beyond the stream's end at 40");
    }

    #[test]
    fn a_flood_of_tiny_pieces_is_refused() {
        let mut reassembly = Reassembly::new(0, 64 << 10);
        let mut taken = |bytes: &[u8]| bytes.len();
        let error = (0..).find_map(|i| reassembly.receive(1 + 2 * i, &[0], &mut taken).err());
        let text = "data.offset: 385 makes more than 192 separate pieces";
        assert_eq!(error.map(|e| e.to_string()), Some(text.to_owned()));
        // The first byte that is missing may still come.
        assert_eq!(reassembly.receive(0, &[0], &mut taken), Ok(1));
        assert_eq!(reassembly.delivered(), 2);
    }
}
