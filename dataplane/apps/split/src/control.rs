//! The control socket: requests and answers as JSON lines, and events for clients that watch.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use groupflow_host::json::{FieldError, ObjectReader};
use groupflow_host::outbox::Outbox;
use groupflow_host::poller::Token;
use groupflow_host::tcp::is_later;
use serde_json::{json, Value};

/// Bytes of the longest request.
const LINE: usize = 1 << 20;
/// Bytes that may wait for a client that does not read.
const OUTBOX: usize = 8 << 20;

/// The address of the control socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlAddress {
    /// A Unix socket, only for its owner.
    Path(PathBuf),
    /// A TCP port.
    Port(SocketAddrV4),
}

impl ControlAddress {
    /// Parses `IP:PORT`; any other text is a path.
    pub fn parse(text: &str) -> Result<ControlAddress, String> {
        match text.parse() {
            Ok(address) => Ok(ControlAddress::Port(address)),
            Err(_) if text.is_empty() => Err("a path or IP:PORT is needed".to_owned()),
            Err(_) => Ok(ControlAddress::Path(text.into())),
        }
    }
}

/// The listening control socket.
#[derive(Debug)]
pub enum Listener {
    /// A Unix socket, whose path is removed at the end.
    Unix(UnixListener, PathBuf),
    /// A TCP port.
    Tcp(TcpListener),
}

/// A client's connection.
pub trait Connection: Read + Write + AsFd {}
impl Connection for UnixStream {}
impl Connection for TcpStream {}

impl Listener {
    /// Begins to listen. A socket path that a dead agent left is replaced.
    pub fn open(address: &ControlAddress) -> io::Result<Listener> {
        match address {
            ControlAddress::Port(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Ok(Listener::Tcp(listener))
            }
            ControlAddress::Path(path) => {
                remove_stale(path)?;
                let listener = UnixListener::bind(path)?;
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
                listener.set_nonblocking(true)?;
                Ok(Listener::Unix(listener, path.clone()))
            }
        }
    }

    /// Accepts the next connection.
    pub fn accept(&self) -> io::Result<Box<dyn Connection>> {
        match self {
            Listener::Unix(listener, _) => {
                let (connection, _) = listener.accept()?;
                connection.set_nonblocking(true)?;
                Ok(Box::new(connection))
            }
            Listener::Tcp(listener) => {
                let (connection, _) = listener.accept()?;
                connection.set_nonblocking(true)?;
                Ok(Box::new(connection))
            }
        }
    }

    /// The address of the listener, as text.
    pub fn name(&self) -> String {
        match self {
            Listener::Unix(_, path) => path.display().to_string(),
            Listener::Tcp(listener) => {
                listener.local_addr().map_or_else(|_| String::new(), |a| a.to_string())
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(listener, _) => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes a socket path at which nobody answers.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// The operation of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Set a session's desired state.
    SetSession(Value),
    /// End a session.
    RemoveSession(u32),
    /// List the sessions as they were set.
    List,
    /// Read counters.
    Stats,
    /// Receive events from now on.
    Watch,
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The reason for programs.
    pub code: &'static str,
    /// The field that is wrong, if the reason is a field.
    pub field: Option<String>,
    /// The reason for people.
    pub text: String,
}

impl Refused {
    /// A refusal that names no field.
    pub fn new(code: &'static str, text: impl Into<String>) -> Refused {
        Refused { code, field: None, text: text.into() }
    }

    /// A refusal that names a field.
    pub fn field(code: &'static str, field: &str, text: impl Into<String>) -> Refused {
        Refused { code, field: Some(field.to_owned()), text: format!("{field} {}", text.into()) }
    }
}

impl From<FieldError> for Refused {
    fn from(error: FieldError) -> Refused {
        Refused { code: "bad_field", text: error.to_string(), field: Some(error.field) }
    }
}

/// Parses a request: its id, which the answer repeats, and its operation.
pub fn parse(line: &[u8]) -> (Value, Result<Op, Refused>) {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return (Value::Null, Err(Refused::new("bad_json", format!("no JSON: {error}")))),
    };
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let op = op(&value);
    (id, op)
}

fn op(value: &Value) -> Result<Op, Refused> {
    let mut fields = ObjectReader::new("request", value)?;
    let _ = fields.value("id");
    let op = match fields.word("op", &["set_session", "remove_session", "list", "stats", "watch"], None)? {
        "set_session" => {
            let session = fields.value("session").ok_or_else(|| fields.wrong("session", "an object"))?;
            Op::SetSession(session.clone())
        }
        "remove_session" => {
            Op::RemoveSession(fields.number("session", 1..=u64::from(u32::MAX), None)? as u32)
        }
        "list" => Op::List,
        "stats" => Op::Stats,
        _ => Op::Watch,
    };
    fields.finish()?;
    Ok(op)
}

/// The answer to a request, in JSON.
pub fn answer(id: &Value, result: Result<Value, Refused>) -> Value {
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

/// A client of the control socket.
pub struct Client {
    /// Whether the client gets events.
    pub watching: bool,
    /// Whether the client is to be closed.
    pub over: bool,
    connection: Box<dyn Connection>,
    token: Token,
    input: Vec<u8>,
    out: Outbox,
    dropped: u64,
}

impl Client {
    /// A client that has just connected.
    pub fn new(connection: Box<dyn Connection>, token: Token) -> Client {
        Client {
            watching: false,
            over: false,
            connection,
            token,
            input: Vec::new(),
            out: Outbox::new(OUTBOX),
            dropped: 0,
        }
    }

    /// The client's descriptor and registration.
    pub fn registration(&self) -> (BorrowedFd<'_>, Token) {
        (self.connection.as_fd(), self.token)
    }

    /// Reads the bytes that are there; returns the complete lines.
    pub fn lines(&mut self, scratch: &mut [u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        loop {
            match self.connection.read(scratch) {
                Ok(0) => self.over = true,
                Ok(count) => {
                    self.input.extend_from_slice(&scratch[..count]);
                    while let Some(end) = self.input.iter().position(|&b| b == b'\n') {
                        let line: Vec<u8> = self.input.drain(..=end).collect();
                        if !line.trim_ascii_start_is_empty() {
                            lines.push(line);
                        }
                    }
                    if self.input.len() > LINE {
                        let refused = Refused::new("too_long", format!("a request has at most {LINE} bytes"));
                        self.tell(&answer(&Value::Null, Err(refused)));
                        self.input.clear();
                        self.over = true;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => break,
                Err(_) => self.over = true,
            }
            if self.over {
                break;
            }
        }
        lines
    }

    /// Queues an answer. A client that does not read its answers is closed.
    pub fn tell(&mut self, value: &Value) {
        let line = format!("{value}\n");
        match line.len() <= self.out.room() {
            true => self.out.bytes().extend(line.bytes()),
            false => self.over = true,
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

    /// Writes as much as the socket takes.
    pub fn flush(&mut self) {
        if self.out.flush(&mut self.connection).is_err() {
            self.over = true;
        }
    }
}

/// Whether a line has only white space.
trait Blank {
    fn trim_ascii_start_is_empty(&self) -> bool;
}

impl Blank for Vec<u8> {
    fn trim_ascii_start_is_empty(&self) -> bool {
        self.iter().all(u8::is_ascii_whitespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_are_parsed_or_refused() {
        let cases = [
            (r#"{"id":1,"op":"list"}"#, Ok(Op::List)),
            (r#"{"op":"remove_session","session":7}"#, Ok(Op::RemoveSession(7))),
            (
                r#"{"op":"dance"}"#,
                Err("request.op must be set_session, remove_session, list, stats or watch"),
            ),
            (r#"{"op":"list","x":1}"#, Err("request.x is unknown")),
            (r#"{"op":"set_session"}"#, Err("request.session must be an object")),
            (
                r#"{"op":"remove_session","session":"7"}"#,
                Err("request.session must be a number from 1 to 4294967295"),
            ),
            ("[]", Err("request must be an object")),
        ];
        for (line, expected) in cases {
            let (_, op) = parse(line.as_bytes());
            assert_eq!(op.map_err(|r| r.text), expected.map_err(str::to_owned), "{line}");
        }
        assert!(matches!(parse(b"{").1, Err(Refused { code: "bad_json", .. })));
    }

    proptest! {
        #[test]
        fn any_line_gets_an_answer(
            line in proptest::collection::vec(any::<u8>(), 0..100), text in ".{0,60}",
        ) {
            for bytes in [&line[..], text.as_bytes()] {
                let (id, op) = parse(bytes);
                if let Err(refused) = op {
                    let answer = answer(&id, Err(refused));
                    prop_assert_eq!(&answer["ok"], false);
                }
            }
        }
    }
}
