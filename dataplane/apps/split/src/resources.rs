//! The state that all streams of an agent share.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use groupflow_base::StreamId;
use groupflow_host::poller::Poller;
use serde_json::{json, Value};

use super::cache::BlockPool;

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
