//! The control socket: requests and answers as JSON lines, and events for clients that watch.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use groupflow_base::lines::LineBuffer;
use groupflow_host::json::{FieldError, ObjectReader};
use groupflow_host::link::{Outbox, ReadOutcome};
use groupflow_host::poller::Registration;
use serde_json::{json, Value};

use crate::machine::Refusal;

/// Bytes of the longest request.
const LINE: usize = 1 << 20;
/// Bytes that may wait for a client that does not read.
const OUTBOX: usize = 8 << 20;

#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    SetSession(Value),
    RemoveSession(u32),
    List,
    Stats,
    /// Receive events from now on.
    Watch,
}

impl From<FieldError> for Refusal {
    fn from(error: FieldError) -> Refusal {
        Refusal { code: "bad_field", text: error.to_string(), field: Some(error.field) }
    }
}

/// Parses a request: its id, which the answer repeats, and its operation.
pub fn parse(line: &[u8]) -> (Value, Result<Operation, Refusal>) {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return (Value::Null, Err(Refusal::new("bad_json", format!("no JSON: {error}")))),
    };
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let op = op(&value);
    (id, op)
}

fn op(value: &Value) -> Result<Operation, Refusal> {
    let mut fields = ObjectReader::new("request", value)?;
    let _ = fields.value("id");
    let op = match fields.word("op", &["set_session", "remove_session", "list", "stats", "watch"], None)? {
        "set_session" => {
            let session = fields.value("session").ok_or_else(|| fields.wrong("session", "an object"))?;
            Operation::SetSession(session.clone())
        }
        "remove_session" => {
            Operation::RemoveSession(fields.number("session", 1..=u64::from(u32::MAX), None)? as u32)
        }
        "list" => Operation::List,
        "stats" => Operation::Stats,
        _ => Operation::Watch,
    };
    fields.finish()?;
    Ok(op)
}

/// The answer to a request, in JSON.
pub fn answer(id: &Value, result: Result<Value, Refusal>) -> Value {
    match result {
        Ok(mut value) => {
            value["id"] = id.clone();
            value["ok"] = true.into();
            value
        }
        Err(refused) => {
            let error = json!({"code": refused.code, "field": refused.field, "text": refused.text});
            json!({"id": id, "ok": false, "error": error})
        }
    }
}

pub struct ControlClient {
    pub watching: bool,
    /// Whether the client is to be closed.
    pub closed: bool,
    connection: UnixStream,
    registration: Registration,
    input: LineBuffer,
    out: Outbox,
    dropped: u64,
}

impl ControlClient {
    /// A client that has just connected.
    pub fn new(connection: UnixStream, registration: Registration) -> ControlClient {
        ControlClient {
            watching: false,
            closed: false,
            connection,
            registration,
            input: LineBuffer::new(LINE),
            out: Outbox::new(OUTBOX),
            dropped: 0,
        }
    }

    pub fn registration(&self) -> (BorrowedFd<'_>, Registration) {
        (self.connection.as_fd(), self.registration)
    }

    /// Reads the bytes that are there; returns the complete lines.
    pub fn lines(&mut self, scratch: &mut [u8]) -> Vec<Vec<u8>> {
        let (mut lines, mut readable) = (Vec::new(), true);
        while readable && !self.closed {
            match ReadOutcome::read(&mut self.connection, &mut readable, scratch) {
                Ok(ReadOutcome::Bytes(count)) => match self.input.push(&scratch[..count]) {
                    Some(more) => lines.extend(more),
                    None => {
                        let text = format!("a request has at most {LINE} bytes");
                        self.tell(&answer(&Value::Null, Err(Refusal::new("too_long", text))));
                        self.closed = true;
                    }
                },
                Ok(ReadOutcome::Nothing) => {}
                Ok(ReadOutcome::End) | Err(_) => self.closed = true,
            }
        }
        lines
    }

    /// Queues an answer. A client that does not read its answers is closed.
    pub fn tell(&mut self, value: &Value) {
        let line = format!("{value}\n");
        match line.len() <= self.out.room() {
            true => self.out.bytes().extend(line.bytes()),
            false => self.closed = true,
        }
    }

    /// Queues an event; events without room are counted.
    pub fn event(&mut self, line: &str) {
        if line.len() + 64 > self.out.room() {
            self.dropped += 1;
            return;
        }
        if self.dropped > 0 {
            let lost = format!("{}\n", json!({"event": "events_dropped", "count": self.dropped}));
            self.out.bytes().extend(lost.bytes());
            self.dropped = 0;
        }
        self.out.bytes().extend(line.bytes());
    }

    pub fn flush(&mut self) {
        if self.out.flush(&mut self.connection).is_err() {
            self.closed = true;
        }
    }
}

#[cfg(test)]
#[path = "tests/control.rs"]
mod tests;
