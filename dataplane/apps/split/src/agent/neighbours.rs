//! Connections from other agents: streams begin over them, and connections of ended streams are drained.

use std::collections::BTreeMap;
use std::net::{IpAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;

use groupflow_base::gives_way;
use groupflow_host::outbox::Outbox;
use groupflow_host::poller::Registration;
use groupflow_host::tcp;
use serde_json::json;

use super::{Agent, PATIENCE};
use crate::frame::{Fault, SplitFrame};
use crate::peers::{Drain, Greeting};
use crate::preamble::Preamble;
use crate::resources::SplitPollKey;
use crate::upstream::Upstream;

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
                    self.resources.poller.remove(&other.socket, other.registration);
                }
            }
            let number = self.number();
            if let Ok(registration) = self.resources.poller.add(&socket, SplitPollKey::Greeting(number)) {
                let until = self.resources.now + PATIENCE;
                self.greetings.insert(number, Greeting::new(socket, registration, peer, until));
            }
        }
    }

    /// Handles the preamble of another agent's connection.
    pub(super) fn greet(&mut self, number: u64) {
        let Some(greeting) = self.greetings.get_mut(&number) else { return };
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
            _ => self.resources.poller.remove(&greeting.socket, greeting.registration),
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
        let Greeting { socket, registration, peer, .. } = greeting;
        let id = preamble.stream;
        self.resources.poller.rename(registration, SplitPollKey::Upstream(id));
        let upstream = Upstream::new(socket, registration, peer, true);
        let Some(spec) = self.sessions.get(&preamble.session).map(|session| Arc::clone(&session.spec)) else {
            return;
        };
        self.open(id, spec, upstream, preamble.offset);
    }

    pub(super) fn refuse_peer(&mut self, greeting: Greeting, session: u32, text: &str) {
        let fields = json!({"code": "peer", "peer": greeting.peer.to_string(), "text": text});
        self.resources.event("refused", session, None, fields);
        self.say_no((greeting.socket, greeting.registration), Fault::Refused, text);
    }

    /// Tells another agent why its stream is refused.
    pub(super) fn say_no(&mut self, connection: (TcpStream, Registration), fault: Fault, text: &str) {
        let mut out = Outbox::new(0);
        SplitFrame::Failure { fault, member: 0, offset: 0, text: text.to_owned() }.encode(out.bytes());
        self.see_off(connection, out);
    }

    /// Keeps a connection until its last frames have arrived.
    pub(super) fn see_off(&mut self, (socket, registration): (TcpStream, Registration), out: Outbox) {
        tcp::set_graceful(&socket);
        let number = self.number();
        self.resources.poller.rename(registration, SplitPollKey::Drain(number));
        self.drains.insert(number, Drain::new(socket, registration, out, self.resources.now + PATIENCE));
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
            self.resources.poller.remove(&drain.socket, drain.registration);
        }
    }
}
