//! The host's own reader, which is one of the stream's branches.

use groupflow_base::Nanos;
use groupflow_transport::fanout::{BranchId, BranchStart, Fanout};

use super::held::HeldBytes;
use super::NodeConfig;

/// An item that the reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadItem {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// The stream goes on at `to`: earlier bytes came too late.
    Skipped {
        /// Offset of the next byte.
        to: u64,
    },
    /// The stream has ended.
    End,
    /// Nothing follows: the reader was too slow, or no host has the next bytes any more.
    Broken {
        /// Offset of the byte that would be next.
        at: u64,
    },
}

/// The position of the host's own reader.
#[derive(Debug, Clone)]
pub(super) struct OwnReader {
    pub(super) branch: BranchId,
    /// False: the host only passes the stream on; all bytes that came count as read.
    reads: bool,
    /// Bytes before this offset are not for the reader.
    from: u64,
    /// The offset at which the reader is to be told to go on.
    skipped: Option<u64>,
    /// Since when bytes wait and the reader takes none; it is known with [`super::Slow::Wait`] only.
    pub(super) stuck: Option<Nanos>,
    /// Whether the reader has read the end: bytes that another parent sends again are not for it.
    finished: bool,
    /// Whether the reader has all of the stream, and the owner has put it away.
    pub(super) has_all: bool,
    /// The offset at which the stream is broken off.
    pub(super) failed: Option<u64>,
}

impl OwnReader {
    pub(super) fn at(stream: &mut Fanout, from: u64, reads: bool) -> OwnReader {
        // A branch may always begin with a byte that is cached, or that comes next.
        let begin = BranchStart::Offset(from.clamp(stream.base(), stream.received()));
        let branch = stream.add_branch(begin).unwrap_or(BranchId(0));
        OwnReader {
            branch,
            reads,
            from,
            skipped: None,
            stuck: None,
            finished: false,
            has_all: false,
            failed: None,
        }
    }

    pub(super) fn begin_at(&mut self, stream: &mut Fanout, to: u64) {
        *self = OwnReader {
            finished: self.finished,
            has_all: self.has_all,
            failed: self.failed,
            ..OwnReader::at(stream, to, self.reads)
        };
    }

    /// Tells a reader that the stream goes on at `to`.
    pub(super) fn note_skip(&mut self, to: u64) {
        self.skipped = Some(to).filter(|_| self.reads);
    }

    pub(super) fn skip(&mut self, stream: &mut Fanout, to: u64) {
        stream.remove_branch(self.branch);
        self.begin_at(stream, to);
        self.skipped = Some(to);
    }

    /// Reads no more; the host only passes the stream on from now on.
    pub(super) fn stop(&mut self, stream: &mut Fanout) {
        stream.remove_branch(self.branch);
        let (failed, has_all) = (self.failed, self.has_all);
        *self = OwnReader { failed, has_all, ..OwnReader::at(stream, stream.received(), false) };
    }

    /// Notes that the reader has all of the stream, or will get it from the cache, for which nobody waits.
    pub(super) fn note_all(&mut self) {
        self.has_all |= self.reads && self.failed.is_none();
    }

    /// Whether nobody waits for the reader: it has all, or it was cut off.
    pub(super) fn is_done(&self) -> bool {
        self.has_all || self.failed.is_some()
    }

    pub(super) fn cut_off(&mut self, stream: &mut Fanout) {
        if self.reads {
            self.failed = self.failed.or(stream.acked(self.branch));
            self.stop(stream);
        }
    }

    pub(super) fn position(&self, stream: &Fanout) -> u64 {
        stream.sent(self.branch).unwrap_or(0).max(self.from)
    }

    /// The next item of the stream: at most `most` bytes, whole records, and one at least.
    pub(super) fn read(
        &mut self, stream: &mut Fanout, held: &HeldBytes, config: &NodeConfig, most: usize,
    ) -> Option<ReadItem> {
        let broken = self.failed.map(|at| ReadItem::Broken { at });
        if self.finished || !self.reads {
            return broken.filter(|_| !self.finished);
        }
        if let Some(to) = self.skipped.take() {
            return Some(ReadItem::Skipped { to });
        }
        let range = stream.sendable(self.branch);
        if range.is_empty() {
            self.finished = self.end(stream);
            return if self.finished { Some(ReadItem::End) } else { broken };
        }
        if range.start < self.from {
            return None;
        }
        // Whichever bytes are skipped, a record is read whole or not at all; the stream may end within one.
        let came = if stream.ended() { range.end } else { config.slow.last_record(range.end) };
        let limit = config.slow.last_record(range.start.saturating_add(most as u64));
        let end = came.min(limit.max(config.slow.next_record(range.start + 1)));
        if end <= range.start {
            return broken;
        }
        let count = usize::try_from(end - range.start).unwrap_or(usize::MAX);
        let (first, second) = held.read(range.start, count);
        let bytes = [first, second].concat();
        self.stuck = None;
        self.pass(stream, range.start + bytes.len() as u64);
        Some(ReadItem::Bytes(bytes))
    }

    /// Counts all bytes before `to` as read, as far as they came.
    fn pass(&self, stream: &mut Fanout, to: u64) {
        let range = stream.sendable(self.branch);
        let to = to.min(range.end);
        if range.start < to {
            let done = stream.on_sent(self.branch, to - range.start);
            let done = done.and_then(|()| stream.on_acked(self.branch, to));
            debug_assert!(done.is_ok(), "{done:?}");
        }
    }

    /// Ends the branch, if it has all bytes of a stream that has ended.
    fn end(&self, stream: &mut Fanout) -> bool {
        let due = stream.end_due(self.branch);
        if due {
            let done = stream.on_end_sent(self.branch).and_then(|()| stream.on_end_acked(self.branch));
            debug_assert!(done.is_ok(), "{done:?}");
        }
        due
    }

    /// Without a reader, all bytes before `to` count as read; with one that skips, all before its new place.
    pub(super) fn read_nothing(&self, stream: &mut Fanout, is_source: bool, to: u64) {
        if self.reads && !is_source {
            return self.pass(stream, self.from);
        }
        self.pass(stream, to);
        self.end(stream);
    }

    /// Cuts off a reader that takes nothing for as long as `stall`.
    pub(super) fn update(&mut self, now: Nanos, stream: &mut Fanout, stall: Nanos) {
        let waits = !stream.sendable(self.branch).is_empty();
        self.stuck = waits.then(|| self.stuck.unwrap_or(now));
        if self.stuck.is_some_and(|since| since + stall <= now) {
            self.cut_off(stream);
        }
    }
}
