//! The host's own reader, which is one of the stream's branches; and the source's writer.

use super::*;

/// The position of the host's own reader.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) branch: BranchId,
    /// False: the host only passes the stream on; all bytes that came count as read.
    pub(super) reads: bool,
    /// Bytes before this offset are not for the reader.
    pub(super) from: u64,
    /// The offset at which the reader is to be told to go on.
    pub(super) skipped: Option<u64>,
    /// Since when bytes wait and the reader takes none.
    pub(super) stuck: Option<Nanos>,
    /// Whether the reader has read the end: bytes that another parent sends again are not for it.
    over: bool,
}

impl Reader {
    pub(super) fn at(stream: &mut Fanout, from: u64, reads: bool) -> Reader {
        // A branch may always begin with a byte that is cached, or that comes next.
        let begin = BranchStart::Offset(from.clamp(stream.base(), stream.received()));
        let branch = stream.add_branch(begin).unwrap_or(BranchId(0));
        Reader { branch, reads, from, skipped: None, stuck: None, over: false }
    }
}

impl Reader {
    /// The same reader, where a host begins anew.
    pub(super) fn moved(&self, stream: &mut Fanout, to: u64) -> Reader {
        Reader { over: self.over, ..Reader::at(stream, to, self.reads) }
    }
}

impl Node {
    /// The source takes as many bytes as there is room for; returns how many.
    pub fn write(&mut self, now: Nanos, bytes: &[u8]) -> usize {
        if !self.source {
            return 0;
        }
        let taken = take(&mut self.stream, &mut self.cache, bytes);
        self.tend(now);
        taken
    }

    /// The source has written all.
    pub fn finish(&mut self, now: Nanos) {
        if self.source {
            self.stream.on_upstream_end();
            self.tend(now);
        }
    }

    /// Offset of the byte that the reader gets next.
    pub fn position(&self) -> u64 {
        let read = self.stream.sent(self.reader.branch).unwrap_or(0);
        read.max(self.reader.from)
    }

    /// The next item of the stream, at most `most` bytes; with datagrams whole records, and one at least.
    /// `None`: nothing has come yet.
    pub fn read(&mut self, now: Nanos, most: usize) -> Option<Read> {
        if self.source || self.reader.over {
            return None;
        }
        if !self.reader.reads {
            return self.failed.map(|at| Read::Broken { at });
        }
        if let Some(to) = self.reader.skipped.take() {
            return Some(Read::Skipped { to });
        }
        let branch = self.reader.branch;
        let range = self.stream.sendable(branch);
        if range.is_empty() {
            if self.stream.end_due(branch) {
                self.end_branch(branch);
                self.reader.over = true;
                self.tend(now);
                return Some(Read::End);
            }
            return self.failed.map(|at| Read::Broken { at });
        }
        if range.start < self.reader.from {
            return None;
        }
        let gap = self.datagrams.gap(range.start);
        if let Some(to) = gap.as_ref().filter(|gap| gap.start <= range.start).map(|gap| gap.end) {
            self.count_as_read(to);
            self.tend(now);
            return Some(Read::Skipped { to });
        }
        // Whichever bytes are skipped, a record is read whole or not at all.
        let most = match self.config.slow {
            Slow::Skip { align } if self.config.datagrams.is_some() => {
                let align = usize::try_from(align.max(1)).unwrap_or(usize::MAX);
                (most - most % align).max(align)
            }
            _ => most,
        };
        let before = gap.map_or(u64::MAX, |gap| gap.start - range.start);
        let most = most.min(usize::try_from(before).unwrap_or(usize::MAX));
        let (first, second) = self.cache.read(range.start, most);
        let bytes = [first, second].concat();
        self.reader.stuck = None;
        self.count_as_read(range.start + bytes.len() as u64);
        self.tend(now);
        Some(Read::Bytes(bytes))
    }

    /// A host without a reader counts all that came as read; a reader that skips, all before its new place. A
    /// source that cuts off slow children counts what its fastest child has: it writes faster than any child
    /// takes, and would be left by all.
    pub(super) fn read_nothing(&mut self) {
        if self.reader.reads && !self.source {
            return self.count_as_read(self.reader.from);
        }
        self.count_as_read(match self.config.slow {
            Slow::Isolate if self.source => self.fastest(),
            _ => self.stream.received(),
        });
        if self.stream.end_due(self.reader.branch) {
            self.end_branch(self.reader.branch);
        }
    }

    /// The largest offset that one child, with all hosts below it, is known to have. Departed children count
    /// if there are no others; without any, all that was received. Children that take datagrams do not count:
    /// nothing is kept for them.
    pub(super) fn fastest(&self) -> u64 {
        let acked = |child: &Child| self.stream.acked(child.branch);
        let streams = self.children.values().filter(|child| child.datagrams.is_none());
        let here = streams.filter_map(acked).max();
        let gone = || self.gone.values().filter_map(|gone| acked(&gone.child)).max();
        here.or_else(gone).unwrap_or(self.stream.received())
    }

    /// The reader has all bytes before `to`, as far as they came.
    fn count_as_read(&mut self, to: u64) {
        let range = self.stream.sendable(self.reader.branch);
        let to = to.min(range.end);
        if range.start < to {
            let done = self.stream.on_sent(self.reader.branch, to - range.start);
            let done = done.and_then(|()| self.stream.on_acked(self.reader.branch, to));
            debug_assert!(done.is_ok(), "{done:?}");
        }
    }

    /// Lets the reader go on at a later offset.
    pub(super) fn skip_reader(&mut self, to: u64) {
        self.stream.remove_branch(self.reader.branch);
        self.reader = Reader { skipped: Some(to), ..self.reader.moved(&mut self.stream, to) };
    }

    /// Waits for the reader no longer; the host only passes the stream on from now on.
    pub(super) fn cut_off_reader(&mut self) {
        if self.reader.reads {
            self.failed = self.failed.or(self.stream.acked(self.reader.branch));
            self.stop_reading();
        }
    }

    pub(super) fn stop_reading(&mut self) {
        self.stream.remove_branch(self.reader.branch);
        let next = self.stream.received();
        self.reader = Reader::at(&mut self.stream, next, false);
    }

    fn end_branch(&mut self, branch: BranchId) {
        let done = self.stream.on_end_sent(branch).and_then(|()| self.stream.on_end_acked(branch));
        debug_assert!(done.is_ok(), "{done:?}");
    }
}

/// Takes as many bytes as the cache has room for; returns how many.
pub(super) fn take(stream: &mut Fanout, cache: &mut Cache, bytes: &[u8]) -> usize {
    let room = usize::try_from(stream.intake()).unwrap_or(usize::MAX);
    let taken = bytes.len().min(room);
    match stream.on_received(taken as u64) {
        Ok(()) => {
            cache.push(&bytes[..taken]);
            taken
        }
        Err(_) => 0,
    }
}
