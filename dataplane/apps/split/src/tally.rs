//! The statistics of a stream: counters, receipts, failures.

use std::collections::VecDeque;

use groupflow_base::StreamId;
use serde_json::{json, Value};

use super::config::{BranchKind, BranchSpec};
use super::frame::Fault;
use super::link::LinkState;
use super::live::Live;

/// The most members remembered by name.
const MEMBERS: usize = 4096;

/// A member that the stream has lost.
#[derive(Debug, Clone)]
struct Failed {
    fault: Fault,
    member: u32,
    name: String,
    acked: u64,
    text: String,
}

/// Counters, receipts and failures of one stream.
#[derive(Debug, Default)]
pub struct Tally {
    /// Bytes taken from upstream.
    pub bytes_in: u64,
    /// Bytes handed to all branches together.
    pub bytes_out: u64,
    receipts: Vec<(u32, u64)>,
    failed: Vec<Failed>,
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

    /// Whether the stream has lost this member.
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

pub fn stream(live: &Live) -> Value {
    let branches: Vec<Value> = live
        .links
        .iter()
        .map(|link| {
            json!({
                "kind": if link.is_agent() { "agent" } else { "member" },
                "name": link.spec.name,
                "member": link.member(),
                "address": link.spec.address.to_string(),
                "state": match link.state {
                    _ if live.core.complete(link.branch) => "complete",
                    LinkState::Open if live.core.is_isolated(link.branch) => "isolated",
                    state => state.word(),
                },
                "start": link.start,
                "sent": live.core.sent(link.branch),
                "acked": live.core.acked(link.branch),
                "lag": live.core.lag(link.branch),
            })
        })
        .collect();
    let Tally { bytes_in, bytes_out, receipts, failed } = &live.tally;
    let receipts: Vec<Value> =
        receipts.iter().map(|(member, bytes)| json!({"member": member, "bytes": bytes})).collect();
    let failed = failed.iter().map(|f| {
        let fault = f.fault.word();
        json!({"fault": fault, "member": f.member, "name": f.name, "acked": f.acked, "text": f.text})
    });
    json!({
        "bytes_in": bytes_in,
        "bytes_out": bytes_out,
        "receipts": receipts,
        "failed": failed.collect::<Vec<_>>(),
        "stream": live.id.to_string(),
        "peer": live.upstream.peer.to_string(),
        "from": if live.upstream.is_agent { "agent" } else { "sender" },
        "ended": live.core.ended(),
        "received": live.core.received(),
        "cache": live.core.cached(),
        "history": live.core.held() - live.core.cached(),
        "cache_peak": live.core.peak(),
        "starved": live.starved,
        "branches": branches,
    })
}

#[cfg(test)]
#[path = "tests/tally.rs"]
mod tests;
