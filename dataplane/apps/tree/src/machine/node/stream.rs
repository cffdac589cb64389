//! The stream at one node: the bytes that it holds, the offsets that its parent is told, and its own reader,
//! which is one of the stream's branches.

use groupflow_base::reassembly::Reassembly;
use groupflow_base::stream::ByteQueue;
use groupflow_base::Nanos;
use groupflow_transport::fanout::{BranchId, BranchStart, Fanout};

use super::NodeConfig;
use crate::machine::frame::{Reason, TreeFrame};

/// The parent is told after this time what was taken, if that is not much.
const TELL_AFTER: Nanos = Nanos::from_millis(20);

/// The bytes that a node holds: those in order, and those that came beyond a gap.
#[derive(Debug, Clone)]
pub(super) struct HeldBytes {
    pub(super) bytes: ByteQueue,
    window: u64,
    /// Bytes from the parent; `None`: the node is the source, or does not know yet where it begins.
    pub(super) incoming: Option<Reassembly>,
    /// Whether the node lost its place: no host had the next bytes, so it skips to where the next parent
    /// serves.
    pub(super) is_lost: bool,
}

impl HeldBytes {
    /// Nothing; bytes from the offset `at` on are to come from a parent, if it is known.
    pub(super) fn new(config: &NodeConfig, at: Option<u64>) -> HeldBytes {
        HeldBytes {
            bytes: ByteQueue::at(at.unwrap_or(0)),
            window: config.window,
            incoming: at.map(|at| Reassembly::new(at, config.window)),
            is_lost: false,
        }
    }

    /// Begins anew at an offset; no earlier byte is held.
    pub(super) fn begin_at(&mut self, begin: u64) {
        self.bytes = ByteQueue::at(begin);
        self.incoming = Some(Reassembly::new(begin, self.window));
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64 + self.incoming.as_ref().map_or(0, Reassembly::held)
    }

    /// Offset of the next byte from a parent, if it is known.
    pub(super) fn delivered(&self) -> Option<u64> {
        self.incoming.as_ref().map(|incoming| incoming.delivered)
    }

    /// Whether all bytes came from a parent, and the end.
    pub(super) fn is_complete(&self) -> bool {
        self.incoming.as_ref().is_some_and(Reassembly::is_complete)
    }

    pub(super) fn receive(&mut self, stream: &mut Fanout, offset: u64, bytes: &[u8]) -> Result<(), Reason> {
        let incoming = self.incoming.as_mut().ok_or(Reason::BadFrame)?;
        let mut sink = |bytes: &[u8]| take(stream, &mut self.bytes, bytes);
        incoming.receive(offset, bytes, &mut sink).map(drop).map_err(|_| Reason::BadFrame)
    }

    /// The stream's length; where it may be skipped, the record with which this node was to begin may not
    /// come any more.
    pub(super) fn end(&mut self, length: u64, skips: bool) -> Result<(), Reason> {
        let incoming = self.incoming.as_mut().ok_or(Reason::BadFrame)?;
        let length = if skips { length.max(incoming.delivered) } else { length };
        incoming.end(length).map_err(|_| Reason::BadFrame)
    }

    /// Takes bytes that came and had no room; the end may be reached, too.
    pub(super) fn drain(&mut self, stream: &mut Fanout) {
        let Some(incoming) = self.incoming.as_mut() else { return };
        incoming.drain(&mut |bytes: &[u8]| take(stream, &mut self.bytes, bytes));
        if incoming.is_complete() {
            stream.on_upstream_end();
        }
    }
}

/// Takes as many bytes as the stream has room for; returns how many.
pub(super) fn take(stream: &mut Fanout, queue: &mut ByteQueue, bytes: &[u8]) -> usize {
    let room = usize::try_from(stream.intake()).unwrap_or(usize::MAX);
    let taken = bytes.len().min(room);
    match stream.on_received(taken as u64) {
        Ok(()) => {
            queue.push(&bytes[..taken]);
            taken
        }
        Err(_) => 0,
    }
}

/// The last offsets that the parent was told, and the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Receipts {
    /// The offsets that this parent was last told: everything before the first is taken, nothing before the
    /// second is needed.
    reported: (u64, u64),
    /// Since when the parent is to be told newer offsets.
    pub(super) unreported: Option<Nanos>,
    /// Hosts above were told that no host here needs bytes before this offset.
    pub(super) promised: u64,
    pub(super) completed: bool,
    /// The dispatchers were told that this host has all of the stream.
    pub(super) reported_all: bool,
}

impl Receipts {
    pub(super) fn at(offset: u64) -> Receipts {
        Receipts { reported: (offset, offset), promised: offset, ..Receipts::default() }
    }

    /// Goes on with a stream that begins anew at the offset.
    pub(super) fn begin_at(&mut self, offset: u64) {
        self.reported = (offset, offset);
        self.promised = offset;
    }

    /// Tells the parent everything again: the connection that carried it is lost, or the parent is a new one.
    pub(super) fn repeat(&mut self) {
        self.reported = (0, 0);
        self.completed = false;
        self.reported_all = false;
    }

    /// When the parent is to be told offsets that were held back.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        self.unreported.map(|since| since + TELL_AFTER)
    }

    /// The frame that tells the offsets: at once if they are `step` further, or if all is taken, else after
    /// a while.
    pub(super) fn taken(&mut self, now: Nanos, new: (u64, u64), step: u64, all: bool) -> Option<TreeFrame> {
        let since = self.unreported.take();
        if self.reported == new {
            return None;
        }
        let more = new.0.saturating_sub(self.reported.0).max(new.1.saturating_sub(self.reported.1));
        self.unreported = Some(since.unwrap_or(now));
        if more < step && self.deadline() > Some(now) && !all {
            return None;
        }
        self.unreported = None;
        self.reported = new;
        self.promised = new.1;
        Some(TreeFrame::Taken { taken: new.0, needed: new.1 })
    }
}

/// An item that the reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadItem {
    /// The bytes that follow.
    Bytes(Vec<u8>),
    /// The stream goes on at this offset: earlier bytes came too late.
    Skipped { to: u64 },
    /// The stream is complete.
    End,
    /// Nothing follows: the reader was too slow, or no host has the byte at this offset any more.
    Broken { at: u64 },
}

#[derive(Debug, Clone)]
pub(super) struct OwnReader {
    pub(super) branch: BranchId,
    /// False: the host only passes the stream on; all bytes that came count as read.
    pub(super) reads: bool,
    /// Bytes before this offset are not for the reader.
    from: u64,
    /// The offset at which the reader is to be told to go on.
    pub(super) skipped: Option<u64>,
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
    pub(super) fn at(stream: &mut Fanout, from: u64) -> OwnReader {
        OwnReader {
            branch: branch_at(stream, from),
            reads: true,
            from,
            skipped: None,
            stuck: None,
            finished: false,
            has_all: false,
            failed: None,
        }
    }

    pub(super) fn begin_at(&mut self, stream: &mut Fanout, to: u64) {
        (self.branch, self.from) = (branch_at(stream, to), to);
        (self.skipped, self.stuck) = (None, None);
    }

    pub(super) fn skip(&mut self, stream: &mut Fanout, to: u64) {
        stream.remove_branch(self.branch);
        self.begin_at(stream, to);
        self.skipped = Some(to);
    }

    /// Reads no more; the host only passes the stream on from now on.
    pub(super) fn stop(&mut self, stream: &mut Fanout) {
        stream.remove_branch(self.branch);
        self.begin_at(stream, stream.received);
        (self.reads, self.finished) = (false, false);
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
        let broken = self.failed.filter(|_| !self.finished).map(|at| ReadItem::Broken { at });
        if self.finished || !self.reads {
            return broken;
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
        let came = if stream.ended { range.end } else { config.last_record(range.end) };
        let limit = config.last_record(range.start.saturating_add(most as u64));
        let end = came.min(limit.max(config.next_record(range.start + 1)));
        if end <= range.start {
            return broken;
        }
        let count = usize::try_from(end - range.start).unwrap_or(usize::MAX);
        let (first, second) = held.bytes.read(range.start, count);
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

/// A branch may always begin with a byte that is cached, or that comes next.
fn branch_at(stream: &mut Fanout, from: u64) -> BranchId {
    let begin = BranchStart::Offset(from.clamp(stream.base, stream.received));
    stream.add_branch(begin).unwrap_or(BranchId(0))
}
