//! A split agent: its sessions, and the streams that it admits, opens and ends.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use groupflow_base::{gives_way, Nanos, StreamId};
use serde_json::{json, Value};

use super::frame::{Fault, Preamble, SplitFrame};
use super::session::{stream_stats, Session};
use super::spec::SessionSpec;
use super::stream::{event, Abort, Source, Stream};
use super::tally::LostMembers;

/// The most sessions of one agent.
const SESSIONS: usize = 65_536;

/// The reason why a request or a stream is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: &'static str,
    /// The field that is wrong, if the reason is a field.
    pub field: Option<String>,
    pub text: String,
}

impl Refusal {
    /// A refusal that names no field.
    pub fn new(code: &'static str, text: impl Into<String>) -> Refusal {
        Refusal { code, field: None, text: text.into() }
    }

    pub fn field(code: &'static str, field: &str, text: impl Into<String>) -> Refusal {
        Refusal { code, field: Some(field.to_owned()), text: format!("{field} {}", text.into()) }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct MachineConfig {
    /// How long connecting to the next agent is tried when a stream begins.
    pub connect: Nanos,
    pub max_streams: usize,
    /// Bytes of memory for the caches of all streams.
    pub max_cache: u64,
}

#[derive(Debug)]
pub struct SplitMachine {
    config: MachineConfig,
    sessions: BTreeMap<u32, Session>,
    streams: BTreeMap<StreamId, Stream>,
    lost: LostMembers,
    events: Vec<Value>,
}

impl SplitMachine {
    pub fn new(config: MachineConfig) -> SplitMachine {
        SplitMachine {
            config,
            sessions: BTreeMap::new(),
            streams: BTreeMap::new(),
            lost: LostMembers::default(),
            events: Vec::new(),
        }
    }

    pub fn check_session(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        let limit = self.config.max_cache;
        if spec.cache_bytes > limit {
            let text = format!("must be at most {limit}, the agent's --max-cache");
            return Err(Refusal::field("too_much", "session.cache_bytes", text));
        }
        if !self.sessions.contains_key(&spec.id) && self.sessions.len() >= SESSIONS {
            return Err(Refusal::new("too_many", format!("an agent has at most {SESSIONS} sessions")));
        }
        let has_port = |other: &&Session| {
            other.spec.id != spec.id
                && other.spec.address == spec.address
                && other.spec.ports.iter().any(|port| spec.ports.contains(port))
        };
        match self.sessions.values().find(has_port) {
            Some(other) => {
                let text = format!("are those of session {}", other.spec.id);
                Err(Refusal::field("in_use", "session.ports", text))
            }
            None => Ok(()),
        }
    }

    /// Sets a session that [`SplitMachine::check_session`] allows, also for the streams that it has. Returns
    /// these streams.
    pub fn set_session(&mut self, now: Nanos, spec: SessionSpec, value: Value) -> Vec<StreamId> {
        let (id, spec) = (spec.id, Arc::new(spec));
        match self.sessions.get_mut(&id) {
            Some(session) => (session.spec, session.value) = (Arc::clone(&spec), value),
            None => drop(self.sessions.insert(id, Session::new(Arc::clone(&spec), value))),
        }
        let streams = self.streams.values_mut().filter(|stream| stream.spec.id == id);
        streams.map(|stream| (stream.update(now, Arc::clone(&spec)), stream.id).1).collect()
    }

    /// Removes a session and aborts its streams, which are returned.
    pub fn remove_session(&mut self, id: u32) -> Result<Vec<StreamId>, Refusal> {
        if self.sessions.remove(&id).is_none() {
            return Err(Refusal::field("unknown", "request.session", format!("{id} is not here")));
        }
        let streams = self.streams.values_mut().filter(|stream| stream.spec.id == id);
        let aborted = streams.map(|stream| {
            stream.abort(Fault::Reset, "the session was removed");
            stream.id
        });
        Ok(aborted.collect())
    }

    pub fn session(&self, id: u32) -> Option<Arc<SessionSpec>> {
        self.sessions.get(&id).map(|session| Arc::clone(&session.spec))
    }

    pub fn stream(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.get_mut(&id)
    }

    pub fn streams(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.streams.values_mut()
    }

    /// The silent sender that gives way when the agent has as many streams as it may have.
    pub fn giving_way(&self) -> Option<StreamId> {
        if self.streams.len() < self.config.max_streams {
            return None;
        }
        let is_silent = |stream: &&Stream| !stream.source.is_agent && stream.tally.bytes_in == 0;
        let mut silent: Vec<_> = self.streams.values().filter(is_silent).collect();
        silent.sort_by_key(|stream| stream.began);
        gives_way(silent.iter().map(|stream| (stream.id, (*stream.source.peer.ip()).into())))
    }

    /// Whether the agent has room for another stream; `exhausted`: no memory is left for its cache.
    pub fn has_room(&self, exhausted: bool) -> Result<(), Refusal> {
        if self.streams.len() >= self.config.max_streams {
            let text = "the agent has as many streams as it may have (--max-streams)";
            Err(Refusal::new("streams", text))
        } else if exhausted {
            Err(Refusal::new("cache", "the agent has no cache memory left (--max-cache)"))
        } else {
            Ok(())
        }
    }

    /// The session of a stream that an agent at this address hands on, if it may.
    pub fn admits(&self, from: Ipv4Addr, preamble: &Preamble) -> Result<Arc<SessionSpec>, String> {
        let Some(Session { spec, .. }) = self.sessions.get(&preamble.session) else {
            return Err(format!("session {} is unknown here", preamble.session));
        };
        if !spec.takes_from(from) {
            return Err(format!("{from} is no neighbour in session {}", preamble.session));
        }
        if spec.mode != preamble.mode {
            return Err(format!("session {} has another mode here", preamble.session));
        }
        match self.streams.get(&preamble.stream) {
            Some(stream) if stream.spec.id != preamble.session => {
                Err("the stream is another session's".to_owned())
            }
            Some(_) => Err(format!("stream {} is here already", preamble.stream)),
            None => Ok(Arc::clone(spec)),
        }
    }

    /// Begins a stream of a session, from `offset` on. Its actions are carried out before the machine
    /// [accepts](SplitMachine::accept) it.
    pub fn begin(
        &mut self, now: Nanos, id: StreamId, spec: Arc<SessionSpec>, source: Source, offset: u64,
    ) -> Stream {
        // An agent upstream asks again when its session changes, because there may be new members.
        Stream::open(now, id, spec, source, offset, self.lost.tally(id), self.config.connect)
    }

    /// Accepts a stream whose branches are being connected, unless it has been aborted already.
    pub fn accept(&mut self, now: Nanos, mut stream: Stream) -> Result<(), Abort> {
        let session = stream.spec.id;
        self.events.append(&mut stream.events);
        if let Some(Err(abort)) = stream.outcome(now) {
            self.refused(session, abort.fault.word(), &abort.text);
            return Err(abort);
        }
        let offset = stream.core.received;
        stream.tell_source(&SplitFrame::Welcome { offset });
        let peer = stream.source.peer.to_string();
        stream.event("stream_opened", json!({"peer": peer, "from": stream.source.word(), "offset": offset}));
        if let Some(session) = self.sessions.get_mut(&session) {
            session.opened += 1;
        }
        self.streams.insert(stream.id, stream);
        Ok(())
    }

    /// Removes a stream that has ended, and reports its outcome. The last frames are in the bytes that go
    /// back.
    pub fn close(&mut self, id: StreamId, outcome: &Result<(), Abort>) -> Option<Stream> {
        let mut stream = self.streams.remove(&id)?;
        let mut stats = stream_stats(&stream);
        match outcome {
            Ok(()) => stats["outcome"] = "complete".into(),
            Err(Abort { fault, text }) => {
                stats["outcome"] = "aborted".into();
                stats["fault"] = fault.word().into();
                stats["text"] = text.clone().into();
                if stream.source.is_agent && *fault == Fault::NoMembers {
                    self.lost.remember(id, &stream.tally);
                }
                let (offset, text) = (stream.core.floor, text.clone());
                stream.tell_source(&SplitFrame::Failure { fault: *fault, member: 0, offset, text });
            }
        }
        stream.event("stream_closed", stats.clone());
        self.events.append(&mut stream.events);
        if let Some(session) = self.sessions.get_mut(&stream.spec.id) {
            session.closed(&stream, stats);
        }
        Some(stream)
    }

    pub fn refused(&mut self, session: u32, code: &str, text: &str) {
        self.events.push(event("refused", session, None, json!({"code": code, "text": text})));
        if let Some(session) = self.sessions.get_mut(&session) {
            session.refused += 1;
        }
    }

    pub fn refused_peer(&mut self, session: u32, peer: &str, text: &str) {
        let fields = json!({"code": "peer", "peer": peer, "text": text});
        self.events.push(event("refused", session, None, fields));
    }

    pub fn events(&mut self) -> Vec<Value> {
        let of_streams = self.streams.values_mut().flat_map(|stream| stream.events.drain(..));
        self.events.extend(of_streams);
        std::mem::take(&mut self.events)
    }

    pub fn list(&self) -> Value {
        json!({"sessions": self.sessions.values().map(|session| &session.value).collect::<Vec<_>>()})
    }

    /// The statistics of the agent; `used`: bytes of memory that the caches have.
    pub fn stats(&self, used: u64) -> Value {
        let stats = |(&id, session): (&u32, &Session)| {
            session.stats(self.streams.values().filter(move |stream| stream.spec.id == id))
        };
        json!({
            "sessions": self.sessions.iter().map(stats).collect::<Vec<_>>(),
            "streams": self.streams.len(),
            "max_streams": self.config.max_streams,
            "cache_used": used,
            "cache_limit": self.config.max_cache,
        })
    }
}
