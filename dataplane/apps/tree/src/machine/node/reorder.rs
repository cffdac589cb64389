//! Puts bytes that come in datagrams in order, and waits a limited time for missing ones. Then these are a
//! hole: the stream goes on behind it, with a whole record. All pieces that come out are whole records, but
//! for the last.

use std::collections::VecDeque;

use groupflow_base::reassembly::ByteStore;
use groupflow_base::Nanos;

/// A piece of the stream in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OrderedPiece {
    /// The next bytes, and their offset.
    Bytes(u64, Vec<u8>),
    /// Bytes before `to` will not come.
    Hole {
        /// The offset at which the stream goes on.
        to: u64,
    },
    /// The stream has ended, at this offset.
    End(u64),
}

/// Datagrams on their way into order.
#[derive(Debug, Clone)]
pub(super) struct Reorder {
    align: u64,
    wait: Nanos,
    most: u64,
    /// All bytes before this offset came out, or were told as a hole.
    out: u64,
    /// The offset of the next bytes in order; beyond `out` when those between will not come.
    from: u64,
    store: ByteStore,
    /// When pieces came that are not in order yet, in order of time, and where each ends.
    early: VecDeque<(Nanos, u64)>,
    end: Option<(u64, Nanos)>,
    ended: bool,
}

impl Reorder {
    /// Begins at the offset `at`, where a record begins. Missing bytes are waited for as long as `wait`. The
    /// bytes held lie within `most` bytes, of which four records are a part.
    pub(super) fn new(at: u64, align: u64, wait: Nanos, most: u64) -> Reorder {
        Reorder {
            align,
            wait,
            most,
            out: at,
            from: at,
            store: ByteStore::default(),
            early: VecDeque::new(),
            end: None,
            ended: false,
        }
    }

    /// A piece came; returns whether any byte of it is new.
    pub(super) fn insert(&mut self, now: Nanos, offset: u64, bytes: &[u8]) -> bool {
        let limit = self.end.map_or(u64::MAX / 2, |(end, _)| end);
        let end = offset.saturating_add(bytes.len() as u64).min(limit);
        let start = offset.max(self.from);
        if start >= end || self.store.missing(&(start..end)) == 0 {
            return false;
        }
        // Both offsets are within the piece.
        self.store.insert(start, &bytes[(start - offset) as usize..(end - offset) as usize]);
        self.early.push_back((now, end));
        self.note_order();
        // No reader takes the older half of too many bytes.
        if self.frontier() - self.from > self.most {
            self.go_on_at(self.record_after(self.frontier() - self.most / 2));
        }
        true
    }

    /// The stream ends at the offset `length`, or where the last bytes end.
    pub(super) fn end(&mut self, now: Nanos, length: u64) {
        self.end.get_or_insert((length.max(self.frontier()), now));
    }

    /// The next piece in order, as there is room; a hole that is larger than `far` needs none.
    pub(super) fn poll(&mut self, now: Nanos, room: u64, far: u64) -> Option<OrderedPiece> {
        loop {
            let next = self.next();
            let last = self.end.map(|(end, _)| end) == Some(next);
            let ready = if last { next } else { self.record_before(next) }.saturating_sub(self.from);
            let has_ended = last && ready == 0;
            if self.out < self.from && (ready > 0 || has_ended || self.from - self.out > far) {
                if self.from - self.out > room && self.from - self.out <= far {
                    return None;
                }
                self.out = self.from;
                return Some(OrderedPiece::Hole { to: self.from });
            }
            if ready > 0 {
                let fits = if ready <= room { ready } else { room / self.align * self.align };
                return (fits > 0).then(|| self.take(fits.min(ready)));
            }
            if has_ended {
                let first = !std::mem::replace(&mut self.ended, true);
                return first.then_some(OrderedPiece::End(next));
            }
            if !self.deadline().is_some_and(|due| due <= now) {
                return None;
            }
            let behind = self.store.ranges().iter().map(|range| range.start).find(|&start| start > next);
            let behind = behind.map(|start| self.record_after(start));
            self.go_on_at(behind.or(self.end.map(|(end, _)| end))?);
        }
    }

    /// When missing bytes are waited for no longer.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        let ends = self.end.filter(|&(end, _)| end > self.next()).map(|(_, since)| since);
        self.early.front().map(|&(came, _)| came).or(ends).map(|since| since + self.wait)
    }

    /// The end of the last bytes that came.
    pub(super) fn frontier(&self) -> u64 {
        self.store.ranges().last().map_or(self.from, |last| last.end)
    }

    /// Bytes that are held.
    pub(super) fn held(&self) -> u64 {
        self.store.held()
    }

    /// The offset of the first missing byte.
    fn next(&self) -> u64 {
        self.store.ranges().first_missing(self.from)
    }

    fn take(&mut self, count: u64) -> OrderedPiece {
        let (at, end) = (self.from, self.from + count);
        let mut bytes = Vec::new();
        while self.from < end {
            let page = self.store.at(self.from);
            let part = &page[..page.len().min((end - self.from) as usize)];
            bytes.extend_from_slice(part);
            self.from += part.len() as u64;
        }
        self.store.discard_below(end);
        self.out = end;
        OrderedPiece::Bytes(at, bytes)
    }

    /// Goes on at the offset `to`: bytes missing before it will not come any more.
    fn go_on_at(&mut self, to: u64) {
        self.from = self.end.map_or(to, |(end, _)| to.min(end));
        self.store.discard_below(self.from);
        self.note_order();
    }

    /// Forgets when pieces came that are in order by now.
    fn note_order(&mut self) {
        let next = self.next();
        while self.early.front().is_some_and(|&(_, end)| end <= next) {
            self.early.pop_front();
        }
    }

    /// The start of the last record that begins at the offset or before.
    fn record_before(&self, offset: u64) -> u64 {
        offset - offset % self.align
    }

    /// The start of the first record that begins at the offset or after.
    fn record_after(&self, offset: u64) -> u64 {
        offset.div_ceil(self.align).saturating_mul(self.align)
    }
}

#[cfg(test)]
#[path = "tests/reorder.rs"]
mod tests;
