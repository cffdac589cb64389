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
            let over = last && ready == 0;
            if self.out < self.from && (ready > 0 || over || self.from - self.out > far) {
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
            if over {
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WAIT: Nanos = Nanos::from_millis(20);

    fn byte(offset: u64) -> u8 {
        (offset.wrapping_mul(31) ^ (offset >> 8).wrapping_mul(17)) as u8
    }

    fn piece(range: std::ops::Range<u64>) -> Vec<u8> {
        range.map(byte).collect()
    }

    /// A reader that takes all pieces, and checks them.
    #[derive(Debug, Default)]
    struct TestReader {
        at: u64,
        bytes: u64,
        holes: u64,
        ended: Option<u64>,
    }

    impl TestReader {
        fn take(&mut self, piece: OrderedPiece, align: u64) {
            assert_eq!(self.ended, None, "{piece:?} after the end");
            match piece {
                OrderedPiece::Bytes(at, bytes) => {
                    assert_eq!(at, self.at);
                    assert!(!bytes.is_empty());
                    for (offset, found) in (at..).zip(&bytes) {
                        assert_eq!(*found, byte(offset), "at {offset}");
                    }
                    self.at += bytes.len() as u64;
                    self.bytes += bytes.len() as u64;
                }
                OrderedPiece::Hole { to } => {
                    assert!(to > self.at && self.at % align == 0, "a hole from {} to {to}", self.at);
                    self.at = to;
                    self.holes += 1;
                }
                OrderedPiece::End(length) => {
                    assert_eq!(length, self.at);
                    self.ended = Some(length);
                }
            }
        }
    }

    proptest! {
        /// Pieces are lost, come late, twice, and cut otherwise than before; the reader gets whole records,
        /// in order, and is told each hole. No more than the most bytes are held.
        #[test]
        fn whole_records_come_out_in_order(
            align in proptest::sample::select(vec![1_u64, 7, 100, 250]),
            most in 2_000..6_000_u64,
            steps in proptest::collection::vec((0..10_u8, 1..90_u64, 0..600_u64, 0..2_000_u64), 1..400),
        ) {
            let (mut reorder, mut reader) = (Reorder::new(0, align, WAIT, most), TestReader::default());
            let (mut now, mut sent) = (Nanos::ZERO, 0);
            for (kind, count, back, room) in steps {
                match kind {
                    // The piece is lost.
                    0 => sent += count,
                    // The piece is late, and perhaps not sent for the first time.
                    1 | 2 => {
                        let start = sent.saturating_sub(back);
                        reorder.insert(now, start, &piece(start..(start + count).min(sent)));
                    }
                    3 => now += Nanos::from_millis(count / 4),
                    _ => {
                        let new = reorder.insert(now, sent, &piece(sent..sent + count));
                        prop_assert!(new || sent + count <= reorder.next());
                        sent += count;
                    }
                }
                prop_assert!(reorder.held() + PIECE * reorder.held.len() as u64 <= most);
                if kind % 2 == 0 {
                    if let Some(piece) = reorder.poll(now, room, 1_000) {
                        if let OrderedPiece::Bytes(_, bytes) = &piece {
                            prop_assert!(bytes.len() as u64 <= room && bytes.len() as u64 % align == 0);
                        }
                        reader.take(piece, align);
                    }
                }
            }
            reorder.end(now, sent);
            for _ in 0..2 {
                while let Some(piece) = reorder.poll(now, u64::MAX, 1_000) {
                    reader.take(piece, align);
                }
                now += WAIT;
            }
            while let Some(piece) = reorder.poll(now, u64::MAX, 1_000) {
                reader.take(piece, align);
            }
            // Bytes that were given up as missing may lie behind the end that was told.
            let ended = reader.ended.is_some_and(|end| end >= sent);
            prop_assert!(ended, "{:?} of {}: {:?}", reader, sent, reorder);
            prop_assert_eq!(reorder.held(), 0);
        }

        /// Nothing is lost: all bytes come out, and no hole, however the pieces were mixed within the time
        /// that they are waited for.
        #[test]
        fn pieces_out_of_order_lose_no_byte(
            cuts in proptest::collection::vec(1..90_u64, 1..60), seed in any::<u64>(),
        ) {
            let (mut reorder, mut reader) = (Reorder::new(0, 10, WAIT, 100_000), TestReader::default());
            let cut = |at: &mut u64, count: &u64| {
                *at += count;
                Some(*at - count..*at)
            };
            let mut ranges: Vec<_> = cuts.iter().scan(0, cut).collect();
            let sent = cuts.iter().sum::<u64>();
            let mut state = seed;
            for at in (1..ranges.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ranges.swap(at, (state >> 33) as usize % (at + 1));
            }
            for range in ranges {
                prop_assert!(reorder.insert(Nanos::ZERO, range.start, &piece(range.clone())));
                prop_assert!(!reorder.insert(Nanos::ZERO, range.start, &piece(range)), "twice");
                while let Some(piece) = reorder.poll(Nanos(WAIT.0 - 1), u64::MAX, 1_000) {
                    reader.take(piece, 10);
                }
            }
            reorder.end(Nanos::ZERO, sent);
            while let Some(piece) = reorder.poll(Nanos(WAIT.0 - 1), u64::MAX, 1_000) {
                reader.take(piece, 10);
            }
            prop_assert_eq!((reader.bytes, reader.holes, reader.ended), (sent, 0, Some(sent)));
        }
    }

    /// A hole is waited for as long as `wait` says, from the time when it is known; then the rest of its
    /// record is left out.
    #[test]
    fn a_hole_is_given_up_in_time() {
        let mut reorder = Reorder::new(0, 100, WAIT, 10_000);
        reorder.insert(Nanos::ZERO, 0, &piece(0..150));
        assert_eq!(reorder.poll(Nanos::ZERO, 1_000, 5_000), Some(OrderedPiece::Bytes(0, piece(0..100))));
        let known = Nanos::from_millis(5);
        reorder.insert(known, 160, &piece(160..350));
        assert_eq!(reorder.deadline(), Some(known + WAIT));
        let due = known + WAIT;
        assert_eq!(reorder.poll(Nanos(due.0 - 1), 1_000, 5_000), None);
        assert_eq!(reorder.poll(due, 1_000, 5_000), Some(OrderedPiece::Hole { to: 200 }));
        assert_eq!(reorder.poll(due, 1_000, 5_000), Some(OrderedPiece::Bytes(200, piece(200..300))));
        assert_eq!(reorder.poll(due, 1_000, 5_000), None);
        assert!(!reorder.insert(due, 150, &piece(150..160)), "too late");
        reorder.end(due, 350);
        assert_eq!(reorder.poll(due, 1_000, 5_000), Some(OrderedPiece::Bytes(300, piece(300..350))));
        assert_eq!(reorder.poll(due, 1_000, 5_000), Some(OrderedPiece::End(350)));
        assert_eq!(reorder.poll(due, 1_000, 5_000), None);
    }
}
