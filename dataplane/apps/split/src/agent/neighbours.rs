//! Connections from senders and from other agents: their streams begin, or are refused; connections of ended
//! streams are drained.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use groupflow_base::{gives_way, CodecError, StreamId};
use groupflow_host::link::{Channel, ReadOutcome, TcpLink};
use groupflow_host::poller::Ready;
use groupflow_host::tcp;
use serde_json::json;

use super::{Agent, PATIENCE};
use crate::config::SessionSpec;
use crate::frame::{Fault, Preamble, SplitFrame, PREAMBLE};
use crate::link::{Upstream, OUTBOX};
use crate::live::{Abort, Live, Turn};
use crate::session::SplitPollKey;

/// Connections that may wait without a preamble.
const GREETINGS: usize = 256;

impl Agent {
    pub(super) fn accept_peers(&mut self) {
        let listener = Rc::clone(&self.peers);
        while let Some((socket, peer)) = self.accept(&listener, 0) {
            if self.greetings.len() >= GREETINGS {
                let silent =
                    self.greetings.iter().map(|(&number, other)| (number, (*other.peer.ip()).into()));
                // Numbers tell the age.
                let silent: BTreeMap<u64, IpAddr> = silent.collect();
                if let Some(other) = gives_way(silent.into_iter()).and_then(|n| self.greetings.remove(&n)) {
                    self.refused(0, "greetings", "too many agents connect at once");
                    other.link.close(&mut self.resources.poller);
                }
            }
            let number = self.number();
            if let Ok(registration) = self.resources.poller.add(&socket, SplitPollKey::Greeting(number)) {
                let until = self.resources.now + PATIENCE;
                let link = TcpLink::established(Channel::begun(socket, None), registration, OUTBOX);
                self.greetings.insert(number, Greeting::new(link, peer, until));
            }
        }
    }

    /// Handles the preamble of another agent's connection.
    pub(super) fn greet(&mut self, number: u64, ready: Ready) {
        let Some(greeting) = self.greetings.get_mut(&number) else { return };
        greeting.link.on_ready(ready);
        let read = greeting.read();
        let Some(greeting) = (match read {
            Ok(None) => return,
            _ => self.greetings.remove(&number),
        }) else {
            return;
        };
        match read {
            Ok(Some(Ok(preamble))) => match self.admit(&greeting, &preamble) {
                Ok(()) => self.take_over(greeting, &preamble),
                Err(text) => self.refuse_peer(greeting, preamble.session, &text),
            },
            Ok(Some(Err(error))) => self.refuse_peer(greeting, 0, &format!("wrong preamble: {error}")),
            _ => greeting.link.close(&mut self.resources.poller),
        }
    }

    fn admit(&mut self, greeting: &Greeting, preamble: &Preamble) -> Result<(), String> {
        let Some(session) = self.sessions.get(&preamble.session) else {
            return Err(format!("session {} is unknown here", preamble.session));
        };
        if !session.spec.takes_from(*greeting.peer.ip()) {
            return Err(format!("{} is no neighbour in session {}", greeting.peer.ip(), preamble.session));
        }
        if session.spec.mode != preamble.mode {
            return Err(format!("session {} has another mode here", preamble.session));
        }
        match self.streams.get(&preamble.stream) {
            Some(live) if live.spec.id != preamble.session => {
                Err("the stream is another session's".to_owned())
            }
            Some(_) => Err(format!("stream {} is here already", preamble.stream)),
            None => self.make_room().map_err(|(_, text)| text.to_owned()),
        }
    }

    fn take_over(&mut self, greeting: Greeting, preamble: &Preamble) {
        let id = preamble.stream;
        greeting.link.rename(&mut self.resources.poller, SplitPollKey::Upstream(id));
        let upstream = Upstream::new(greeting.link, greeting.peer, true);
        let Some(spec) = self.sessions.get(&preamble.session).map(|session| Arc::clone(&session.spec)) else {
            return;
        };
        self.open(id, spec, upstream, preamble.offset);
    }

    pub(super) fn refuse_peer(&mut self, greeting: Greeting, session: u32, text: &str) {
        let fields = json!({"code": "peer", "peer": greeting.peer.to_string(), "text": text});
        self.resources.event("refused", session, None, fields);
        self.refuse_stream(greeting.link, Fault::Refused, text);
    }

    /// Tells another agent why its stream is refused.
    pub(super) fn refuse_stream(&mut self, mut link: TcpLink, fault: Fault, text: &str) {
        let out = link.out.bytes();
        out.clear();
        SplitFrame::Failure { fault, member: 0, offset: 0, text: text.to_owned() }.encode(out);
        self.drain_out(link);
    }

    /// Keeps a connection until its last frames have arrived.
    pub(super) fn drain_out(&mut self, link: TcpLink) {
        tcp::set_graceful(link.socket());
        let number = self.number();
        link.rename(&mut self.resources.poller, SplitPollKey::Drain(number));
        self.drains.insert(number, Drain { link, until: self.resources.now + PATIENCE });
        self.drain(number);
    }

    pub(super) fn drain(&mut self, number: u64) {
        let scratch = &mut self.resources.scratch;
        if self.drains.get_mut(&number).is_some_and(|drain| drain.turn(scratch)) {
            self.close_drain(number);
        }
    }

    pub(super) fn close_drain(&mut self, number: u64) {
        if let Some(drain) = self.drains.remove(&number) {
            drain.link.close(&mut self.resources.poller);
        }
    }
}

/// A connection from another agent that has sent no complete preamble yet.
pub struct Greeting {
    pub link: TcpLink,
    pub peer: SocketAddrV4,
    /// When the wait for the preamble ends.
    pub until: Instant,
    bytes: [u8; PREAMBLE],
    filled: usize,
}

impl Greeting {
    /// A connection of which nothing was read yet.
    pub fn new(link: TcpLink, peer: SocketAddrV4, until: Instant) -> Greeting {
        Greeting { link, peer, until, bytes: [0; PREAMBLE], filled: 0 }
    }

    /// Reads no further than the preamble. `Ok(None)`: the preamble is not complete.
    pub fn read(&mut self) -> io::Result<Option<Result<Preamble, CodecError>>> {
        while self.filled < PREAMBLE {
            match self.link.read(&mut self.bytes[self.filled..])? {
                ReadOutcome::Bytes(count) => self.filled += count,
                ReadOutcome::Nothing => return Ok(None),
                ReadOutcome::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(Some(Preamble::parse(&self.bytes)))
    }
}

/// A connection of a stream that has ended here. Its last frames must still arrive, and a reset would
/// overtake them. Incoming bytes are discarded until the peer has ended its side, too.
pub struct Drain {
    pub link: TcpLink,
    /// When the wait for the peer's end is given up.
    pub until: Instant,
}

impl Drain {
    /// Sends and discards bytes; true: both sides have ended, or the connection is lost.
    pub fn turn(&mut self, scratch: &mut [u8]) -> bool {
        if self.link.flush(true).is_err() {
            return true;
        }
        while self.link.ended && self.link.readable {
            if matches!(self.link.read(scratch), Ok(ReadOutcome::End) | Err(_)) {
                return true;
            }
        }
        false
    }
}

impl Agent {
    /// Accepts a connection; `None`: no more are waiting. A connection for which there is no descriptor is
    /// refused.
    pub(super) fn accept(
        &mut self, listener: &TcpListener, session: u32,
    ) -> Option<(TcpStream, SocketAddrV4)> {
        loop {
            match listener.accept() {
                Ok((socket, SocketAddr::V4(peer))) => {
                    let prepared = tcp::prepare(&socket, self.resources.limits.silence);
                    if prepared.and_then(|()| tcp::reset_on_close(&socket)).is_ok() {
                        return Some((socket, peer));
                    }
                }
                Ok(_) => continue,
                Err(error) if tcp::is_exhausted(&error) => {
                    // The spare descriptor takes the connection, so that it can be reset.
                    self.spare.take()?;
                    let refused = listener.accept();
                    if let Ok((socket, _)) = &refused {
                        let _ = tcp::reset_on_close(socket);
                        self.refused(session, Fault::Refused.word(), tcp::EXHAUSTED);
                    }
                    let none = refused.is_err();
                    drop(refused);
                    self.spare = File::open("/dev/null").ok();
                    if none {
                        return None;
                    }
                }
                // A connection that the client gave up while it waited is not worth an event.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            }
        }
    }

    pub(super) fn refused(&mut self, session: u32, code: &str, text: &str) {
        self.resources.event("refused", session, None, json!({"code": code, "text": text}));
        if let Some(session) = self.sessions.get_mut(&session) {
            session.refused += 1;
        }
    }

    pub(super) fn accept_senders(&mut self, session: u32, port: u16) {
        let Some(found) = self.sessions.get(&session) else { return };
        let Some(listener) = found.at_port(port) else { return };
        let spec = Arc::clone(&found.spec);
        while let Some((socket, peer)) = self.accept(&listener, session) {
            if let Err((code, text)) = self.make_room() {
                self.refused(session, code, text);
                continue;
            }
            let id = StreamId(rand::random());
            let Ok(registration) = self.resources.poller.add(&socket, SplitPollKey::Upstream(id)) else {
                self.refused(session, "descriptors", "the connection cannot be watched");
                continue;
            };
            let link = TcpLink::established(Channel::begun(socket, None), registration, OUTBOX);
            self.open(id, Arc::clone(&spec), Upstream::new(link, peer, false), 0);
        }
    }

    /// Whether the agent has room for another stream. A sender that has not sent a byte gives way to others.
    pub(super) fn make_room(&mut self) -> Result<(), (&'static str, &'static str)> {
        if self.streams.len() >= self.max_streams {
            let mut silent: Vec<_> = self.streams.values().filter(|live| live.is_silent()).collect();
            silent.sort_by_key(|live| live.began);
            let oldest = gives_way(silent.iter().map(|live| (live.id, (*live.upstream.peer.ip()).into())));
            if let Some(id) = oldest {
                let text = "it sent nothing, and another sender came";
                self.end(id, Turn::Aborted(Abort::new(Fault::Refused, text)));
            }
        }
        if self.streams.len() >= self.max_streams {
            Err(("streams", "the agent has as many streams as it may have (--max-streams)"))
        } else if self.resources.pool.is_exhausted() {
            Err(("cache", "the agent has no cache memory left (--max-cache)"))
        } else {
            Ok(())
        }
    }

    pub(super) fn open(&mut self, id: StreamId, spec: Arc<SessionSpec>, upstream: Upstream, offset: u64) {
        let (session, peer, is_agent) = (spec.id, upstream.peer, upstream.is_agent);
        let fields = json!({
            "peer": peer.to_string(),
            "from": if is_agent { "agent" } else { "sender" },
            "offset": offset,
        });
        // An agent upstream asks again when its session changes, because there may be new members.
        let known = self.lost.tally(id);
        match Live::open(&mut self.resources, id, spec, upstream, offset, known) {
            Ok(mut live) => {
                live.upstream.say(&SplitFrame::Welcome { offset });
                self.resources.event("stream_opened", session, Some(id), fields);
                self.streams.insert(id, live);
                self.ready.insert(id);
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.opened += 1;
                }
            }
            Err((upstream, abort)) => {
                self.refused(session, abort.fault.word(), &abort.text);
                match is_agent {
                    true => self.refuse_stream(upstream.link, abort.fault, &abort.text),
                    false => upstream.link.close(&mut self.resources.poller),
                }
            }
        }
    }
}
