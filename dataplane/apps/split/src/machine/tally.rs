//! Counters, receipts and lost members of a stream.

use std::collections::VecDeque;

use groupflow_base::StreamId;

use super::frame::Fault;
use super::spec::{BranchKind, BranchSpec};

/// The most members remembered by name.
const MEMBERS: usize = 4096;

/// A member that the stream has lost.
#[derive(Debug, Clone)]
pub(super) struct Failed {
    pub(super) fault: Fault,
    pub(super) member: u32,
    pub(super) name: String,
    pub(super) acked: u64,
    pub(super) text: String,
}

/// Counters, receipts and failures of one stream.
#[derive(Debug, Default)]
pub struct Tally {
    /// Bytes taken from upstream.
    pub bytes_in: u64,
    /// Bytes handed to all branches together.
    pub bytes_out: u64,
    pub(super) receipts: Vec<(u32, u64)>,
    pub(super) failed: Vec<Failed>,
}

impl Tally {
    /// Notes that a member has everything; returns whether that was news.
    pub fn receipt(&mut self, member: u32, bytes: u64) -> bool {
        let known = self.receipts.iter().any(|&(known, _)| known == member);
        if self.receipts.len() < MEMBERS && !known {
            self.receipts.push((member, bytes));
        }
        !known
    }

    /// Notes that a member is lost (`fault` tells whether to the session or only to the stream); returns
    /// whether that was news.
    pub fn failed(&mut self, fault: Fault, member: u32, name: &str, acked: u64, text: &str) -> bool {
        let known = self.failed.iter().any(|failed| failed.member == member);
        if self.failed.len() < MEMBERS && !known {
            let (name, text) = (name.to_owned(), text.to_owned());
            self.failed.push(Failed { fault, member, name, acked, text });
        }
        !known
    }

    pub fn is_failed(&self, branch: &BranchSpec) -> bool {
        self.failed.iter().any(|failed| branch.kind == BranchKind::Member(failed.member))
    }
}

/// Members lost to ended streams. A stream that every member here has left may come again, when its session
/// has new members; for the lost ones it stays lost.
#[derive(Debug, Default)]
pub struct LostMembers {
    /// The oldest stream first.
    streams: VecDeque<(StreamId, Vec<Failed>)>,
    count: usize,
}

impl LostMembers {
    /// Remembers the lost members of a stream that has ended; the oldest streams make room.
    pub fn remember(&mut self, id: StreamId, tally: &Tally) {
        if tally.failed.is_empty() {
            return;
        }
        self.count += tally.failed.len();
        self.streams.push_back((id, tally.failed.clone()));
        while self.count > MEMBERS {
            let Some((_, oldest)) = self.streams.pop_front() else { break };
            self.count -= oldest.len();
        }
    }

    /// The tally with which a stream begins.
    pub fn tally(&self, id: StreamId) -> Tally {
        let known = self.streams.iter().rev().find(|(known, _)| *known == id);
        Tally { failed: known.map_or(Vec::new(), |(_, failed)| failed.clone()), ..Tally::default() }
    }
}

#[cfg(test)]
#[path = "tests/tally.rs"]
mod tests;
