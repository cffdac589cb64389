//! Connections from senders and from other agents: their streams begin, or are refused; connections of ended
//! streams are drained.

use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;

use groupflow_base::{gives_way, CodecError, Nanos, StreamId};
use groupflow_host::link::{Channel, ReadOutcome, TcpLink};
use groupflow_host::poller::Ready;
use groupflow_host::tcp::{self, Accepted};

use super::links::Links;
use super::{Agent, SplitPollKey};
use crate::machine::frame::{Fault, Preamble, SplitFrame, PREAMBLE};
use crate::machine::{Refusal, SessionSpec, Source};

/// Time within which a peer must send its preamble, and take last frames.
const PATIENCE: Nanos = Nanos::from_secs(5);
/// Bytes of the outbox of a connection upstream.
const OUTBOX: usize = 64 << 10;
/// Connections that may wait without a preamble.
const GREETINGS: usize = 256;

impl Agent {
    pub(super) fn accept_peers(&mut self) {
        let listener = Rc::clone(&self.peers);
        while let Some((socket, peer)) = self.accept(&listener, 0) {
            if self.greetings.len() >= GREETINGS {
                // Numbers tell the age.
                let silent = self.greetings.iter().map(|(&n, other)| (n, (*other.peer.ip()).into()));
                if let Some(other) = gives_way(silent).and_then(|n| self.greetings.remove(&n)) {
                    self.machine.refused(0, "greetings", "too many agents connect at once");
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
            Ok(Some(Ok(preamble))) => self.admit(greeting, &preamble),
            Ok(Some(Err(error))) => self.refuse_peer(greeting, 0, &format!("wrong preamble: {error}")),
            _ => greeting.link.close(&mut self.resources.poller),
        }
    }

    /// Opens the stream that another agent hands on.
    fn admit(&mut self, greeting: Greeting, preamble: &Preamble) {
        let admitted = self.machine.admits(*greeting.peer.ip(), preamble);
        let room = |spec| self.make_room().map(|()| spec).map_err(|refusal| refusal.text);
        match admitted.and_then(room) {
            Ok(spec) => {
                let id = preamble.stream;
                self.resources.poller.rename(greeting.link.registration, SplitPollKey::Upstream(id));
                let source = Source { peer: greeting.peer, is_agent: true };
                self.open(id, spec, source, greeting.link, preamble.offset);
            }
            Err(text) => self.refuse_peer(greeting, preamble.session, &text),
        }
    }

    pub(super) fn refuse_peer(&mut self, greeting: Greeting, session: u32, text: &str) {
        self.machine.refused_peer(session, &greeting.peer.to_string(), text);
        self.refuse_stream(greeting.link, Fault::Refused, text);
    }

    /// Tells another agent why its stream is refused.
    pub(super) fn refuse_stream(&mut self, mut link: TcpLink, fault: Fault, text: &str) {
        let out = link.out.bytes();
        out.clear();
        SplitFrame::Failure { fault, member: 0, offset: 0, text: text.to_owned() }.encode_into(out);
        self.drain_out(link);
    }

    /// Keeps a connection until its last frames have arrived.
    pub(super) fn drain_out(&mut self, link: TcpLink) {
        tcp::set_graceful(link.socket());
        let number = self.number();
        self.resources.poller.rename(link.registration, SplitPollKey::Drain(number));
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
    pub until: Nanos,
    bytes: [u8; PREAMBLE],
    filled: usize,
}

impl Greeting {
    /// A connection of which nothing was read yet.
    pub fn new(link: TcpLink, peer: SocketAddrV4, until: Nanos) -> Greeting {
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
    pub until: Nanos,
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
    /// Accepts a connection; `None`: no more are waiting.
    fn accept(&mut self, listener: &TcpListener, session: u32) -> Option<(TcpStream, SocketAddrV4)> {
        loop {
            match self.acceptor.accept(listener, self.resources.silence)? {
                Accepted::Peer(socket, peer) if tcp::reset_on_close(&socket).is_ok() => {
                    return Some((socket, peer));
                }
                Accepted::Peer(..) => {}
                Accepted::Refused => {
                    self.machine.refused(session, Fault::Refused.word(), tcp::EXHAUSTED);
                }
            }
        }
    }

    pub(super) fn accept_senders(&mut self, session: u32, port: u16) {
        let Some(listener) = self.ports.get(&session).and_then(|ports| ports.at(port)) else { return };
        let Some(spec) = self.machine.session(session) else { return };
        while let Some((socket, peer)) = self.accept(&listener, session) {
            if let Err(Refusal { code, text, .. }) = self.make_room() {
                self.machine.refused(session, code, &text);
                continue;
            }
            let id = StreamId(rand::random());
            let Ok(registration) = self.resources.poller.add(&socket, SplitPollKey::Upstream(id)) else {
                self.machine.refused(session, "descriptors", "the connection cannot be watched");
                continue;
            };
            let link = TcpLink::established(Channel::begun(socket, None), registration, OUTBOX);
            self.open(id, Arc::clone(&spec), Source { peer, is_agent: false }, link, 0);
        }
    }

    /// Whether the agent has room for another stream. A sender that has not sent a byte gives way to others.
    fn make_room(&mut self) -> Result<(), Refusal> {
        if let Some(id) = self.machine.giving_way() {
            self.abort(id, Fault::Refused, "it sent nothing, and another sender came");
        }
        self.machine.has_room(self.resources.pool.is_exhausted())
    }

    fn open(&mut self, id: StreamId, spec: Arc<SessionSpec>, source: Source, link: TcpLink, offset: u64) {
        let now = self.resources.now;
        let mut stream = self.machine.begin(now, id, spec, source, offset);
        let mut links = Links::new(link, offset);
        links.act(&mut stream, &mut self.resources);
        match self.machine.accept(now, stream) {
            Ok(()) => {
                self.links.insert(id, links);
                self.ready.insert(id);
            }
            Err(abort) => {
                let link = links.close(&mut self.resources, false);
                match source.is_agent {
                    true => self.refuse_stream(link, abort.fault, &abort.text),
                    false => link.close(&mut self.resources.poller),
                }
            }
        }
    }
}
