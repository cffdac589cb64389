//! Requests on the control socket: sessions are set, removed and listed.

use std::sync::Arc;

use groupflow_base::StreamId;
use groupflow_host::error::plain;
use groupflow_host::tcp;
use serde_json::{json, Value};

use super::Agent;
use crate::config::SessionSpec;
use crate::control::{self, ControlClient, Operation, RequestError};
use crate::frame::Fault;
use crate::live::{Abort, Turn};
use crate::session::{Session, SplitPollKey};

/// The most clients of the control socket.
const CLIENTS: usize = 64;
/// The most sessions of one agent.
const SESSIONS: usize = 65_536;

impl Agent {
    pub(super) fn accept_clients(&mut self) {
        while let Ok(connection) = self.control.accept() {
            if self.clients.len() >= CLIENTS {
                continue;
            }
            let number = self.number();
            if let Ok(registration) = self.resources.poller.add(&connection, SplitPollKey::Client(number)) {
                self.clients.insert(number, ControlClient::new(connection, registration));
            }
        }
    }

    pub(super) fn serve(&mut self, number: u64) {
        let Some(client) = self.clients.get_mut(&number) else { return };
        let lines = client.lines(&mut self.resources.scratch);
        for line in lines {
            let (id, op) = control::parse(&line);
            let watch = op == Ok(Operation::Watch);
            let result = op.and_then(|op| self.perform(op));
            if let Some(client) = self.clients.get_mut(&number) {
                client.watching |= watch;
                client.tell(&control::answer(&id, result));
            }
        }
    }

    fn perform(&mut self, op: Operation) -> Result<Value, RequestError> {
        match op {
            Operation::SetSession(value) => self.set_session(value),
            Operation::RemoveSession(id) => self.remove_session(id),
            Operation::List => {
                Ok(json!({"sessions": self.sessions.values().map(|s| &s.value).collect::<Vec<_>>()}))
            }
            Operation::Stats => Ok(self.stats()),
            Operation::Watch => Ok(json!({})),
        }
    }

    fn set_session(&mut self, value: Value) -> Result<Value, RequestError> {
        let spec = SessionSpec::parse(&value)?;
        let limit = self.resources.pool.limit();
        if spec.cache_bytes > limit {
            let text = format!("must be at most {limit}, the agent's --max-cache");
            return Err(RequestError::field("too_much", "session.cache_bytes", text));
        }
        if !self.sessions.contains_key(&spec.id) && self.sessions.len() >= SESSIONS {
            return Err(RequestError::new("too_many", format!("an agent has at most {SESSIONS} sessions")));
        }
        let taken = |s: &&Session| {
            s.spec.id != spec.id
                && s.spec.address == spec.address
                && s.spec.ports.iter().any(|p| spec.ports.contains(p))
        };
        if let Some(other) = self.sessions.values().find(taken) {
            let text = format!("are those of session {}", other.spec.id);
            return Err(RequestError::field("in_use", "session.ports", text));
        }
        if let Err(error) = tcp::check(&spec.listening()) {
            let text = format!("cannot be used: {}", plain(&error));
            return Err(RequestError::field("unavailable", "session.congestion", text));
        }
        let (id, spec) = (spec.id, Arc::new(spec));
        match self.sessions.get_mut(&id) {
            Some(session) => session.update(&mut self.resources, Arc::clone(&spec), value)?,
            None => {
                let session = Session::open(&mut self.resources, Arc::clone(&spec), value)?;
                self.sessions.insert(id, session);
            }
        }
        let streams = self.streams_of(id);
        for stream in &streams {
            if let Some(live) = self.streams.get_mut(stream) {
                match live.update(&mut self.resources, Arc::clone(&spec)) {
                    Ok(()) => drop(self.ready.insert(*stream)),
                    Err(abort) => self.end(*stream, Turn::Aborted(abort)),
                }
            }
        }
        Ok(json!({"streams": streams.len()}))
    }

    fn remove_session(&mut self, id: u32) -> Result<Value, RequestError> {
        let Some(mut session) = self.sessions.remove(&id) else {
            return Err(RequestError::field("unknown", "request.session", format!("{id} is not here")));
        };
        session.close(&mut self.resources);
        let streams = self.streams_of(id);
        for &stream in &streams {
            self.end(stream, Turn::Aborted(Abort::new(Fault::Reset, "the session was removed")));
        }
        Ok(json!({"streams": streams.len()}))
    }

    fn streams_of(&self, session: u32) -> Vec<StreamId> {
        self.streams.iter().filter(|(_, live)| live.spec.id == session).map(|(&id, _)| id).collect()
    }

    fn stats(&self) -> Value {
        let sessions: Vec<Value> = self
            .sessions
            .iter()
            .map(|(&id, session)| session.stats(self.streams.values().filter(|live| live.spec.id == id)))
            .collect();
        json!({
            "sessions": sessions,
            "streams": self.streams.len(),
            "max_streams": self.max_streams,
            "cache_used": self.resources.pool.used(),
            "cache_limit": self.resources.pool.limit(),
        })
    }

    /// Gives out the events so far, and writes the clients' answers and events.
    pub(super) fn publish(&mut self, tell: &mut impl FnMut(&Value)) {
        for event in std::mem::take(&mut self.resources.events) {
            tell(&event);
            let line = format!("{event}\n");
            self.clients.values_mut().filter(|client| client.watching).for_each(|c| c.event(&line));
        }
        self.clients.values_mut().for_each(ControlClient::flush);
        self.clients.retain(|_, client| {
            if client.closed {
                let (fd, registration) = client.registration();
                self.resources.poller.remove(fd, registration);
            }
            !client.closed
        });
    }
}
