//! The host's own reader, which is one of the stream's branches; and the source's writer.

use super::*;

/// How far the host's own reader is.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) branch: BranchId,
    /// False: the host only passes on; all that comes counts as read.
    pub(super) reads: bool,
    /// What is before is not for it.
    pub(super) from: u64,
    /// Where it is to be told to go on.
    pub(super) skipped: Option<u64>,
    /// Since when something waits and it takes nothing.
    pub(super) stuck: Option<Nanos>,
    /// It has read the end: what the host is told again by another parent is not for it.
    over: bool,
}

impl Reader {
    pub(super) fn at(stream: &mut Stream, from: u64, reads: bool) -> Reader {
        // It may always begin with what is cached, or comes next.
        let begin = From::Offset(from.clamp(stream.base(), stream.received()));
        let branch = stream.add_branch(begin).unwrap_or(BranchId(0));
        Reader { branch, reads, from, skipped: None, stuck: None, over: false }
    }
}

impl Reader {
    /// The same reader, where a host begins anew.
    pub(super) fn moved(&self, stream: &mut Stream, to: u64) -> Reader {
        Reader { over: self.over, ..Reader::at(stream, to, self.reads) }
    }
}

impl Node {
    /// The source takes bytes, as many as there is room for; how many.
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

    /// The next of the stream, at most so many bytes; with datagrams whole records, and one at least. `None`:
    /// nothing yet.
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
        // So whatever is skipped, a record is read whole or not at all.
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

    /// A host that only passes on has read all that came; one that skips what is before. A source that would
    /// cut off who is slow has read what its fastest child has: it writes faster than any of them, and would
    /// be left by all.
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

    /// What one of the children is known to have, and those below it; those that are gone only if there are
    /// no others. All, where there is nobody. For who takes datagrams nothing is kept.
    pub(super) fn fastest(&self) -> u64 {
        let acked = |child: &Child| self.stream.acked(child.branch);
        let streams = self.children.values().filter(|child| child.datagrams.is_none());
        let here = streams.filter_map(acked).max();
        let gone = || self.gone.values().filter_map(|gone| acked(&gone.child)).max();
        here.or_else(gone).unwrap_or(self.stream.received())
    }

    /// The reader has all before, as far as it came.
    fn count_as_read(&mut self, to: u64) {
        let range = self.stream.sendable(self.reader.branch);
        let to = to.min(range.end);
        if range.start < to {
            let done = self.stream.on_sent(self.reader.branch, to - range.start);
            let done = done.and_then(|()| self.stream.on_acked(self.reader.branch, to));
            debug_assert!(done.is_ok(), "{done:?}");
        }
    }

    /// The reader goes on later.
    pub(super) fn skip_reader(&mut self, to: u64) {
        self.stream.remove_branch(self.reader.branch);
        self.reader = Reader { skipped: Some(to), ..self.reader.moved(&mut self.stream, to) };
    }

    /// The reader is waited for no longer; the host only passes on from now on.
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

/// As much as the cache has room for.
pub(super) fn take(stream: &mut Stream, cache: &mut Cache, bytes: &[u8]) -> usize {
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
