//! Puts bytes that come in datagrams in order, and waits a limited time for missing ones. Then these are a
//! hole: the stream goes on behind it, with a whole record. All pieces that come out are whole records, but
//! for the last.

use std::collections::BTreeMap;

use groupflow_base::Nanos;

/// Bytes of memory that a piece takes besides its own.
const PIECE: u64 = 64;

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
    run: Vec<u8>,
    /// Pieces beyond the run, none of which overlaps another, and when they came.
    held: BTreeMap<u64, (Nanos, Vec<u8>)>,
    bytes: u64,
    /// Since when the first missing byte is known to be missing.
    since: Option<Nanos>,
    end: Option<(u64, Nanos)>,
    ended: bool,
}

impl Reorder {
    /// Begins at the offset `at`, where a record begins. Missing bytes are waited for as long as `wait`. At
    /// most `most` bytes are held, of which four records are a part.
    pub(super) fn new(at: u64, align: u64, wait: Nanos, most: u64) -> Reorder {
        Reorder {
            align,
            wait,
            most,
            out: at,
            from: at,
            run: Vec::new(),
            held: BTreeMap::new(),
            bytes: 0,
            since: None,
            end: None,
            ended: false,
        }
    }

    /// A piece came; returns whether any byte of it is new.
    pub(super) fn insert(&mut self, now: Nanos, offset: u64, bytes: &[u8]) -> bool {
        let limit = self.end.map_or(u64::MAX / 2, |(end, _)| end);
        let end = offset.saturating_add(bytes.len() as u64).min(limit);
        let (mut at, mut new) = (offset.max(self.next()), false);
        while at < end {
            let before = self.held.range(..=at).next_back();
            if let Some(known) =
                before.map(|(start, (_, held))| start + held.len() as u64).filter(|&known| known > at)
            {
                at = known;
                continue;
            }
            let until = self.held.range(at..).next().map_or(end, |(&start, _)| start.min(end));
            // Both offsets are within the piece.
            let part = &bytes[(at - offset) as usize..(until - offset) as usize];
            self.held.insert(at, (now, part.to_vec()));
            self.bytes += until - at;
            (at, new) = (until, true);
        }
        self.absorb();
        self.bound();
        new
    }

    /// The stream ends at the offset `length`.
    pub(super) fn end(&mut self, now: Nanos, length: u64) {
        let length = length.max(self.next());
        if self.end.is_none() {
            self.end = Some((length, now));
            self.cut(length);
        }
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
            let behind = self.held.keys().next().map(|&start| self.record_after(start));
            self.go_on_at(behind.or(self.end.map(|(end, _)| end))?);
        }
    }

    /// When missing bytes are waited for no longer.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        let ends = self.end.filter(|&(end, _)| end > self.next()).map(|(_, since)| since);
        self.since.or(ends).map(|since| since + self.wait)
    }

    /// The end of the last bytes that came.
    pub(super) fn frontier(&self) -> u64 {
        let held = self.held.last_key_value().map(|(start, (_, bytes))| start + bytes.len() as u64);
        held.unwrap_or(0).max(self.next())
    }

    /// Bytes that are held.
    pub(super) fn held(&self) -> u64 {
        self.bytes + self.run.len() as u64
    }

    fn next(&self) -> u64 {
        self.from + self.run.len() as u64
    }

    fn take(&mut self, count: u64) -> OrderedPiece {
        // At most the run's length, which fits a `usize`.
        let rest = self.run.split_off(count as usize);
        let bytes = std::mem::replace(&mut self.run, rest);
        let at = self.from;
        self.from += count;
        self.out = self.from;
        OrderedPiece::Bytes(at, bytes)
    }

    /// Moves pieces that are next in order to the run.
    fn absorb(&mut self) {
        let before = self.next();
        while let Some(piece) =
            self.held.first_entry().filter(|piece| *piece.key() <= self.from + self.run.len() as u64)
        {
            let (start, (_, bytes)) = piece.remove_entry();
            self.bytes -= bytes.len() as u64;
            let known = (self.next() - start).min(bytes.len() as u64);
            self.run.extend_from_slice(&bytes[known as usize..]);
        }
        if self.since.is_none() || self.next() != before {
            self.since = self.held.values().map(|&(came, _)| came).min();
        }
    }

    /// Goes on at the offset `to`: bytes missing before it will not come any more.
    fn go_on_at(&mut self, to: u64) {
        let to = self.end.map_or(to, |(end, _)| to.min(end));
        self.run.clear();
        self.from = to;
        while let Some(piece) = self.held.first_entry().filter(|piece| *piece.key() < to) {
            let (start, (came, bytes)) = piece.remove_entry();
            self.bytes -= bytes.len() as u64;
            let beyond = usize::try_from(to - start).unwrap_or(usize::MAX);
            if let Some(rest) = bytes.get(beyond..).filter(|rest| !rest.is_empty()) {
                self.bytes += rest.len() as u64;
                self.held.insert(to, (came, rest.to_vec()));
            }
        }
        self.since = None;
        self.absorb();
    }

    /// When too many bytes are held, drops the older half of them: no reader takes them.
    fn bound(&mut self) {
        while self.held() + PIECE * self.held.len() as u64 > self.most {
            let keep = self.frontier().saturating_sub(self.most / 2);
            // Of many small pieces, those that are in the older half go.
            let middle = self.held.keys().nth(self.held.len() / 2).copied().unwrap_or(0);
            let to = self.record_after(keep.max(middle).max(self.from + 1));
            let rest =
                self.run.get(usize::try_from(to - self.from).unwrap_or(usize::MAX)..).map(<[u8]>::to_vec);
            self.go_on_at(to);
            if let Some(rest) = rest {
                self.run.splice(..0, rest);
            }
        }
    }

    /// Drops bytes beyond the end.
    fn cut(&mut self, end: u64) {
        while let Some(mut piece) = self.held.last_entry() {
            let (start, length) = (*piece.key(), piece.get().1.len() as u64);
            if start + length <= end {
                break;
            }
            self.bytes -= length;
            if start >= end {
                piece.remove();
            } else {
                piece.get_mut().1.truncate((end - start) as usize);
                self.bytes += end - start;
            }
        }
        self.since = self.since.filter(|_| !self.held.is_empty());
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
