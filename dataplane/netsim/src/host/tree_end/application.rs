//! The application at a tree's host: the writes of a source, and a reader.

use groupflow_base::{BitRate, Nanos};
use groupflow_tree::machine::ReadItem;

use super::{TreeEnd, BATCH};
use crate::host::machine_end::{pattern, wrong_bytes};
use crate::spec::TreeSourceSpec;

/// The time between two writes of a source.
const TICK: Nanos = Nanos::from_millis(10);
/// The most bytes of a write.
const MOST: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Source {
    pub(super) spec: TreeSourceSpec,
    /// Bytes that the node has taken, and when the next are written; [`Nanos::MAX`]: none.
    pub(super) written: u64,
    pub(super) due: Nanos,
}

impl TreeEnd {
    /// Reads at the host; returns whether there was something to read.
    pub(super) fn read(&mut self, now: Nanos) -> bool {
        self.sample.joined |= self.node.parent().is_some();
        match self.node.read(now, BATCH) {
            Some(ReadItem::Bytes(bytes)) => {
                self.corrupt += wrong_bytes(self.read + self.sample.skipped, &bytes);
                self.read += bytes.len() as u64;
                self.latest = Some(now);
            }
            Some(ReadItem::Skipped { to }) => self.sample.skipped = to.saturating_sub(self.read),
            Some(ReadItem::End) if !self.sample.complete => {
                self.sample.complete = true;
                self.node.on_stored(now);
            }
            Some(ReadItem::Broken { .. }) => {
                self.sample.cut_off = true;
                self.end();
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Ends the host's program, as `gfagent` ends where its stream is broken off.
    pub(super) fn end(&mut self) {
        self.over = true;
        for ends in self.streams.in_turn(None) {
            self.streams.release(ends);
        }
    }

    /// Writes the bytes that are due at a source.
    pub(super) fn write(&mut self, now: Nanos) {
        let Some(Source { spec, written, due }) = &mut self.source else { return };
        if *due > now {
            return;
        }
        self.first.get_or_insert(now);
        let end = spec.bytes.unwrap_or(u64::MAX);
        let target = BitRate(spec.rate_bps).bytes_in(now - Nanos(spec.start_ns)).min(end);
        let bytes: Vec<u8> = (*written..target).take(MOST).map(pattern).collect();
        *written += self.node.write(now, &bytes) as u64;
        *due = if *written == end { Nanos::MAX } else { now + TICK };
        if *written == end {
            self.node.finish(now);
        }
    }
}
