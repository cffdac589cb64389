//! A session at this agent: its open ports and its statistics, with the counters, receipts and failures of
//! its streams; and the state that the streams of all sessions share.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use groupflow_base::StreamId;
use groupflow_host::error::plain;
use groupflow_host::poller::{Poller, Registration};
use groupflow_host::tcp;
use serde_json::{json, Value};

use super::cache::BlockPool;
use super::config::{BranchKind, BranchSpec, SessionSpec};
use super::control::RequestError;
use super::frame::Fault;
use super::link::LinkState;
use super::live::Live;

/// Ended streams that statistics still show.
const REMEMBERED: usize = 16;

pub struct Session {
    pub spec: Arc<SessionSpec>,
    /// The settings as JSON, as they arrived.
    pub value: Value,
    pub opened: u64,
    pub refused: u64,
    /// The ports that senders connect to.
    ports: Vec<(SocketAddrV4, Rc<TcpListener>, Registration)>,
    bytes_in: u64,
    bytes_out: u64,
    cache_peak: u64,
    closed: VecDeque<Value>,
}

impl Session {
    pub fn open(
        resources: &mut Resources, spec: Arc<SessionSpec>, value: Value,
    ) -> Result<Session, RequestError> {
        let mut session = Session {
            spec: Arc::clone(&spec),
            value: Value::Null,
            opened: 0,
            refused: 0,
            ports: Vec::new(),
            bytes_in: 0,
            bytes_out: 0,
            cache_peak: 0,
            closed: VecDeque::new(),
        };
        session.update(resources, spec, value)?;
        Ok(session)
    }

    /// Applies new settings, which may move the ports. If that fails, everything stays as it was.
    pub fn update(
        &mut self, resources: &mut Resources, spec: Arc<SessionSpec>, value: Value,
    ) -> Result<(), RequestError> {
        let wanted: Vec<SocketAddrV4> =
            spec.ports.iter().map(|&port| SocketAddrV4::new(spec.address, port)).collect();
        if self.spec.listening() != spec.listening() {
            self.close(resources);
        }
        let mut fresh = Vec::new();
        for &address in &wanted {
            if self.ports.iter().any(|(at, ..)| *at == address) {
                continue;
            }
            let made = tcp::listen(address, &spec.listening()).and_then(|listener| {
                let registration =
                    resources.poller.add(&listener, SplitPollKey::Listener(spec.id, address.port()))?;
                Ok((address, Rc::new(listener), registration))
            });
            match made {
                Ok(made) => fresh.push(made),
                Err(error) => {
                    for (_, listener, registration) in fresh {
                        resources.poller.remove(&listener, registration);
                    }
                    let text = format!("cannot be listened on at {address}: {}", plain(&error));
                    return Err(RequestError::field("listen", "session.ports", text));
                }
            }
        }
        self.ports.append(&mut fresh);
        self.ports.retain(|(address, listener, registration)| {
            let stays = wanted.contains(address);
            if !stays {
                resources.poller.remove(listener, *registration);
            }
            stays
        });
        (self.spec, self.value) = (spec, value);
        Ok(())
    }

    pub fn at_port(&self, port: u16) -> Option<Rc<TcpListener>> {
        let found = self.ports.iter().find(|(address, ..)| address.port() == port);
        found.map(|(_, listener, _)| Rc::clone(listener))
    }

    pub fn close(&mut self, resources: &mut Resources) {
        for (_, listener, registration) in self.ports.drain(..) {
            resources.poller.remove(&listener, registration);
        }
    }

    pub fn closed(&mut self, live: &Live, told: Value) {
        self.bytes_in += live.tally.bytes_in;
        self.bytes_out += live.tally.bytes_out;
        self.cache_peak = self.cache_peak.max(live.core.peak());
        self.closed.push_back(told);
        if self.closed.len() > REMEMBERED {
            self.closed.pop_front();
        }
    }

    /// The session's statistics, with those of its streams.
    pub fn stats<'a>(&self, streams: impl Iterator<Item = &'a Live>) -> Value {
        let (mut bytes_in, mut bytes_out, mut peak) = (self.bytes_in, self.bytes_out, self.cache_peak);
        let (mut cache, mut told) = (0, Vec::new());
        for live in streams {
            bytes_in += live.tally.bytes_in;
            bytes_out += live.tally.bytes_out;
            peak = peak.max(live.core.peak());
            cache += live.core.cached();
            told.push(stream_stats(live));
        }
        json!({
            "id": self.spec.id,
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
            "cache": cache,
            "cache_peak": peak,
            "opened": self.opened,
            "refused": self.refused,
            "streams": told,
            "closed": self.closed,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SplitPollKey {
    Signals,
    Control,
    /// A client's connection to the control socket.
    Client(u64),
    Peers,
    /// A connection from another agent that has sent no preamble yet.
    Greeting(u64),
    Listener(u32, u16),
    Upstream(StreamId),
    /// A downstream connection of a stream, with the branch's key.
    Branch(StreamId, u32),
    /// A connection of an ended stream, whose last frames are still to arrive.
    Drain(u64),
}

/// The agent's options that streams need.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// This agent's address, from which downstream connections come.
    pub address: Ipv4Addr,
    /// How long a peer may leave bytes unacknowledged.
    pub silence: Duration,
    /// How long connecting to the next agent is tried when a stream begins.
    pub connect: Duration,
}

/// The state that all streams of an agent share.
pub struct Resources {
    pub poller: Poller<SplitPollKey>,
    pub pool: BlockPool,
    pub limits: Limits,
    /// A buffer for bytes that are handed on at once.
    pub scratch: Box<[u8]>,
    pub now: Instant,
    /// Events that are not given out yet.
    pub events: Vec<Value>,
}

impl Resources {
    pub fn event(&mut self, name: &str, session: u32, stream: Option<StreamId>, fields: Value) {
        let mut event = json!({"event": name, "session": session});
        if let Some(stream) = stream {
            event["stream"] = stream.to_string().into();
        }
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        self.events.push(event);
    }
}

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

pub fn stream_stats(live: &Live) -> Value {
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
