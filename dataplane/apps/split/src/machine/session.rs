//! A session at this agent: its settings and its statistics, with those of its streams.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{json, Value};

use super::branches::{Branch, BranchState};
use super::spec::SessionSpec;
use super::stream::Stream;
use super::tally::Tally;

/// Ended streams that statistics still show.
const REMEMBERED: usize = 16;

#[derive(Debug)]
pub(super) struct Session {
    pub spec: Arc<SessionSpec>,
    /// The settings as JSON, as they arrived.
    pub value: Value,
    pub opened: u64,
    pub refused: u64,
    bytes_in: u64,
    bytes_out: u64,
    cache_peak: u64,
    closed: VecDeque<Value>,
}

impl Session {
    pub fn new(spec: Arc<SessionSpec>, value: Value) -> Session {
        Session {
            spec,
            value,
            opened: 0,
            refused: 0,
            bytes_in: 0,
            bytes_out: 0,
            cache_peak: 0,
            closed: VecDeque::new(),
        }
    }

    /// Notes that a stream has ended, with its last statistics.
    pub fn closed(&mut self, stream: &Stream, stats: Value) {
        self.bytes_in += stream.tally.bytes_in;
        self.bytes_out += stream.tally.bytes_out;
        self.cache_peak = self.cache_peak.max(stream.core.peak);
        self.closed.push_back(stats);
        if self.closed.len() > REMEMBERED {
            self.closed.pop_front();
        }
    }

    /// The session's statistics, with those of its streams.
    pub fn stats<'a>(&self, streams: impl Iterator<Item = &'a Stream>) -> Value {
        let (mut bytes_in, mut bytes_out, mut peak) = (self.bytes_in, self.bytes_out, self.cache_peak);
        let (mut cache, mut stats) = (0, Vec::new());
        for stream in streams {
            bytes_in += stream.tally.bytes_in;
            bytes_out += stream.tally.bytes_out;
            peak = peak.max(stream.core.peak);
            cache += stream.core.cached();
            stats.push(stream_stats(stream));
        }
        json!({
            "id": self.spec.id,
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
            "cache": cache,
            "cache_peak": peak,
            "opened": self.opened,
            "refused": self.refused,
            "streams": stats,
            "closed": self.closed,
        })
    }
}

fn branch_stats(stream: &Stream, branch: &Branch) -> Value {
    json!({
        "kind": if branch.spec.is_agent() { "agent" } else { "member" },
        "name": branch.spec.name,
        "member": branch.spec.member(),
        "address": branch.spec.address.to_string(),
        "state": match branch.state {
            _ if stream.core.complete(branch.id) => "complete",
            BranchState::Open if stream.core.is_isolated(branch.id) => "isolated",
            BranchState::Open => "open",
            BranchState::Connecting => "connecting",
            BranchState::Waiting(_) => "waiting",
        },
        "start": branch.start,
        "sent": stream.core.sent(branch.id),
        "acked": stream.core.acked(branch.id),
        "lag": stream.core.lag(branch.id),
    })
}

pub(super) fn stream_stats(stream: &Stream) -> Value {
    let branches = stream.branches.iter().map(|branch| branch_stats(stream, branch));
    let Tally { bytes_in, bytes_out, receipts, failed } = &stream.tally;
    let receipts = receipts.iter().map(|(member, bytes)| json!({"member": member, "bytes": bytes}));
    let failed = failed.iter().map(
        |f| json!({"fault": f.fault, "member": f.member, "name": f.name, "acked": f.acked, "text": f.text}),
    );
    json!({
        "bytes_in": bytes_in,
        "bytes_out": bytes_out,
        "receipts": receipts.collect::<Vec<_>>(),
        "failed": failed.collect::<Vec<_>>(),
        "stream": stream.id.to_string(),
        "peer": stream.source.peer.to_string(),
        "from": stream.source.word(),
        "ended": stream.core.ended,
        "received": stream.core.received,
        "cache": stream.core.cached(),
        "history": stream.core.held() - stream.core.cached(),
        "cache_peak": stream.core.peak,
        "starved": stream.starved,
        "branches": branches.collect::<Vec<_>>(),
    })
}
