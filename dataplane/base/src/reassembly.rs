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
    store: ByteStore,
}

impl Reassembly {
    /// A stream whose first `delivered` bytes were delivered already; it holds at most `room` bytes.
    pub fn new(delivered: u64, room: u64) -> Reassembly {
        Reassembly { delivered, room, length: None, reach: delivered, store: ByteStore::default() }
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
        if at == self.delivered && self.store.at(at).is_empty() {
            let taken = sink(rest).min(rest.len());
            self.advance(taken);
            at += taken as u64;
            rest = &rest[taken..];
        }
        self.reach = self.reach.max(at + rest.len() as u64);
        if !rest.is_empty() {
            self.store.insert(at, rest);
        }
        self.drain(sink);
        Ok(fresh)
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
        self.store.held()
    }

    /// Memory of the bytes held.
    pub fn memory(&self) -> usize {
        self.store.memory()
    }

    /// Whether all of the stream is where it goes.
    pub fn is_complete(&self) -> bool {
        self.length == Some(self.delivered)
    }

    /// The end of bytes that may come.
    fn check(&self, offset: u64, bytes: u64) -> Result<u64, CodecError> {
        let limit = self.limit();
        let beyond = |what, bound: u64| {
            let text = format!("{offset} and its {bytes} bytes lie beyond the {what} {bound}");
            CodecError::new("data.offset", text)
        };
        let end =
            offset.checked_add(bytes).filter(|&end| end <= limit).ok_or_else(|| beyond("limit", limit))?;
        if let Some(length) = self.length.filter(|&length| end > length) {
            return Err(beyond("stream's end at", length));
        }
        let most = usize::try_from(self.room / MIN_BLOCK * 2).unwrap_or(MOST).saturating_add(FEW).min(MOST);
        if self.store.pieces() >= most && offset > self.delivered {
            let text = format!("{offset} makes more than {most} separate pieces");
            return Err(CodecError::new("data.offset", text));
        }
        Ok(end)
    }

    fn advance(&mut self, bytes: usize) {
        self.delivered += bytes as u64;
        self.store.discard_below(self.delivered);
    }
}
