//! The statistics of a stream: counters, receipts, failures.

use serde_json::{json, Value};

use super::config::{BranchKind, BranchSpec};
use super::frame::{Fault, SplitDecoder, SplitFrame};
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
    /// The tally of a stream that comes again after its end here, from its last frames `words`. A lost
    /// member stays lost.
    pub fn again(words: &[u8]) -> Tally {
        let (mut tally, mut decoder) = (Tally::default(), SplitDecoder::default());
        decoder.push(words);
        while let Ok(Some(frame)) = decoder.next_frame() {
            match frame {
                SplitFrame::Failure { fault, member, offset, text } if member != 0 => {
                    tally.failed(fault, member, "", offset, &text);
                }
                _ => {}
            }
        }
        tally
    }

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

    /// The same facts as frames, for an upstream agent that has forgotten them.
    pub fn frames(&self) -> impl Iterator<Item = SplitFrame> + '_ {
        let receipts = self.receipts.iter().map(|&(member, bytes)| SplitFrame::Receipt { member, bytes });
        let failed = self.failed.iter().map(|Failed { fault, member, acked, text, .. }| {
            SplitFrame::Failure { fault: *fault, member: *member, offset: *acked, text: text.clone() }
        });
        receipts.chain(failed)
    }

    /// Whether the stream has lost this member.
    pub fn is_failed(&self, branch: &BranchSpec) -> bool {
        self.failed.iter().any(|failed| branch.kind == BranchKind::Member(failed.member))
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
