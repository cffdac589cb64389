//! What all streams of an agent share.

use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use groupflow_host::poller::Poller;
use serde_json::{json, Value};

use super::cache::Pool;
use super::keep::Keeper;
use super::preamble::StreamId;

/// What a descriptor of the agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// Signals.
    Signals,
    /// The listener of the control socket.
    Control,
    /// A connection to it.
    Client(u64),
    /// The listener for other agents.
    Peers,
    /// A connection from another agent that has not said which stream it carries.
    Greeting(u64),
    /// The listener of a session's port.
    Listener(u32, u16),
    /// Where a stream comes from.
    Upstream(StreamId),
    /// Where it goes: the branch's key.
    Branch(StreamId, u32),
    /// A connection of a stream that is over, whose last words are to arrive.
    Drain(u64),
}

/// The agent's options that streams need.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Own address: connections onward come from it.
    pub address: Ipv4Addr,
    /// How long a peer may be silent while bytes wait for its acknowledgement.
    pub silence: Duration,
    /// How long the next agent is tried when a stream begins.
    pub connect: Duration,
    /// How long a lost agent is waited for in a session that resumes.
    pub resume: Duration,
}

/// A connection onward that was kept while the agent was started again.
pub struct Orphan {
    /// Its number at the keeper.
    pub key: u64,
    /// Its stream.
    pub stream: StreamId,
    /// Where it goes.
    pub address: SocketAddrV4,
    /// The stream's byte that it began with.
    pub start: u64,
    /// The connection.
    pub socket: TcpStream,
}

impl Orphan {
    /// From what the keeper gives back.
    pub fn parse((key, note, fd): super::keep::Kept) -> Option<Orphan> {
        let stream = StreamId(u64::from_str_radix(note["stream"].as_str()?, 16).ok()?);
        let address = note["address"].as_str()?.parse().ok()?;
        Some(Orphan { key, stream, address, start: note["start"].as_u64()?, socket: fd.into() })
    }
}

/// What all streams share.
pub struct World {
    /// Descriptors.
    pub poller: Poller<Target>,
    /// Cache memory.
    pub pool: Pool,
    /// Options.
    pub limits: Limits,
    /// Who keeps connections while the agent is started again.
    pub keeper: Option<Keeper>,
    /// For reads whose bytes go on at once.
    pub scratch: Box<[u8]>,
    /// The time of this round.
    pub now: Instant,
    /// What happened since events were last given out.
    pub events: Vec<Value>,
}

impl World {
    /// The keeper is to let go of a connection.
    pub fn drop_kept(&mut self, key: u64) {
        if self.keeper.as_ref().is_some_and(|keeper| keeper.drop_kept(key).is_err()) {
            self.keeper = None;
        }
    }

    /// Notes an event.
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
