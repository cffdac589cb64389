//! Bytes of a stream that come in any order and more than once, and go out once and in order: bytes are held
//! until those before them are there.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::codec::CodecError;
use crate::ranges::Ranges;

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
    /// All bytes before this offset are where they go.
    pub delivered: u64,
    /// The bound of the bytes held.
    pub room: u64,
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
    /// Returns the number of bytes that had not come before. The error names the field that is wrong; the
    /// stream is left as it was.
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

    /// Takes the stream's length, which its sender tells. Refused: a length that is less than the bytes that
    /// came, or not the one that was told before.
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

    /// No byte at or beyond this offset may come.
    pub fn limit(&self) -> u64 {
        self.delivered.saturating_add(self.room)
    }

    /// Bytes that came and are not where they go.
    pub fn held(&self) -> u64 {
        self.store.held()
    }

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

/// Bytes of a page, in which memory is taken.
pub const PAGE: usize = 4096;

/// Bytes of a stream at their offsets; a page exists only while some of its bytes are held.
#[derive(Debug, Clone, Default)]
pub struct ByteStore {
    pages: BTreeMap<u64, Box<[u8]>>,
    ranges: Ranges,
}

impl ByteStore {
    pub fn held(&self) -> u64 {
        self.ranges.total
    }

    /// Memory of the pages: at most the bytes held, and the rest of two pages for each gap.
    pub fn memory(&self) -> usize {
        self.pages.len() * PAGE
    }

    pub fn pieces(&self) -> usize {
        self.ranges.count()
    }

    pub fn missing(&self, range: &Range<u64>) -> u64 {
        self.ranges.missing(range)
    }

    /// Inserts bytes at their offset; bytes that are held already must be equal.
    pub fn insert(&mut self, offset: u64, bytes: &[u8]) {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let within = (at % PAGE as u64) as usize;
            let (now, later) = rest.split_at(rest.len().min(PAGE - within));
            let page = self.pages.entry(at / PAGE as u64).or_insert_with(|| vec![0; PAGE].into_boxed_slice());
            page[within..within + now.len()].copy_from_slice(now);
            at += now.len() as u64;
            rest = later;
        }
        self.ranges.insert(offset..offset + bytes.len() as u64);
    }

    /// The bytes held from `offset` on, without a gap, up to the end of the page; may be empty.
    pub fn at(&self, offset: u64) -> &[u8] {
        let end = self.ranges.containing(offset).map_or(offset, |range| range.end);
        let within = (offset % PAGE as u64) as usize;
        let length = (end - offset).min((PAGE - within) as u64) as usize;
        match self.pages.get(&(offset / PAGE as u64)) {
            Some(page) => &page[within..within + length],
            None => &[],
        }
    }

    pub fn discard_below(&mut self, offset: u64) {
        self.ranges.remove_below(offset);
        let kept = match self.ranges.is_empty() {
            true => u64::MAX,
            false => offset / PAGE as u64,
        };
        while self.pages.first_key_value().is_some_and(|(&page, _)| page < kept) {
            self.pages.pop_first();
        }
    }
}
