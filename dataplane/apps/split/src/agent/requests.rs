//! Requests on the control socket: sessions are set, removed and listed.

use groupflow_base::StreamId;
use groupflow_host::error::plain;
use groupflow_host::tcp;
use serde_json::{json, Value};

use super::control::{self, ControlClient, Operation};
use super::{Agent, SplitPollKey};
use crate::machine::{Refusal, SessionSpec};

/// The most clients of the control socket.
const CLIENTS: usize = 64;

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

    fn perform(&mut self, op: Operation) -> Result<Value, Refusal> {
        match op {
            Operation::SetSession(value) => self.set_session(value),
            Operation::RemoveSession(id) => {
                let streams = self.machine.remove_session(id)?;
                if let Some(mut ports) = self.ports.remove(&id) {
                    ports.close(&mut self.resources.poller);
                }
                Ok(self.see_to(&streams))
            }
            Operation::List => Ok(self.machine.list()),
            Operation::Stats => Ok(self.machine.stats(self.resources.pool.used())),
            Operation::Watch => Ok(json!({})),
        }
    }

    fn set_session(&mut self, value: Value) -> Result<Value, Refusal> {
        let spec = SessionSpec::parse(&value)?;
        self.machine.check_session(&spec)?;
        if let Err(error) = tcp::check(&spec.listening()) {
            let text = format!("cannot be used: {}", plain(&error));
            return Err(Refusal::field("unavailable", "session.congestion", text));
        }
        let mut ports = self.ports.remove(&spec.id).unwrap_or_default();
        let id = spec.id;
        let updated = ports.update(&mut self.resources.poller, &spec);
        if updated.is_ok() || self.machine.session(id).is_some() {
            self.ports.insert(id, ports);
        }
        updated?;
        let streams = self.machine.set_session(self.resources.now, spec, value);
        Ok(self.see_to(&streams))
    }

    /// Ends those of the streams that have been aborted, and goes on with the others; answers their number.
    fn see_to(&mut self, streams: &[StreamId]) -> Value {
        for &id in streams {
            let (Some(stream), Some(links)) = (self.machine.stream(id), self.links.get_mut(&id)) else {
                continue;
            };
            links.act(stream, &mut self.resources);
            match stream.outcome(self.resources.now) {
                Some(outcome) => self.end(id, &outcome),
                None => drop(self.ready.insert(id)),
            }
        }
        json!({"streams": streams.len()})
    }

    /// Gives out the events so far, and writes the clients' answers and events.
    pub(super) fn publish(&mut self, tell: &mut impl FnMut(&Value)) {
        for event in self.machine.events() {
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
